"""The links themselves: slots, what changed, and which nodes reach each other."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from triplewire.gates.relay.graph import Graph

names = st.sampled_from("abcdefgh")


def graph_of(*links, degree=4):
    graph = Graph(degree)
    for link in links:
        for node in link:
            if node not in graph.peers:
                graph.add(node)
        if len(link) == 2:
            graph.link(*link)
    return graph


def test_a_node_is_open_while_it_has_a_slot():
    """A link takes one of each end."""
    graph = graph_of("ab", "ac", degree=2)
    assert graph.free("a") == 0
    assert list(graph.open) == ["b", "c"]
    graph.unlink("a", "b")
    assert list(graph.open) == ["b", "c", "a"]


def test_whose_lists_are_others_is_told_once():
    """Who lost a neighbour and has it again has not changed, nor has who is gone."""
    graph = graph_of("ab", "cd", "x")
    graph.changed()
    graph.cross("a", "b", "c", "d")
    graph.link("x", "a")
    graph.unlink("x", "a")
    assert graph.remove("x") == []
    assert graph.changed() == set("abcd")
    assert graph.changed() == frozenset()

    graph.cross("a", "c", "b", "d")
    graph.cross("a", "b", "c", "d")
    assert graph.changed() == frozenset()


def test_a_node_is_taken_out_with_its_links():
    """The last in the list takes its place."""
    graph = graph_of("ab", "ac", "d")
    assert graph.remove("a") == ["b", "c"]
    assert graph.nodes == ["d", "b", "c"]
    assert graph.peers == {"b": [], "c": [], "d": []}
    graph.remove("d")
    assert graph.nodes == ["c", "b"]


def test_lists_may_be_compared_with_what_was_reported():
    """And not with what they were."""
    graph = graph_of("ab", "cd")
    graph.suppose({"a": ["b"], "c": ["x"]})
    assert graph.changed() == set("bcd")


def test_a_part_that_is_found_to_be_whole_ends_the_search():
    """Of the other not more is seen than was needed to tell that they are two."""
    chain = [f"{at:03}" for at in range(300)]
    graph = graph_of(("x", "y"), *pairwise(chain))
    small, large = graph.parts(["x", "000"])
    assert small == ["x", "y"]
    assert len(large) < 10


@given(st.lists(st.tuples(names, names)), st.lists(names, unique=True))
def test_parts_are_who_reaches_whom(links, roots):
    """As spreading out from each root tells."""
    graph = Graph(8)
    for name in "abcdefgh":
        graph.add(name)
    for a, b in links:
        if a != b and b not in graph.peers[a]:
            graph.link(a, b)
    expected = {}
    for root in roots:
        reached = [root]
        for node in reached:
            reached += [peer for peer in graph.peers[node] if peer not in reached]
        expected[root] = frozenset(reached) & set(roots)

    parts = graph.parts(roots)
    assert {frozenset(part) & set(roots) for part in parts} == set(expected.values())
    assert sum(len(part) for part in parts) == len({node for part in parts for node in part})
