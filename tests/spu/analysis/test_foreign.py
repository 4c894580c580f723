"""What can be said of a query without knowing who answers it."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from triplewire.broker.model import QuadDelta, Query
from triplewire.spu.analysis.foreign import analyse_foreign

PREFIXES = {"xsd": "http://www.w3.org/2001/XMLSchema#", "": "urn:"}


def touched(text, quad, **settings):
    found = analyse_foreign(Query(text), None, PREFIXES, **settings)
    return found.touched(QuadDelta(frozenset({quad}), frozenset()))


@pytest.mark.parametrize(
    "text",
    [
        "DESCRIBE <urn:s>",
        "SELECT (<urn:f>(?o) AS ?x) { <urn:s> <urn:p> ?o }",
        "SELECT * { <urn:s> <urn:p> ?o FILTER(:f(?o)) }",
        "SELECT * { <urn:s> <urn:p> ?o { <<:a :b :c>> :d ?o } }",
        "SELECT (NOW() AS ?x) { <urn:s> <urn:p> ?o }",
    ],
)
def test_what_an_engine_may_do_in_its_own_way_is_touched_by_anything(text):
    """DESCRIBE, functions by name, quoted triples, the time."""
    found = analyse_foreign(Query(text), None, PREFIXES)
    assert found.anything
    assert found.wellness


def test_what_the_standard_fixes_is_routed():
    """Casts and built-in functions included."""
    text = "SELECT (xsd:string(?o) AS ?x) { :s :p ?o FILTER(CONTAINS(STR(?o), '(')) }"
    assert not analyse_foreign(Query(text), None, PREFIXES).anything
    quad = Quad(NamedNode("urn:s"), NamedNode("urn:p"), Literal("1"))
    assert touched(text, quad)
    assert not touched(text, Quad(NamedNode("urn:t"), NamedNode("urn:p"), Literal("1")))


def test_the_default_graph_may_show_named_graphs():
    """Unless graphs are said to be apart; FROM names its own."""
    in_graph = Quad(NamedNode("urn:s"), NamedNode("urn:p"), Literal("1"), NamedNode("urn:g"))
    text = "SELECT ?o { :s :p ?o }"
    assert touched(text, in_graph)
    assert not touched(text, in_graph, graphs_apart=True)
    assert touched("SELECT ?o FROM :g { :s :p ?o }", in_graph, graphs_apart=True)
    assert not touched("SELECT ?o FROM :h { :s :p ?o }", in_graph, graphs_apart=True)
    assert not touched("SELECT ?o { GRAPH :h { :s :p ?o } }", in_graph)
