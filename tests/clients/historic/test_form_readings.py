from __future__ import annotations

import pytest

from triplewire.clients.historic.form_readings import read_moment, read_value
from triplewire.clients.historic.form_table import Table
from triplewire.clients.historic.mapping_problems import MappingError, Problems
from triplewire.clients.historic.plan import Moment, Number

XSD = "http://www.w3.org/2001/XMLSchema#"


def read(how, **values):
    problems = Problems("f.toml")
    found = how(Table(values, "time", problems))
    problems.raise_if_any()
    return found


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, Moment((), "UTC")),
        ({"formats": "iso"}, Moment((), "UTC")),
        (
            {"formats": "dd.MM.yyyy HH:mm", "zone": "Europe/Berlin"},
            Moment(("dd.MM.yyyy HH:mm",), "Europe/Berlin"),
        ),
        ({"formats": ["epoch_s", "yyyy-MM-dd'T'HH"]}, Moment(("epoch_s", "yyyy-MM-dd'T'HH"), "UTC")),
    ],
)
def test_moments(values, expected):
    """Without formats ISO 8601, without a zone UTC."""
    assert read(read_moment, **values) == expected


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"zone": "Europe/Atlantis"}, "zone: 'Europe/Atlantis' is no time zone"),
        ({"zone": "../etc"}, "is no time zone"),
        ({"formats": "yyyy-MM-ddTHH:mm"}, "formats: .* is no pattern"),
        ({"formats": ""}, "is no pattern"),
        ({"formats": ["iso", "yyyy"]}, "stands alone"),
    ],
)
def test_what_is_no_moment_is_said(values, problem):
    """Before millions of rows are set aside for it."""
    with pytest.raises(MappingError, match=problem):
        read(read_moment, **values)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, (XSD + "double", Number())),
        ({"datatype": "decimal", "decimal": ",", "grouping": "."}, (XSD + "decimal", Number(",", "."))),
        ({"datatype": "integer", "grouping": " "}, (XSD + "integer", Number(".", " "))),
        ({"datatype": "boolean"}, (XSD + "boolean", None)),
        ({"datatype": "string"}, (None, None)),
    ],
)
def test_values(values, expected):
    """Numbers are read, other texts taken as they are."""
    assert read(read_value, **values) == expected


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"datatype": "float"}, "datatype: must be one of"),
        ({"decimal": ",,"}, "decimal: must be one mark"),
        ({"decimal": "-"}, "decimal: must be one mark"),
        ({"decimal": ",", "grouping": ","}, "grouping: can't be ','"),
    ],
)
def test_what_reads_no_value_is_said(values, problem):
    """By its key."""
    with pytest.raises(MappingError, match=problem):
        read(read_value, **values)
