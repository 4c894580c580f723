"""What an update changed, as JSON in the shape of SEPA's engine."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple
from support.deltas import EX, XSD, examples, quads

from triplewire.broker.model import QuadDelta
from triplewire.broker.wire.quads import encode_quad_delta
from triplewire.broker.wire.results import decode_term

S, P, G = (NamedNode(f"{EX}{name}") for name in "spg")


def delta(inserted=(), deleted=(), **graphs):
    return QuadDelta(frozenset(inserted), frozenset(deleted), **graphs)


def decoded(value):
    graph = decode_term(value["graph"])
    graph = DefaultGraph() if graph == NamedNode("urn:x-arq:DefaultGraphNode") else graph
    return Quad(*(decode_term(value[name]) for name in ("subject", "predicate", "object")), graph)


def test_nothing():
    """Both lists are there."""
    assert encode_quad_delta(delta()) == '{"added":[],"removed":[]}'


def test_a_change_of_one_value():
    """Terms as in Results JSON; the default graph has Jena's name, a named one its own."""
    encoded = encode_quad_delta(delta([Quad(S, P, Literal("new"), G)], [Quad(S, P, Literal(1))]))
    assert json.loads(encoded) == {
        "added": [
            {
                "graph": {"type": "uri", "value": f"{EX}g"},
                "subject": {"type": "uri", "value": f"{EX}s"},
                "predicate": {"type": "uri", "value": f"{EX}p"},
                "object": {"type": "literal", "value": "new"},
            }
        ],
        "removed": [
            {
                "graph": {"type": "uri", "value": "urn:x-arq:DefaultGraphNode"},
                "subject": {"type": "uri", "value": f"{EX}s"},
                "predicate": {"type": "uri", "value": f"{EX}p"},
                "object": {"type": "literal", "value": "1", "datatype": f"{XSD}integer"},
            }
        ],
    }


def test_the_graph_stands_first():
    """Readers that stream get it before the triple, as SEPA sends it."""
    encoded = encode_quad_delta(delta([Quad(S, P, S, BlankNode("g"))]))
    (quad,) = json.loads(encoded, object_pairs_hook=list)[0][1]
    assert [name for name, _ in quad] == ["graph", "subject", "predicate", "object"]
    assert quad[0][1] == [("type", "bnode"), ("value", "g")]


@pytest.mark.parametrize(
    "value",
    [
        Literal('quotes " and \\ and \n and \x00 and \U0001f600'),
        Literal("x", language="en-gb"),
        BlankNode("b"),
        Triple(S, P, Triple(S, P, Literal("deep"))),
    ],
)
def test_every_kind_of_object(value):
    """It comes back as the term that it was."""
    (quad,) = json.loads(encode_quad_delta(delta([Quad(S, P, value)])))["added"]
    assert decode_term(quad["object"]) == value


def test_graphs_without_quads_are_not_told():
    """SEPA's shape has no place for them."""
    assert encode_quad_delta(delta(created=frozenset([G]), dropped=frozenset([S]))) == encode_quad_delta(
        delta()
    )


@given(st.frozensets(quads, max_size=5), st.frozensets(quads, max_size=5))
@examples(200)
def test_all_of_a_change_comes_back(inserted, deleted):
    """Each quad once, on its side; the text is one line of JSON."""
    encoded = encode_quad_delta(delta(inserted, deleted))
    sides = json.loads(encoded)
    assert list(sides) == ["added", "removed"]
    for side, expected in (("added", inserted), ("removed", deleted)):
        assert len(sides[side]) == len(expected)
        assert {decoded(quad) for quad in sides[side]} == expected
    assert "\n" not in encoded
