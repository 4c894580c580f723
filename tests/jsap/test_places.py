"""Where variables stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.jsap.places import Place, read


def _places(text, name="v"):
    return [use.place for use in read(text).uses if use.name == name]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("SELECT ?v { ?v ?p ?o }", [Place.PROJECTED, Place.TERM]),
        ("SELECT DISTINCT $v FROM ?v { }", [Place.PROJECTED, Place.TERM]),
        ("select reduced ?v where { }", [Place.PROJECTED]),
        ("SELECT (COUNT(?v) AS ?n) ?v { }", [Place.TERM, Place.PROJECTED]),
        ("SELECT (1 AS ?v) { BIND(2 AS ?v) }", [Place.ASSIGNED, Place.ASSIGNED]),
        ("SELECT * { } GROUP BY ?v (STR(?v)) HAVING (?v > 1)", [Place.CONDITION, Place.TERM, Place.TERM]),
        ("SELECT * { } GROUP BY (1 AS ?v) ORDER BY ?v DESC(?v) ?v LIMIT 1", [
            Place.ASSIGNED, Place.CONDITION, Place.TERM, Place.CONDITION]),
        ("SELECT * { } ORDER BY EXISTS { ?v ?p ?o } ?v", [Place.TERM, Place.CONDITION]),
        ("SELECT * { FILTER(!BOUND(?v) && bound ( ?v )) }", [Place.BOUND, Place.BOUND]),
        ("SELECT * { FILTER(STR(?v) = 'BOUND(?v)') } # ?v", [Place.TERM]),
        ("SELECT * { VALUES ?v { ?v UNDEF } ?v ?p ?o }", [Place.ASSIGNED, Place.DATA, Place.TERM]),
        ("SELECT * { VALUES (?x ?v) { (?v 1) } } VALUES ?v { }", [Place.ASSIGNED, Place.DATA, Place.ASSIGNED]),
        ("SELECT * { { SELECT ?v { ?v ?p ?o } GROUP BY ?v } ?v ?p ?o }", [
            Place.PROJECTED, Place.TERM, Place.CONDITION, Place.TERM]),
        ("INSERT { ?v ?p ?o } WHERE { GRAPH ?v { ?vv ?p 'v' } }", [Place.TERM, Place.TERM]),
        ("DESCRIBE ?v", [Place.TERM]),
        ("CONSTRUCT { ?v ?p ?o } WHERE { ?v ?p ?o }", [Place.TERM, Place.TERM]),
        ("DROP GRAPH ?v ; WITH ?v DELETE { } USING ?v WHERE { }", [Place.TERM] * 3),
    ],
)  # fmt: skip
def test_places(text, places):
    """Each use of ?v in order."""
    assert _places(text) == places


def test_scopes_of_a_query():
    """The query is the first, and each subselect its own."""
    text = "SELECT ?a { { SELECT ?b (COUNT(*) AS ?n) { ?b ?p ?o } GROUP BY ?b } { SELECT * { ?c ?p ?o } } }"
    outer, grouped, all_ = read(text).scopes
    assert (outer.form, outer.depth, outer.projected, outer.projects_expressions) == (
        "SELECT",
        0,
        ["a"],
        False,
    )
    assert (grouped.depth, grouped.projected, grouped.projects_expressions) == (2, ["b"], True)
    assert (all_.projects_all, all_.projected) == (True, [])
    assert {use.name: use.scope for use in read(text).uses} == {
        "a": 0,
        "b": 1,
        "n": 1,
        "p": 2,
        "o": 2,
        "c": 2,
    }


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("SELECT * { a }", "a"),
        ("ASK WHERE { a { b } }", "a { b }"),
        ("CONSTRUCT { t } FROM <g> WHERE { a }", "a"),
        ("CONSTRUCT WHERE { a }", "a"),
        ("DESCRIBE ?x { a }", "a"),
        ("DESCRIBE <x>", None),
        ("INSERT { a } WHERE { b }", None),
        ("SELECT * { } VALUES ?x { 1 }", ""),
    ],
)
def test_the_where_group_of_a_query(text, group):
    """Not the template, not the data; an update has none."""
    reading = read(text)
    scope = reading.scopes[0]
    if group is None:
        assert scope.opening is None
    else:
        opening, closing = reading.tokens[scope.opening], reading.tokens[scope.closing]
        assert text[opening.end : closing.start].strip() == group


def test_the_template_of_construct():
    """It is known, and absent in the short form."""
    assert read("CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }").scopes[0].template == 1
    assert read("CONSTRUCT WHERE { ?s ?p ?o }").scopes[0].template is None


@given(
    st.text()
    | st.lists(
        st.sampled_from(
            ["SELECT", "?v", "{", "}", "(", ")", "AS", "VALUES", "GROUP", "BY", "ORDER", "FROM", ",", "*"]
        )
    ).map(" ".join)
)
def test_any_text_can_be_read(text):
    """What makes no sense counts as a term; nothing is ever raised."""
    reading = read(text)
    assert [reading.tokens[use.at].text[1:] for use in reading.uses] == [
        token.text[1:] for token in reading.tokens if token.kind == "variable"
    ]
