import math
from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from triplewire.clients.notebook.columns import column

XSD = "http://www.w3.org/2001/XMLSchema#"


def typed(type_, *texts):
    return [None if text is None else Literal(text, datatype=NamedNode(XSD + type_)) for text in texts]


def made(terms):
    return pd.Series(column(terms))


def test_integers():
    """Of every type that is derived from xsd:integer; what is unbound is NA, not 0."""
    cells = made([*typed("integer", "1", None, "-9223372036854775808"), *typed("unsignedByte", "+7")])

    assert cells.dtype == "Int64"
    assert cells.isna().tolist() == [False, True, False, False]
    assert cells.dropna().tolist() == [1, -(2**63), 7]


def test_integers_beyond_64_bits_are_kept():
    """As Python's."""
    cells = made(typed("integer", str(2**63), None, "1"))

    assert cells.dtype == object
    assert [cells[0], cells[2]] == [2**63, 1]
    assert cells[1] is pd.NA


@pytest.mark.parametrize("text", ["1", "21.5", "-0.000001", "123456789.012345"])
def test_decimals_that_a_double_holds(text):
    """They are doubles, as people want to count with them."""
    cells = made(typed("decimal", text, None))

    assert cells.dtype == "Float64"
    assert repr(float(cells[0])) == repr(float(text))
    assert cells[1] is pd.NA


@pytest.mark.parametrize("text", ["1.123456789012345678901", f"1.{'0' * 40}1", f"0.{'0' * 400}1"])
def test_decimals_that_a_double_does_not_hold(text):
    """They keep every digit."""
    cells = made(typed("decimal", text, "1.5"))

    assert cells.tolist() == [Decimal(text), Decimal("1.5")]


def test_large_integers_among_doubles_are_kept():
    """2**53 + 1 is no double."""
    cells = made([*typed("integer", str(2**53 + 1)), *typed("double", "0.5")])

    assert cells.tolist() == [2**53 + 1, 0.5]


def test_doubles_tell_nan_from_unbound():
    """NaN is a value of xsd:double."""
    cells = made(typed("double", "NaN", None, "-INF", "1e3"))

    assert cells.dtype == "Float64"
    assert math.isnan(cells[0])
    assert cells.isna().tolist() == [False, True, False, False]
    assert cells[2:].tolist() == [-math.inf, 1000.0]


@pytest.mark.parametrize("text", ["one", "1_000", "\u0661", "", " 1", "1.0"])
def test_a_literal_that_its_type_does_not_have_makes_it_text(text):
    """Nothing is guessed, and nothing lost."""
    cells = made(typed("integer", "1", text))

    assert cells.dtype == "string"
    assert cells.tolist() == ["1", text]


def test_integers_of_thousands_of_digits_are_text():
    """Python reads none."""
    assert made(typed("integer", "9" * 5000))[0] == "9" * 5000


def test_booleans():
    """1 and 0 are booleans, too; other texts are not."""
    assert made(typed("boolean", "true", "0", None)).tolist() == [True, False, pd.NA]
    assert made(typed("boolean", "true", "TRUE")).tolist() == ["true", "TRUE"]


def test_moments_with_a_zone_are_timestamps_of_utc():
    """To the microsecond."""
    cells = made(typed("dateTime", "2026-05-04T12:00:00+02:00", None, "0001-01-01T00:00:00Z"))

    assert str(cells.dtype) == "datetime64[us, UTC]"
    assert cells[0] == pd.Timestamp("2026-05-04T10:00Z")
    assert cells[1] is pd.NaT
    assert cells[2].year == 1


def test_nanoseconds_are_kept_where_there_is_room_for_them():
    """Else it is text: pandas counts them from 1677 to 2262 only."""
    exact, early = "2026-05-04T12:00:00.000000001Z", "0001-01-01T00:00:00Z"

    assert made(typed("dateTime", exact))[0].nanosecond == 1
    assert made(typed("dateTime", exact, early)).tolist() == [exact, early]


def test_moments_without_a_zone_stay_so():
    """Mixed with others they are text: what zone would it be?"""
    local, there = "2026-05-04T12:00:00", "2026-05-04T12:00:00Z"

    assert made([*typed("dateTime", local), *typed("date", "2026-05-04")]).tolist() == [
        pd.Timestamp("2026-05-04T12:00"),
        pd.Timestamp("2026-05-04"),
    ]
    assert made(typed("dateTime", local, there)).tolist() == [local, there]


def test_everything_else_is_text():
    """IRIs without their brackets, literals without language or type."""
    triple = Triple(NamedNode("urn:s"), NamedNode("urn:p"), Literal(1))
    terms = [
        NamedNode("urn:a"),
        Literal("b", language="en"),
        BlankNode("c"),
        triple,
        None,
        *typed("byte", "1"),
    ]

    cells = made(terms)

    assert cells.dtype == "string"
    assert cells.tolist() == ["urn:a", "b", "_:c", str(triple), pd.NA, "1"]


def test_a_type_of_the_same_name_elsewhere_is_no_number():
    """Only XSD's are."""
    assert made([Literal("1", datatype=NamedNode("urn:integer"))]).tolist() == ["1"]


@given(st.lists(st.none() | st.integers() | st.decimals(allow_nan=False, allow_infinity=False, places=12)))
def test_numbers_are_never_changed(values):
    """Whatever column they come into."""
    terms = [
        None
        if value is None
        else typed("integer", str(value))[0]
        if isinstance(value, int)
        else typed("decimal", f"{value:f}")[0]
        for value in values
    ]

    for cell, value in zip(made(terms), values, strict=True):
        if value is None:
            assert cell is pd.NA
        elif isinstance(cell, float):
            assert Decimal(repr(float(cell))) == value
        else:
            assert cell == value
