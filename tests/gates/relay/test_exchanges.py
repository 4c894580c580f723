"""An exchange is kept where the ways become faster, and taken back where not."""

from __future__ import annotations

import math
import random

import pytest

from triplewire.gates.relay.exchanges import PROPOSALS, Most, _sum_ms, exchange
from triplewire.gates.relay.graph import Graph
from triplewire.gates.relay.paths import fastest

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
    improved = exchange(graph, between, judges, lambda: ("a", "A", "b", "B"), hop_ms=0.5)
    assert links(graph) == {frozenset(pair) for pair in ("ab", "AB", "Ab", "Ba")}
    assert improved.changed == set("abAB")


def test_what_brings_nothing_is_taken_back():
    """Nobody hears of it."""
    graph = ring()
    improved = exchange(graph, lambda _a, _b: 1.0, graph.nodes, lambda: ("a", "A", "b", "B"), hop_ms=0.5)
    assert links(graph) == {frozenset(pair) for pair in RING}
    assert improved.changed == frozenset()


def test_what_tears_it_apart_is_taken_back():
    """However near the ends are that would be linked."""
    graph = Graph(2)
    for node in "abcABC":
        graph.add(node)
    for pair in ("ab", "bc", "cA", "AB", "BC", "Ca"):
        graph.link(*pair)
    before = links(graph)
    exchange(graph, between, ["a"], lambda: ("a", "C", "c", "A"), hop_ms=0.5)
    assert links(graph) == before


def test_without_a_proposal_nothing_is_tried():
    """It is asked for some times, as some are of nodes that may not take part."""
    asked = []
    assert exchange(ring(), between, ["a"], lambda: asked.append(1), hop_ms=0.5, most=Most(9)).tries == 0
    assert len(asked) == PROPOSALS
    proposed = iter([None, None, ("a", "A", "b", "B")])
    assert exchange(ring(), between, ["a"], lambda: next(proposed), hop_ms=0.5, most=Most(9)).changed


def circle(count=8, degree=2):
    graph = Graph(degree)
    for number in range(count):
        graph.add(str(number))
    for number in range(count):
        graph.link(str(number), str((number + 1) % count))
    return graph


def looked(graph, judges, proposed, *most):
    found = iter(proposed)
    improved = exchange(
        graph, lambda _a, _b: 1.0, judges, lambda: next(found, None), hop_ms=0.5, most=Most(*most)
    )
    return improved.tries, improved.looks


def test_most_tries_are_looked_at_from_four_nodes():
    """The first one from all judges; before there is any, all is looked at as it is."""
    turned = ("0", "1", "4", "5")  # the same ring again: nobody is faster
    assert looked(circle(), [str(number) for number in range(8)], 3 * [turned], 9) == (
        3,
        8 + 8 + 2 * 4,
    )
    # Four that do not judge: they are looked at as they are, too
    assert looked(circle(), ["2", "6"], 3 * [turned], 9) == (3, 2 + 4 + 4 + 2 + 2 * 4)


def test_it_ends_when_enough_was_looked_at():
    """But not before one was tried."""
    turned = 9 * [("0", "1", "4", "5")]
    nodes = [str(number) for number in range(8)]
    assert looked(circle(), nodes, turned, 9, 1) == (1, 16)
    assert looked(circle(), nodes, turned, 9, 17) == (2, 20)
    assert looked(circle(), nodes, turned, 1) == (1, 16)


def test_it_ends_when_one_is_kept():
    """Its links have to be measured before it is worth to try others."""
    asked = []

    def propose():
        asked.append(1)
        return ("a", "A", "b", "B")

    assert exchange(ring(), between, ["a"], propose, hop_ms=0.5, most=Most(9)).tries == 1
    assert asked == [1]


def test_sums_are_those_of_the_fastest_ways():
    """As Dijkstra's algorithm has them elsewhere."""
    rng = random.Random(1)
    graph = circle(20, degree=4)
    for number in range(0, 20, 3):
        graph.link(str(number), str((number + 9) % 20))
    ms = {frozenset((a, b)): rng.uniform(1, 50) for a in graph.peers for b in graph.peers[a]}
    links = {a: [(b, ms[frozenset((a, b))]) for b in graph.peers[a]] for a in graph.peers}
    for source in graph.nodes:
        routes = fastest(graph.peers.__getitem__, lambda a, b: ms[frozenset((a, b))], source)
        assert _sum_ms(links, source) == pytest.approx(sum(route.delay_ms for route in routes.values()))
    assert _sum_ms(links | {"far": []}, "0") == math.inf
