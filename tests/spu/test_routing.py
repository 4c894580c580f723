"""The index finds exactly the patterns that a quad meets."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad

from triplewire.broker.model import QuadPattern
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
NODES = [NamedNode(f"urn:{name}") for name in "abc"]
PLACES = (
    NODES,
    NODES,
    [*NODES, Literal("1"), Literal("x", language="en")],
    [NamedNode("urn:g"), NamedNode("urn:h"), DefaultGraph()],
)
patterns_of_quads = st.builds(QuadPattern, *(st.none() | st.sampled_from(terms) for terms in PLACES))


def quads_of(pattern):
    """All quads of a pattern, over the few terms that there are."""
    places = (terms if known is None else [known] for known, terms in zip(pattern, PLACES, strict=True))
    return [Quad(*quad) for quad in product(*places)]


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


@settings(max_examples=500)
@given(queries, st.lists(patterns_of_quads, min_size=1, max_size=4), st.data())
def test_patterns_of_quads_lead_to_all_that_one_of_their_quads_leads_to(patterns, known, data):
    """And to nothing that has another term in a place where theirs is known; also after adding and removing."""
    router: Router[int] = Router()
    for key, own in enumerate(patterns):
        if key % 2:
            router.touched_partly(known)  # indexes that are there already are kept
        router.add(key, own)
    gone = data.draw(st.sets(st.sampled_from(range(len(patterns))))) if patterns else set()
    for key in gone:
        router.remove(key, patterns[key])
    left = {key: own for key, own in enumerate(patterns) if key not in gone}
    expected = {
        key for key, own in left.items() if any(could_meet(one, mask) for one in known for mask in own)
    }
    assert set(router.touched_partly(known)) == expected
    for pattern in known:
        assert set(router.touched(quads_of(pattern))) <= expected
    for key in left:
        router.remove(key, patterns[key])
    assert not router.touched_partly([QuadPattern(None, None, None, None)])


def could_meet(pattern, mask):
    """Whether some quad is of the pattern and meets the mask."""
    return any(mask.matches(quad) for quad in quads_of(pattern))


def test_a_mask_that_comes_later_is_found():
    """By an index that was made before it, and no more once it has gone."""
    router: Router[str] = Router()
    p, a, b = NamedNode("urn:p"), NamedNode("urn:a"), NamedNode("urn:b")
    pattern = [QuadPattern(None, p, None, DefaultGraph())]
    router.add("a", [Mask(a, p, None, Graphs.DEFAULT)])
    assert list(router.touched_partly(pattern)) == ["a"]
    later = [Mask(b, p, None, Graphs.DEFAULT)]
    router.add("b", later)
    assert list(router.touched_partly(pattern)) == ["a", "b"]
    router.remove("b", later)
    assert list(router.touched_partly(pattern)) == ["a"]


def test_a_blank_node_stands_against_variables_only():
    """Whatever it is called."""
    router: Router[str] = Router()
    p = NamedNode("urn:p")
    router.add("constant", [Mask(NamedNode("urn:a"), p, None, Graphs.ANY)])
    router.add("variable", [Mask(None, p, None, Graphs.ANY)])
    assert list(router.touched_partly([QuadPattern(BlankNode(), p, None, None)])) == ["variable"]
