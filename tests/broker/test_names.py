"""Prefixed names in full: the same query, for Oxigraph."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Store
from support.sparql_strategies import data_blocks, queries

from triplewire.broker.model import Query
from triplewire.broker.names import in_full
from triplewire.spu.analysis import analyse

DECLARED = (("xsd", "http://www.w3.org/2001/XMLSchema#"),)
P = "PREFIX : <http://e/> PREFIX s: <http://s/> "


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("SELECT * { ?m s:to :r7 }", "SELECT * { ?m <http://s/to> <http://e/r7> }"),
        ("SELECT * { ?m s:to 'a:b', _:a, ?x . }", "SELECT * { ?m <http://s/to> 'a:b', _:a, ?x . }"),
        ("ASK { ?m a s: . FILTER(?m<:x) }", "ASK { ?m a <http://s/> . FILTER(?m< <http://e/x>) }"),
        (
            'ASK { ?m s:p "1"^^xsd:int }',
            'ASK { ?m <http://s/p> "1"^^<http://www.w3.org/2001/XMLSchema#int> }',
        ),
        ("ASK { ?m :p/:q*|^:r ?x }", "ASK { ?m <http://e/p>/<http://e/q>*|^<http://e/r> ?x }"),
        ("ASK { ?m :a:b.c ?x }", "ASK { ?m <http://e/a:b.c> ?x }"),
        ("ASK { ?m <s:p> 'x' # s:p\n }", "ASK { ?m <s:p> 'x' # s:p\n }"),
        ("ASK { ?m other:p ?x }", "ASK { ?m other:p ?x }"),
        ("ASK { ?m :a\\-b ?x }", "ASK { ?m :a\\-b ?x }"),
    ],
)
def test_names_are_written_in_full(text, written):
    """And nothing else; what is not declared, or has an escape, stays."""
    assert in_full(P + text, DECLARED) == P + written


@pytest.mark.parametrize(
    "prologue",
    [
        "PREFIX : <relative> ",
        "BASE <http://b/> PREFIX : <#> ",
        "# PREFIX : <http://e/>\nPREFIX x: <http://x/> ",
        "PREFIX : <http://e/> # :\n",
        "PREFIX : <http://e/\\u0041> ",
    ],
)
def test_what_depends_on_more_stays(prologue):
    """A base, a comment, an escape."""
    assert in_full(f"{prologue}ASK {{ ?s :p ?o }}", ()) == f"{prologue}ASK {{ ?s :p ?o }}"


def test_a_name_that_can_be_read_in_two_ways_stays():
    """Oxigraph wants no space between a keyword and a name."""
    prologue = "PREFIX ex: <http://e/> PREFIX aex: <http://a/> "
    assert in_full(f"{prologue}ASK {{ ?s aex:p ?o }}", ()) == f"{prologue}ASK {{ ?s aex:p ?o }}"


def test_the_last_declaration_counts():
    """Also over those that are known beforehand."""
    text = "PREFIX xsd: <http://one/> PREFIX xsd: <http://two/> ASK { ?s xsd:p ?o }"
    assert "<http://two/p>" in in_full(text, DECLARED)
    assert Store().query(text, prefixes=dict(DECLARED)) is not None


def test_queries_that_differ_in_names_have_one_shape():
    """As those that differ in IRIs."""
    one, two = (analyse(Query(f"{P}SELECT ?m {{ ?m s:to :{name} }}")) for name in "ab")
    assert one.lifted.query == two.lifted.query
    assert one.lifted.constants != two.lifted.constants
    written = analyse(Query("SELECT ?m { ?m <http://s/to> <http://e/a> }"))
    assert written.lifted.constants == one.lifted.constants


@settings(max_examples=400, deadline=None)
@given(queries, st.lists(data_blocks(), max_size=2))
def test_it_is_the_same_query(text, data):
    """Whatever it is, and whether or not Oxigraph accepts it."""

    def told(text):
        store = Store()
        for block in data:
            store.update(f"PREFIX : <http://example.org/> INSERT DATA {{ {block} }}")
        try:
            answer = store.query(text)
        except (SyntaxError, RuntimeError) as error:
            return type(error)
        if isinstance(answer, bool) or not hasattr(answer, "variables"):
            return bool(answer) if not hasattr(answer, "__next__") else len(list(answer))
        return sorted(str([str(term) for term in row if not str(term).startswith("_:")]) for row in answer)

    if "LIMIT" not in text and "RAND" not in text:
        assert told(in_full(text, DECLARED)) == told(text)
