"""Several values for one variable."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from triplewire.broker.errors import ProfileError
from triplewire.jsap.forced_bindings import bind
from triplewire.jsap.terms import UNDEF, ForcedBinding

DECLARED = {"v": ForcedBinding("uri"), "w": ForcedBinding("literal", 1)}
DATA = "INSERT DATA {<urn:a> <urn:p> 1, 2 . <urn:b> <urn:p> 3 . <urn:c> <urn:p> 4 . <urn:a> <urn:q> <urn:b>}"


def _bound(text, *values, w=None):
    return bind(text, DECLARED, {"v": list(values), "w": w}, {})


def _values(text):
    """The answer on a little store: each row's values."""
    store = ox.Store()
    store.update(DATA)
    return sorted(tuple(node.value if node else None for node in row) for row in store.query(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT ?v ?o {?v <urn:p> ?o}", [("urn:a", "1"), ("urn:a", "2"), ("urn:b", "3")]),
        ("SELECT ?o WHERE {?v <urn:p> ?o} ORDER BY ?v", [("1",), ("2",), ("3",)]),
        ("SELECT ?v (COUNT(?o) AS ?n) {?v <urn:p> ?o} GROUP BY ?v", [("urn:a", "2"), ("urn:b", "1")]),
        ("SELECT ?o {OPTIONAL {?v <urn:p> ?o} FILTER BOUND(?v)}", [("1",), ("2",), ("3",)]),
        ("SELECT ?o {{SELECT ?o {?v <urn:p> ?o}}}", [("1",), ("2",), ("3",)]),
        ("SELECT ?o {SELECT ?o {?v <urn:p> ?o}}", [("1",), ("2",), ("3",)]),
        (
            "SELECT ?v ?n {{SELECT ?v (COUNT(*) AS ?n) {?v <urn:p> ?o} GROUP BY ?v}}",
            [("urn:a", "2"), ("urn:b", "1")],
        ),
        ("SELECT ?v ?x {{SELECT * {?v <urn:p> ?o}} ?v <urn:q> ?x}", [("urn:a", "urn:b"), ("urn:a", "urn:b")]),
        ("SELECT ?v ?o {SELECT ?v ?o {?v <urn:p> ?o}}", [("urn:a", "1"), ("urn:a", "2"), ("urn:b", "3")]),
        ("SELECT ?o {VALUES ?s {?v} ?s <urn:p> ?o}", [("1",), ("2",), ("3",)]),
        ("SELECT ?o {?x <urn:p> ?o} VALUES ?o {4}", [("4",)]),
    ],
)
def test_the_answers_of_all_values(text, expected):
    """Those of each value together, each once."""
    assert _values(_bound(text, "urn:a", "urn:b")) == expected


def test_the_block_begins_the_where_group():
    """The variable stays where it is."""
    bound = _bound("SELECT ?v WHERE {?v ?p ?o} LIMIT 1", "urn:a", "<b>")
    assert bound == "SELECT ?v WHERE { VALUES ?v { <urn:a> <b> } ?v ?p ?o} LIMIT 1"


@pytest.mark.parametrize(
    "text",
    [
        "CONSTRUCT {?v <urn:r> ?o} WHERE {?v <urn:p> ?o}",
        "CONSTRUCT WHERE {?v <urn:p> ?o}",
        "DESCRIBE ?v",
        "DESCRIBE ?v {?v <urn:p> ?o}",
    ],
)
def test_graphs_of_all_values(text):
    """CONSTRUCT in its short form too, and DESCRIBE without a pattern."""
    store = ox.Store()
    store.update(DATA)
    triples = list(store.query(_bound(text, "urn:a", "urn:b")))
    assert {triple.subject.value for triple in triples} == {"urn:a", "urn:b"}


def test_ask_of_all_values():
    """True if it is so for one of them."""
    store = ox.Store()
    store.update(DATA)
    assert store.query(_bound("ASK {?v <urn:p> 3}", "urn:a", "urn:b"))
    assert not store.query(_bound("ASK {?v <urn:p> 4}", "urn:a", "urn:b"))


