"""A change leads to every query that it can touch, and to few others."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad
from support.sparql_strategies import PROLOGUE, queries

from triplewire.broker.model import Candidates, QuadDelta, QuadPattern, Query
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


@settings(max_examples=200, deadline=None)
@given(st.lists(queries, min_size=1, max_size=8), deltas, st.data())
def test_what_a_change_can_be_at_most_leads_to_all_that_it_leads_to(texts, delta, data):
    """Whichever of its terms are known."""
    watching: Watching[int] = Watching()
    for key, text in enumerate(texts):
        watching.add(key, analyse(Query(PROLOGUE + text)))
    masks = st.tuples(*[st.booleans()] * 4)
    patterns = set()
    for quad in (*delta.inserted, *delta.deleted):
        terms = (quad.subject, quad.predicate, quad.object, quad.graph_name)
        known = data.draw(masks)
        patterns.add(
            QuadPattern(*(term if is_known else None for term, is_known in zip(terms, known, strict=True)))
        )
    candidates = Candidates(frozenset(patterns), delta.created | delta.dropped)
    assert set(watching.touched(delta)) <= set(watching.touched(candidates))


def test_a_variable_of_a_template_is_in_the_way_of_no_query():
    """What is known tells queries apart as far as it goes."""
    watching: Watching[str] = Watching()
    for name in ("value", "room"):
        for sensor in range(3):
            watching.add(f"{name} {sensor}", analyse(Query(f"SELECT * {{ <urn:{sensor}> <urn:{name}> ?o }}")))
    watching.add("graphs", analyse(Query("SELECT ?g { GRAPH ?g {} }")))
    value = NamedNode("urn:value")
    any_sensor = Candidates(frozenset({QuadPattern(None, value, None, DefaultGraph())}))
    assert list(watching.touched(any_sensor)) == ["value 0", "value 1", "value 2"]
    one = Candidates(frozenset({QuadPattern(NamedNode("urn:1"), None, None, DefaultGraph())}))
    assert list(watching.touched(one)) == ["value 1", "room 1"]
    assert list(watching.touched(Candidates(frozenset(), frozenset({NamedNode("urn:g")})))) == ["graphs"]


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
