"""A change leads to every query that it can touch, and to few others."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad
from support.sparql_strategies import PROLOGUE, queries

from triplewire.broker.model import QuadDelta, Query
from triplewire.spu.analysis.analysis import analyse
from triplewire.spu.watching import Watching

EX = "http://example.org/"
NODES = [NamedNode(f"{EX}{name}") for name in "abcpqrghs"] + [
    NamedNode(f"{EX}{number}") for number in range(3)
]
quads = st.builds(
    Quad,
    st.sampled_from(NODES),
    st.sampled_from(NODES),
    st.sampled_from([*NODES, Literal("1"), Literal("x")]),
    st.none() | st.sampled_from(NODES),
)
graphs = st.frozensets(st.sampled_from(NODES), max_size=2)
deltas = st.builds(
    QuadDelta, st.frozensets(quads, max_size=3), st.frozensets(quads, max_size=3), graphs, graphs
)


@settings(max_examples=200, deadline=None)
@given(st.lists(queries, min_size=1, max_size=8), deltas, st.data())
def test_none_that_is_touched_is_left_out(texts, delta, data):
    """Whatever the analysis says can be touched is found; what has been removed is not."""
    analyses = [analyse(Query(PROLOGUE + text)) for text in texts]
    watching: Watching[int] = Watching()
    for key, analysis in enumerate(analyses):
        watching.add(key, analysis)
    gone = data.draw(st.sets(st.sampled_from(range(len(texts)))))
    for key in gone:
        watching.remove(key, analyses[key])
    expected = {key for key, analysis in enumerate(analyses) if key not in gone and analysis.touched(delta)}
    found = set(watching.touched(delta))
    assert expected <= found <= set(range(len(texts))) - gone
    for key in set(range(len(texts))) - gone:
        watching.remove(key, analyses[key])
    assert not watching.touched(delta)


def test_constants_tell_queries_apart():
    """A hundred that differ in one."""
    watching: Watching[int] = Watching()
    for key in range(100):
        watching.add(key, analyse(Query(f"SELECT * {{ <urn:{key}> <urn:p> ?o . ?o <urn:q> ?x }}")))
    quad = Quad(NamedNode("urn:7"), NamedNode("urn:p"), Literal("1"))
    assert list(watching.touched(QuadDelta(frozenset({quad}), frozenset()))) == [7]
    other = Quad(NamedNode("urn:7"), NamedNode("urn:r"), Literal("1"))
    assert not watching.touched(QuadDelta(frozenset({other}), frozenset()))
    shared = Quad(NamedNode("urn:x"), NamedNode("urn:q"), Literal("1"))
    assert len(watching.touched(QuadDelta(frozenset(), frozenset({shared})))) == 100


def test_what_is_not_understood_is_touched_by_everything():
    """And NOW() is another time each time."""
    watching: Watching[str] = Watching()
    watching.add("now", analyse(Query("SELECT (NOW() AS ?t) { <urn:a> <urn:b> ?o }")))
    watching.add("graphs", analyse(Query("SELECT ?g { GRAPH ?g {} }")))
    quad = Quad(NamedNode("urn:x"), NamedNode("urn:y"), Literal("1"))
    assert list(watching.touched(QuadDelta(frozenset({quad}), frozenset()))) == ["now"]
    created = QuadDelta(frozenset(), frozenset(), frozenset({NamedNode("urn:g")}))
    assert set(watching.touched(created)) == {"now", "graphs"}