def test_no_value_is_no_answer():
    """An empty list means none of all, not all of them."""
    assert _values(_bound("SELECT ?v {?v <urn:p> ?o}")) == []


def test_one_value_in_a_list_is_that_value():
    """As if it stood alone, with the column kept."""
    assert _values(_bound("SELECT ?v ?o {?v <urn:p> ?o}", "urn:c")) == [("urn:c", "4")]


def test_undef_among_the_values_is_any_value():
    """As VALUES has it."""
    assert len(_values(_bound("SELECT ?v {?v <urn:p> ?o}", UNDEF))) == 4


def test_two_lists_are_all_pairs():
    """And one value beside a list stands in its own way."""
    bound = _bound("SELECT ?v ?w {?v <urn:p> ?w}", "urn:a", "urn:b", w=[1, 3])
    assert _values(bound) == [("urn:a", "1"), ("urn:b", "3")]
    assert _values(_bound("SELECT ?v ?w {?v <urn:p> ?w}", "urn:a", "urn:b", w=3)) == [("urn:b", "3")]


def test_a_variable_that_does_not_occur_changes_nothing():
    """No block is added for it."""
    assert _bound("SELECT * {?s ?p ?o}", "urn:a", "urn:b") == "SELECT * {?s ?p ?o}"


def test_an_update_takes_one_value_at_a_time():
    """A list has its place in the data of VALUES only."""
    with pytest.raises(ProfileError, match="v: an update takes one value at a time"):
        _bound("DELETE WHERE {?v ?p ?o}", "urn:a", "urn:b")
    store = ox.Store()
    store.update(DATA)
    store.update(_bound("DELETE {?s ?p ?o} WHERE {VALUES ?s {?v} ?s ?p ?o}", "urn:a", "urn:b"))
    assert {quad.subject.value for quad in store} == {"urn:c"}


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?v {?v <urn:q> ?x {SELECT ?o {?v <urn:p> ?o}}}",
        "SELECT * {{SELECT ?o {?v <urn:p> ?o}} {SELECT ?x {?v <urn:q> ?x}}}",
    ],
)
def test_two_variables_of_one_name_are_refused(text):
    """Inside the subselect it is another variable; no block could hold both to the same value."""
    with pytest.raises(ProfileError, match="stands in a subselect that does not return it"):
        _bound(text, "urn:a", "urn:b")


def test_a_blank_node_is_no_value_among_several():
    """VALUES can't hold it."""
    with pytest.raises(ProfileError, match="a blank node can't be one of several values"):
        bind("ASK {?v ?p ?o}", {"v": ForcedBinding("bnode")}, {"v": ["_:a", "_:b"]}, {})


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?v ?o {?v <urn:p> ?o}",
        "SELECT DISTINCT ?v {?v <urn:p> ?o}",
        "SELECT ?v (SUM(?o) AS ?n) {?v <urn:p> ?o} GROUP BY ?v HAVING (SUM(?o) > 2)",
        "SELECT ?o {{?v <urn:p> ?o} UNION {?v <urn:q> ?o}} ORDER BY ?v",
        "SELECT ?v ?o {?x <urn:p> ?o FILTER(?x = ?v)}",
        "SELECT ?v ?n {{SELECT ?v (COUNT(*) AS ?n) {?v <urn:p> ?o} GROUP BY ?v}}",
        "SELECT ?v ?x ?o {?v <urn:q> ?x OPTIONAL {?x <urn:p> ?o}}",
    ],
)
@pytest.mark.parametrize("value", ["urn:a", "urn:b", "urn:none"])
def test_one_way_is_as_the_other(text, value):
    """A value in the variable's place and a list of that value have the same answers."""
    in_its_place = bind(text, DECLARED, {"v": value}, {})
    assert in_its_place != _bound(text, value)
    assert _values(in_its_place) == _values(_bound(text, value))
