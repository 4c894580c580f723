"""The index finds exactly the patterns that a quad meets."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad

from triplewire.spu.routing import Graphs, Mask, Router

nodes = st.sampled_from([NamedNode(f"urn:{name}") for name in "abc"])
objects = nodes | st.sampled_from([Literal("1"), Literal("x", language="en")])
graphs = st.sampled_from([NamedNode("urn:g"), NamedNode("urn:h")])
masks = st.builds(
    Mask,
    st.none() | nodes,
    st.none() | nodes,
    st.none() | objects,
    graphs | st.sampled_from([Graphs.DEFAULT, Graphs.NAMED, Graphs.ANY]),
)
quads = st.builds(Quad, nodes, nodes, objects, graphs | st.just(DefaultGraph()))
queries = st.lists(st.lists(masks, min_size=1, max_size=4), max_size=12)


@settings(max_examples=500)
@given(queries, st.lists(quads, max_size=5), st.data())
def test_it_finds_what_looking_at_all_of_them_finds(patterns, changed, data):
    """Also when some were removed again."""
    router: Router[int] = Router()
    for key, own in enumerate(patterns):
        router.add(key, own)
    gone = data.draw(st.sets(st.sampled_from(range(len(patterns))))) if patterns else set()
    for key in gone:
        router.remove(key, patterns[key])
    expected = {
        key
        for key, own in enumerate(patterns)
        if key not in gone and any(mask.matches(quad) for mask in own for quad in changed)
    }
    assert set(router.touched(changed)) == expected
    for key in set(range(len(patterns))) - gone:
        router.remove(key, patterns[key])
    assert len(router) == 0
    assert not router.touched(changed)


def test_the_keys_of_each_mask_are_told():
    """Once for each quad that meets it."""
    router: Router[str] = Router()
    a, p = NamedNode("urn:a"), NamedNode("urn:p")
    one, two = Mask(a, None, None, Graphs.ANY), Mask(None, p, None, Graphs.DEFAULT)
    router.add("x", [one, two])
    router.add("y", [two])
    assert sorted(map(sorted, router.met([Quad(a, p, Literal("1"))]))) == [["x"], ["x", "y"]]
    assert not list(router.met([Quad(p, a, Literal("1")), Quad(p, p, a, NamedNode("urn:g"))]))


def test_removing_what_is_not_there_is_nothing():
    """Twice removed is removed."""
    router: Router[str] = Router()
    mask = Mask(None, None, None, Graphs.ANY)
    router.remove("x", [mask])
    router.add("x", [mask, mask])
    router.remove("x", [mask, mask])
    assert len(router) == 0
