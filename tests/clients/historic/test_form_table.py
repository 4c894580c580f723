from __future__ import annotations

import pytest

from triplewire.clients.historic.form_table import Table
from triplewire.clients.historic.mapping_problems import MappingError, Problem, Problems


def problems_of(values, read) -> str:
    """What is said of a table that `read` has asked for its keys; empty if nothing is."""
    problems = Problems("f.toml")
    read(Table(values, "", problems))
    try:
        problems.raise_if_any()
    except MappingError as error:
        return str(error)
    return ""


def test_values_that_are_right_are_given():
    """And defaults where nothing stands."""

    def read(table: Table) -> None:
        assert table.text("a") == "x"
        assert table.text("b", "y") == "y"
        assert table.texts("a") == ("x",)
        assert table.texts("l") == ("x", "y")
        assert table.flag("f", default=True) is False
        assert table.choice("a", ("x", "z"), "z") == "x"
        assert [inner.text("k") for inner in table.tables("t")] == ["1", "2"]
        assert table.table("u").text("k") == "3"
        table.end()

    values = {"a": "x", "l": ["x", "y"], "f": False, "t": [{"k": "1"}, {"k": "2"}], "u": {"k": "3"}}
    assert problems_of(values, read) == ""


@pytest.mark.parametrize(
    ("values", "ask", "problem"),
    [
        ({"a": 1}, lambda table: table.text("a"), "a: must be a text, and is 1"),
        ({"a": [1]}, lambda table: table.texts("a"), "a: must be a text or a list of texts, and is [1]"),
        ({"a": 1}, lambda table: table.flag("a", default=True), "a: must be true or false, and is 1"),
        ({"a": "skp"}, lambda table: table.choice("a", ("skip",), "skip"), "is 'skp'; did you mean skip?"),
        ({"a": 1}, lambda table: table.table("a"), "a: must be a table, and is 1"),
        ({"a": {}}, lambda table: table.tables("a"), "a: must be tables, [[a]]"),
        ({}, lambda table: table.required("a"), "a: is missing"),
        (
            {"t": [{}, {"k": 1}]},
            lambda table: [one.text("k") for one in table.tables("t")],
            "t[2].k: must be a text",
        ),
    ],
)
def test_what_is_of_the_wrong_kind_is_said(values, ask, problem):
    """By the path of its key, and with what was expected."""
    assert problem in problems_of(values, ask)


def test_a_key_that_nobody_asked_for_is_unknown():
    """With what may have been meant, and all that there is."""

    def read(table: Table) -> None:
        table.text("value")
        table.text("unit")
        table.end()

    assert (
        problems_of({"vale": "x"}, read)
        == "f.toml: vale: is no key; did you mean value?; there are unit, value"
    )


def test_a_problem_on_the_way_is_kept_and_something_else_given():
    """So that reading goes on and finds the others."""

    def broken() -> str:
        raise Problem("no IRI")

    def read(table: Table) -> None:
        assert table.read("a", broken, "instead") == "instead"

    assert problems_of({}, read) == "f.toml: a: no IRI"
