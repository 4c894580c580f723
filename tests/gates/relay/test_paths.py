"""Fastest ways, against Bellman and Ford, and the figures that are made of them."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplewire.gates.relay.paths import Figures, Route, fastest, figures, hops, quantile, way

LINE = {"a": ["b"], "b": ["a", "c"], "c": ["b"], "lone": []}


def one(here, there):
    return 1.0


def by_relaxing(links, source, hop_ms):
    """Bellman and Ford: every link, as often as there are nodes."""
    delays = {source: 0.0}
    for _ in links:
        for node, peers in links.items():
            for peer, weight in peers.items():
                if node in delays:
                    delays[peer] = min(delays.get(peer, math.inf), delays[node] + weight + hop_ms)
    return delays


@st.composite
def graphs(draw):
    names = [str(number) for number in range(draw(st.integers(1, 9)))]
    weights = st.floats(0, 100, allow_nan=False)
    return {a: {b: draw(weights) for b in names if a != b and draw(st.booleans())} for a in names}


@given(graphs(), st.sampled_from([0.0, 0.5, 20.0]))
def test_no_way_is_faster(links, hop_ms):
    """And none is made up: each leads over links, and takes as long as they do."""
    routes = fastest(links.__getitem__, lambda a, b: links[a][b], "0", hop_ms)
    expected = by_relaxing(links, "0", hop_ms)

    assert {node: route.delay_ms for node, route in routes.items()} == pytest.approx(expected)
    for node, route in routes.items():
        nodes = way(routes, node)
        assert nodes[0] == "0" and nodes[-1] == node
        taken = sum(links[a][b] + hop_ms for a, b in pairwise(nodes))
        assert taken == pytest.approx(route.delay_ms)
    assert [route.delay_ms for route in routes.values()] == sorted(expected.values())


def test_a_way_back_may_be_slower():
    """Delays have a direction."""
    delays = {("a", "b"): 1.0, ("b", "a"): 5.0}
    there = fastest(lambda node: "ab".replace(node, ""), lambda a, b: delays[a, b], "a")
    back = fastest(lambda node: "ab".replace(node, ""), lambda a, b: delays[a, b], "b")

    assert there == {"a": Route(0.0, ""), "b": Route(1.0, "a")}
    assert back["a"].delay_ms == 5.0


def test_what_is_not_reached_has_no_way():
    """No route, no way and no hops."""
    routes = fastest(LINE.__getitem__, one, "a", 0.5)

    assert "lone" not in routes
    assert way(routes, "lone") == []
    assert way(routes, "c") == ["a", "b", "c"]
    assert hops(LINE.__getitem__, "a") == {"a": 0, "b": 1, "c": 2}


def test_figures_are_of_ordered_pairs_that_reach_each_other():
    """Four at one link, two at two; each link takes 1 ms and the relay 0.5."""
    found = figures(list(LINE), LINE.__getitem__, one, 0.5)

    assert found == Figures(mean_ms=2.0, p50_ms=1.5, p99_ms=3.0, most_ms=3.0, diameter_hops=2, pairs=6)


@pytest.mark.parametrize("nodes", [[], ["lone"]])
def test_without_a_pair_all_is_nothing(nodes):
    """And nobody divides by it."""
    assert figures(nodes, LINE.__getitem__, one) == Figures(0.0, 0.0, 0.0, 0.0, 0, 0)


def test_some_sources_are_nearly_as_good_as_all():
    """The same seed takes the same ones."""
    rng = random.Random(1)
    ring = {str(at): {str((at + by) % 60): rng.uniform(1, 9) for by in (-7, -1, 1, 7)} for at in range(60)}

    def weight(a, b):
        return ring[a][b]

    every = figures(list(ring), ring.__getitem__, weight)
    some = figures(list(ring), ring.__getitem__, weight, sources=20, seed=3)
    assert every.pairs == 60 * 59
    assert some.pairs == 20 * 59
    assert some == figures(list(ring), ring.__getitem__, weight, sources=20, seed=3)
    assert some.mean_ms == pytest.approx(every.mean_ms, rel=0.05)
    assert every == figures(list(ring), ring.__getitem__, weight, sources=60)


@given(st.lists(st.integers(0, 99), min_size=1), st.sampled_from([0.0, 0.01, 0.5, 0.99, 1.0]))
def test_a_quantile_is_the_least_that_enough_are_not_above(values, share):
    """As by its definition."""
    ordered = sorted(values)
    expected = next(v for v in ordered if sum(o <= v for o in ordered) >= share * len(ordered) - 1e-9)
    assert quantile(ordered, share) == expected
