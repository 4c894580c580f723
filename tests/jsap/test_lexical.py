"""Python's values as XSD writes them."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.jsap.lexical import XSD, lexical
from triplewire.jsap.syntax import is_valid


class _Size(IntEnum):
    BIG = 9


@pytest.mark.parametrize(
    ("value", "form", "datatype"),
    [
        (True, "true", "boolean"),
        (False, "false", "boolean"),
        (5, "5", "integer"),
        (_Size.BIG, "9", "integer"),
        (-1.5, "-1.5", "double"),
        (1e-7, "1e-07", "double"),
        (float("inf"), "INF", "double"),
        (float("-inf"), "-INF", "double"),
        (float("nan"), "NaN", "double"),
        (Decimal("1E+3"), "1000", "decimal"),
        (Decimal("0.10"), "0.10", "decimal"),
        (datetime(2024, 2, 29, 12, 0, 1), "2024-02-29T12:00:01", "dateTime"),  # noqa: DTZ001 - XSD has times without a zone
        (datetime(2024, 2, 29, 12, tzinfo=UTC), "2024-02-29T12:00:00Z", "dateTime"),
        (datetime(2024, 2, 29, tzinfo=timezone(timedelta(hours=2))), "2024-02-29T00:00:00+02:00", "dateTime"),
        (date(2024, 2, 29), "2024-02-29", "date"),
        (time(12, 30), "12:30:00", "time"),
        (timedelta(days=1, seconds=90, microseconds=5), "P1DT90.000005S", "dayTimeDuration"),
        (timedelta(seconds=-1), "-P0DT1S", "dayTimeDuration"),
    ],
)
def test_natural_datatypes(value, form, datatype):
    """Each kind has one, and booleans are no integers."""
    assert lexical(value, None) == (form, XSD + datatype)
    assert is_valid(form, XSD + datatype)


@pytest.mark.parametrize(
    ("value", "datatype", "form"),
    [
        (5, "decimal", "5"),
        (5, "double", "5.0"),
        (5.0, "integer", "5"),
        (1e-7, "decimal", "0.0000001"),
        (0.1, "decimal", "0.1"),
        (Decimal("2.0"), "long", "2"),
        (Decimal("2.5"), "float", "2.5"),
        (datetime(2024, 2, 29, 12, tzinfo=UTC), "date", "2024-02-29"),
        (datetime(2024, 2, 29, 12, tzinfo=UTC), "dateTimeStamp", "2024-02-29T12:00:00Z"),
        (True, "string", "true"),
        (5, "string", "5"),
    ],
)
def test_a_datatype_that_is_asked_for(value, datatype, form):
    """Numbers are written for it exactly, other values in their natural form."""
    assert lexical(value, XSD + datatype) == (form, XSD + datatype)


@pytest.mark.parametrize(
    ("value", "datatype"),
    [
        (True, "integer"),
        (5.5, "integer"),
        (float("nan"), "integer"),
        (float("inf"), "decimal"),
        (Decimal("NaN"), "decimal"),
        (date(2024, 1, 1), "double"),
        (Decimal("sNaN"), None),
        (b"bytes", None),
        (object(), None),
        ({1}, None),
    ],
)
def test_what_can_not_be_written(value, datatype):
    """Nothing is rounded and nothing is guessed."""
    with pytest.raises(ValueError, match=r"\w"):
        lexical(value, datatype and XSD + datatype)


@given(
    st.integers()
    | st.floats()
    | st.booleans()
    | st.decimals(allow_nan=False, allow_infinity=False, places=6)
    | st.dates()
    | st.datetimes(timezones=st.just(UTC))
)
def test_every_form_is_valid_for_its_datatype(value):
    """Oxigraph reads each of them."""
    form, datatype = lexical(value, None)
    # Oxigraph's own limits: integers of 64 bits, decimals of 128 bits
    if not (datatype in {XSD + "integer", XSD + "decimal"} and abs(value) >= 2**63):
        assert is_valid(form, datatype)
