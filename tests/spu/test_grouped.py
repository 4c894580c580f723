"""Aggregates by group key: what the whole query says, from the groups that changed."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal
from support.adding_up import adds_up
from support.sparql_strategies import PROLOGUE
from support.stores import embedded

from triplewire.broker.config import LimitsConfig, SparqlConfig
from triplewire.broker.core import Core
from triplewire.broker.model import Bindings, Query, Subscribe, Update
from triplewire.broker.subscriptions import Subscriptions
from triplewire.spu.analysis.analysis import analyse
from triplewire.spu.choice import chosen
from triplewire.spu.grouped import GroupedSpu, _as_told

SPARQL = SparqlConfig()
ANALYSE = partial(analyse, base_iri=SPARQL.base_iri, prefixes=SPARQL.prefixes)
SHAPES = [
    "SELECT ?s (AVG(?v) AS ?mean) {{ ?o :by ?s ; :value ?v }} GROUP BY ?s",
    "SELECT ?s (SUM(?v) AS ?all) (COUNT(*) AS ?n) {{ ?o :by ?s ; :value ?v . ?s :room {room} }} GROUP BY ?s",
    "SELECT (COUNT(?v) AS ?n) {{ ?o :by ?s OPTIONAL {{ ?o :value ?v }} }} GROUP BY ?s",
    "SELECT ?s (MAX(?v) AS ?most) {{ ?o :by ?s OPTIONAL {{ ?o :value ?v }} }} GROUP BY ?s HAVING (COUNT(*) > 1)",
    "SELECT ?s ?o (MAX(?v) AS ?n) {{ ?o :by ?s ; :value ?v FILTER(?v > 1) }} GROUP BY ?s ?o",
    "SELECT DISTINCT ?s (MIN(?v) AS ?least) {{ ?o :by ?s ; :value ?v }} GROUP BY ?s",
    "SELECT ?s (COUNT(DISTINCT ?v) AS ?n) {{ {{ ?o :by ?s ; :value ?v }} UNION {{ ?s :room ?v }} }} GROUP BY ?s",
    "SELECT ?s (MIN(?o) AS ?n) {{ ?s :room {room} MINUS {{ ?s :room :none }} ?o :by ?s }} GROUP BY ?s ORDER BY ?n",
    "SELECT ?r (SUM(?v) AS ?n) {{ ?o :by ?s ; :value ?v . ?s :room ?r }} GROUP BY ?r",
    "SELECT ?s (SUM(?v) / COUNT(*) AS ?n) {{ GRAPH ?g {{ ?o :by ?s ; :value ?v }} }} GROUP BY ?s ?g",
]
rooms = st.sampled_from(
    ["<http://example.org/kitchen>", "<http://example.org/hall>"]
)  # in full, so that they are lifted
cases = st.builds(lambda shape, room: PROLOGUE + shape.format(room=room), st.sampled_from(SHAPES), rooms)
triples = st.one_of(
    st.builds(":o{} :by :s{}".format, st.integers(0, 4), st.integers(0, 2)),
    st.builds(
        ":o{} :value {}".format, st.integers(0, 4), st.sampled_from(["0", "1", "2.5", "3", "'x'", "1e0"])
    ),
    st.builds(":s{} :room {}".format, st.integers(0, 2), rooms),
)
blocks = st.lists(triples, min_size=1, max_size=6).map(" . ".join)
changes = st.one_of(
    blocks.map("INSERT DATA {{ {} }}".format),
    blocks.map("INSERT DATA {{ GRAPH :g {{ {} }} }}".format),
    blocks.map("DELETE DATA {{ {} }}".format),
    st.integers(0, 4).map(
        lambda o: f"DELETE {{ :o{o} :value ?v }} INSERT {{ :o{o} :value 7 }} WHERE {{ :o{o} :value ?v }}"
    ),
    st.integers(0, 2).map(lambda s: f"DELETE WHERE {{ ?o :by :s{s} }}"),
    st.just("CLEAR SILENT GRAPH :g"),
)


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(blocks, st.lists(cases, min_size=1, max_size=6), st.lists(changes, min_size=1, max_size=8))
def test_the_changes_of_groups_add_up(data, texts, updates):
    """Values that are replaced, groups that come and go, HAVING that flips."""
    adds_up(ANALYSE, data, texts, updates)


FICKLE = [
    "SELECT ?s (AVG(?v) AS ?x) { ?o :by ?s ; :value ?v } GROUP BY ?s",
    "SELECT ?s (SUM(?v) AS ?x) { ?o :by ?s ; :value ?v . ?s :room <http://example.org/hall> } GROUP BY ?s ORDER BY ?s",
    "SELECT ?s (MIN(?v) AS ?x) (MAX(?v) AS ?y) { ?o :by ?s ; :value ?v } GROUP BY ?s",
    "SELECT ?t (MIN(?v) AS ?x) { ?o :by ?s ; :value ?v } GROUP BY ?t",
    "SELECT (AVG(?v) AS ?x) { ?o :by ?s ; :value ?v }",
    "SELECT ?s ?x { ?s :room ?r { SELECT ?s (SUM(?v) AS ?x) { ?o :by ?s ; :value ?v } GROUP BY ?s } }",
    "SELECT (SUM(?v) AS ?x) { ?o :by ?s ; :value ?v VALUES ?s { :s0 UNDEF } } GROUP BY ?s",
]
fickle_triples = st.one_of(
    st.builds(":o{} :by :s{}".format, st.integers(0, 9), st.integers(0, 2)),
    st.builds(
        ":o{} :value {}".format,
        st.integers(0, 9),
        st.sampled_from(["0.1e0", "0.2e0", "0.3e0", "0.7e0", "1", "1.0", "1e0"]),
    ),
    st.builds(":s{} :room {}".format, st.integers(0, 2), rooms),
)
fickle_blocks = st.lists(fickle_triples, min_size=4, max_size=20).map(" . ".join)


def _by_value(bag):
    """Rows whose numbers are the same but for their type and last digits are the same."""
    return Counter(
        tuple(round(float(term.value), 9) if isinstance(term, Literal) else term for term in row)
        for row in bag.elements()
    )


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    fickle_blocks,
    st.lists(
        st.one_of(
            fickle_blocks.map("INSERT DATA {{ {} }}".format), fickle_blocks.map("DELETE DATA {{ {} }}".format)
        ),
        min_size=1,
        max_size=6,
    ),
)
def test_what_the_store_may_tell_in_two_ways_adds_up(data, updates):
    """Sums of doubles, and the least of `1` and `1.0`: only what was told is taken away."""
    adds_up(ANALYSE, data, [PROLOGUE + text for text in FICKLE], updates, _by_value)


def test_a_late_subscriber_is_told_rows_in_their_order():
    """Also where they were told otherwise than the store would now say."""
    fresh = Bindings(("x", "s"), ((1, "c"), (2, "a"), (3, "b"), (4, "d")))
    told = Counter([(2.5, "a"), (3.5, "b"), (1, "c"), (9, "e")])
    assert _as_told(fresh, told, {"s"}).rows == ((1, "c"), (2.5, "a"), (3.5, "b"), (9, "e"))


@pytest.mark.parametrize("shape", SHAPES)
def test_they_are_served_so(shape):
    """Each of the above."""
    choice = chosen(ANALYSE(Query(PROLOGUE + shape.format(room="<urn:hall>"))), ANALYSE, 1000)
    assert isinstance(choice.unit, GroupedSpu)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT (COUNT(*) AS ?n) { ?s :p ?o }",
        "SELECT DISTINCT (COUNT(*) AS ?n) { ?s :p ?o } GROUP BY ?s",
        "SELECT ?s (COUNT(*) AS ?n) { ?o :q ?x OPTIONAL { ?s :p ?o } } GROUP BY ?s",
        "SELECT ?s (SAMPLE(?o) AS ?n) { ?s :p ?o } GROUP BY ?s",
        "SELECT ?s (COUNT(*) AS ?n) { ?s :p* ?o } GROUP BY ?s",
    ],
)
def test_what_has_no_group_of_its_own_is_not(text):
    """No key, one that rows of other groups are equal to, one that may be unbound, or a whim of the store."""
    choice = chosen(ANALYSE(Query(PROLOGUE + text)), ANALYSE, 1000)
    assert choice is None or not isinstance(choice.unit, GroupedSpu)


def test_many_groups_at_once_are_evaluated_together():
    """And what is known afterwards is right."""
    store = embedded()
    core = Core(store, Subscriptions(LimitsConfig(), analyse=ANALYSE))
    query = Query(f"{PROLOGUE} SELECT ?s (SUM(?v) AS ?n) {{ ?o :by ?s ; :value ?v }} GROUP BY ?s")
    ((_, first),) = core.handle(Subscribe(query, 1)).messages
    bag = Counter(first.delta.added)
    for value in (1, 2):
        block = " . ".join(f":o{i}x{value} :by :s{i} ; :value {value}" for i in range(300))
        ((_, message),) = core.handle(Update(f"{PROLOGUE} INSERT DATA {{ {block} }}")).messages
        assert message.delta.added.total() == 300
        bag = message.delta.apply(bag)
    assert bag == store.evaluate(query).bag()
