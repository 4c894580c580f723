from __future__ import annotations

import pytest

from triplewire.clients.historic.form_names import NOTHING, PREFIXES, Name, Names
from triplewire.clients.historic.form_table import Table
from triplewire.clients.historic.mapping_problems import MappingError, Problem, Problems
from triplewire.clients.historic.plan import Constant, Lookup, Reference, Source, Template
from triplewire.clients.historic.units import SYMBOLS

BASE = "https://example.org/"
NAMES = Names(BASE, PREFIXES | {"ex": "https://example.org/vocabulary#"}, Source("a.csv", "a.csv", "csv"))


def name(value, known=None) -> Name:
    problems = Problems("f.toml")
    found = NAMES.of(Table({"sensor": value}, "", problems), "sensor", known)
    problems.raise_if_any()
    return found


@pytest.mark.parametrize(
    ("text", "iri", "key"),
    [
        ("sensor/roof", BASE + "sensor/roof", "roof"),
        ("ex:temperature", BASE + "vocabulary#temperature", "temperature"),
        ("https://other.org/a/b", "https://other.org/a/b", "b"),
        ("urn:sensor:1", "urn:sensor:1", "1"),
        ("unit:DEG_C", "http://qudt.org/vocab/unit/DEG_C", "DEG_C"),
        ("sensor/größe", BASE + "sensor/größe", "gr%C3%B6%C3%9Fe"),
    ],
)
def test_a_text_is_an_iri(text, iri, key):
    """Below the base, with a prefix, or whole; its end stands for it."""
    assert name(text) == Name(Constant(iri), (key,))


def test_a_column_is_below_the_base():
    """By the kind of thing that it names."""
    column = Reference("station")
    assert name({"column": "station"}) == Name(Template((BASE + "sensor/", column)), (column,))


def test_a_column_of_iris_is_itself():
    """Those without a scheme are put behind the base by whoever carries it out."""
    assert name({"iri": "s"}) == Name(Reference("s"), (Reference("s"),))


def test_a_template_starts_below_the_base_or_with_a_prefix():
    """Its columns stand for it, with a slash between them, which percent-encoding takes out of values."""
    a, b = Reference("a"), Reference("b")
    assert name({"template": "x/{a}-{b}"}) == Name(Template((BASE + "x/", a, "-", b)), (a, "/", b))
    assert name({"template": "ex:{a}"}) == Name(Template((BASE + "vocabulary#", a)), (a,))
    assert name({"template": "{a}"}) == Name(Template((BASE, a)), (a,))


def test_a_table_of_names():
    """The column's own text stands for it."""
    column = Reference("kind")
    found = name({"column": "kind", "names": {"t": "ex:temperature", "rh": "humidity"}})
    table = (("t", BASE + "vocabulary#temperature"), ("rh", BASE + "humidity"))
    assert found == Name(Lookup(column, table), (column,))


def test_symbols_of_units_are_known():
    """Alone, in a column, and beside names of one's own."""
    degrees = "http://qudt.org/vocab/unit/DEG_C"
    assert name("°C", SYMBOLS).expression == Constant(degrees)
    assert name("unit:DEG_C", SYMBOLS).expression == Constant(degrees)
    found = name({"column": "u", "names": {"Grad": "unit:DEG_C"}}, SYMBOLS).expression
    assert isinstance(found, Lookup)
    table = dict(found.table)
    assert table["°C"] == table["Grad"] == degrees


@pytest.mark.parametrize(
    ("value", "known", "problem"),
    [
        ("exx:a", None, "the prefix exx: is not known; did you mean ex"),
        ("a b", None, "'https://example.org/a b' is no IRI"),
        (5, None, "must be a text or a table, and is 5"),
        ({"column": "a", "template": "{b}"}, None, "must have one of column, template and iri"),
        ({}, None, "must have one of column, template and iri"),
        ({"template": "a"}, None, "has no column in it"),
        ({"template": "{a"}, None, "is no template"),
        ("°c", SYMBOLS, "'°c' is not known; did you mean"),
    ],
)
def test_what_names_nothing_is_said(value, known, problem):
    """What it is, and what it should be."""
    with pytest.raises(Problem, match=problem):
        name(value, known)


def test_an_unknown_key_and_a_bad_name_in_the_table_are_kept():
    """By their paths."""
    with pytest.raises(MappingError, match=r"sensor\.colum: is no key; did you mean column") as raised:
        name({"column": "a", "colum": "b", "names": {"x": "q:x"}})
    assert "sensor.names.x: the prefix q: is not known" in str(raised.value)


def test_what_is_missing_is_kept_too():
    """Something stands for it until all has been read."""
    problems = Problems("f.toml")
    assert NAMES.of(Table({}, "", problems), "sensor") is NOTHING
    with pytest.raises(MappingError, match="sensor: is missing"):
        problems.raise_if_any()


def test_a_path_into_json_names_one_value():
    """Several would be several results of one observation."""
    names = Names(BASE, PREFIXES, Source("a.json", "a.json", "json", "$[*]"))
    assert names.reference("$.a.b") == Reference("$.a.b", ("a", "b"))
    with pytest.raises(Problem, match="names several values"):
        names.reference("$.a[*]")
    with pytest.raises(Problem, match="is empty"):
        names.reference("")
