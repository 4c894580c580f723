"""An exchange is kept where the ways become faster, and taken back where not."""

from __future__ import annotations

import pytest

from triplewire.gates.relay.exchanges import exchange
from triplewire.gates.relay.graph import Graph

RING = ["aA", "bB", "Ab", "Ba"]


def ring():
    """Small letters are near to small ones: a ring that goes to and fro."""
    graph = Graph(2)
    for node in "abAB":
        graph.add(node)
    for a, b in RING:
        graph.link(a, b)
    graph.changed()
    return graph


def between(a, b):
    return 1.0 if a.isupper() == b.isupper() else 50.0


def links(graph):
    return {frozenset((a, b)) for a in graph.peers for b in graph.peers[a]}


@pytest.mark.parametrize("judges", [["a", "b", "A", "B"], ["a"]])
def test_what_is_faster_is_kept(judges):
    """Two of the four links to and fro became near ones."""
    graph = ring()
    exchange(graph, between, judges, lambda: ("a", "A", "b", "B"), hop_ms=0.5, tries=1)
    assert links(graph) == {frozenset(pair) for pair in ("ab", "AB", "Ab", "Ba")}
    assert graph.changed() == set("abAB")


def test_what_brings_nothing_is_taken_back():
    """Nobody hears of it."""
    graph = ring()
    exchange(graph, lambda _a, _b: 1.0, graph.nodes, lambda: ("a", "A", "b", "B"), hop_ms=0.5, tries=1)
    assert links(graph) == {frozenset(pair) for pair in RING}
    assert graph.changed() == frozenset()


def test_what_tears_it_apart_is_taken_back():
    """However near the ends are that would be linked."""
    graph = Graph(2)
    for node in "abcABC":
        graph.add(node)
    for pair in ("ab", "bc", "cA", "AB", "BC", "Ca"):
        graph.link(*pair)
    before = links(graph)
    exchange(graph, between, ["a"], lambda: ("a", "C", "c", "A"), hop_ms=0.5, tries=1)
    assert links(graph) == before


def test_without_a_proposal_nothing_is_tried():
    """And nobody asks again."""
    asked = []
    exchange(ring(), between, ["a"], lambda: asked.append(1), hop_ms=0.5, tries=9)
    assert asked == [1]


def test_delays_are_asked_for_once():
    """A link is on many ways."""
    asked = []

    def counting(a, b):
        asked.append((a, b))
        return between(a, b)

    graph = ring()
    exchange(graph, counting, graph.nodes, lambda: ("a", "A", "b", "B"), hop_ms=0.5, tries=1)
    assert len(asked) == len(set(asked))
