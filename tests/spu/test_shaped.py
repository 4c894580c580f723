"""One unit for all queries of a shape tells each of them what `NaiveSpu` would."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.sparql_strategies import PROLOGUE, data_blocks, updates
from support.stores import embedded

from triplewire.broker.config import LimitsConfig, SparqlConfig
from triplewire.broker.core import Core
from triplewire.broker.errors import BrokerError
from triplewire.broker.model import Query, Subscribe, Update
from triplewire.broker.subscriptions import Subscriptions
from triplewire.spu.analysis.analysis import analyse
from triplewire.spu.choice import chosen
from triplewire.spu.shaped import ShapedSpu

SPARQL = SparqlConfig()
ANALYSE = partial(analyse, base_iri=SPARQL.base_iri, prefixes=SPARQL.prefixes)
A, B, C, P, Q = (f"<http://example.org/{name}>" for name in "abcpq")
SHAPES = [
    "SELECT ?o {{ {x} :p ?o }}",
    "SELECT ?s {{ ?s :p {x} }}",
    "SELECT ?s ?o {{ ?s {y} ?o . ?s :q {x} }}",
    "SELECT ?o {{ {x} :p ?m . ?m :q ?o }}",
    "SELECT ?s ?n {{ ?s :p {x} OPTIONAL {{ ?s :q ?n }} }}",
    "SELECT DISTINCT ?s {{ ?s :p {x} ; :q ?n }}",
    "SELECT ?s {{ ?s :p {x} FILTER NOT EXISTS {{ ?s :q ?n }} }}",
    "SELECT ?s {{ ?s :p {x} MINUS {{ ?s :q ?n }} }}",
    "SELECT ?s ?k {{ {{ ?s :p {x} }} {{ ?s :q ?n BIND(STR(?n) AS ?k) }} }}",
    "SELECT ?s ?g {{ GRAPH ?g {{ ?s :p {x} }} }}",
    "SELECT ?s ({x} AS ?const) {{ ?s :p {x} }}",
    "SELECT ?n {{ ?s :p {x} . ?s :q ?n }}",
    "SELECT * {{ ?s :p {x} . {{ ?s :q ?n }} UNION {{ ?n :q ?s }} }}",
]
terms = st.sampled_from([A, B, C, '"1"', "1"])
cases = st.builds(
    lambda shape, x, y: PROLOGUE + shape.format(x=x, y=y),
    st.sampled_from(SHAPES),
    terms,
    st.sampled_from([P, Q]),
)
rows = st.builds(
    "{} {} {}".format, st.sampled_from([A, B, C, "_:x"]), st.sampled_from([P, Q]), terms | st.just("_:x")
)
changes = st.one_of(
    updates,
    rows.map(lambda row: f"{PROLOGUE} INSERT DATA {{ {row} }}"),
    rows.map(lambda row: f"{PROLOGUE} INSERT DATA {{ GRAPH :g {{ {row} }} }}"),
    st.sampled_from([P, Q]).map(
        lambda p: f"{PROLOGUE} DELETE {{ ?s {p} ?o }} WHERE {{ SELECT * {{ ?s {p} ?o }} LIMIT 1 }}"
    ),
    st.sampled_from([A, B, C]).map(
        lambda s: f"{PROLOGUE} DELETE {{ {s} ?p ?o }} INSERT {{ {s} :p ?s }} WHERE {{ {s} ?p ?o . ?s ?r ?o }}"
    ),
)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(data_blocks(), max_size=3),
    st.lists(cases, min_size=1, max_size=8),
    st.lists(changes, min_size=1, max_size=5),
)
def test_each_case_hears_what_it_would_hear_alone(data, texts, updates_):
    """First results, rows added and removed, and no message where nothing changed."""
    store = embedded()
    core = Core(store, Subscriptions(LimitsConfig(), analyse=ANALYSE))
    for block in data:
        core.handle(Update(f"{PROLOGUE} INSERT DATA {{ {block} }}"))
    bags, told = {}, {}
    for text in texts:
        ((_, first),) = core.handle(Subscribe(Query(text), 1)).messages
        bags[first.spuid], told[first.spuid] = Counter(first.delta.added), text
    for text in updates_:
        try:
            messages = core.handle(Update(text)).messages
        except BrokerError:
            messages = ()
        heard = set()
        for _, message in messages:
            assert message.delta
            assert message.spuid not in heard
            heard.add(message.spuid)
            assert not message.delta.added & message.delta.removed
            assert not message.delta.removed - bags[message.spuid]
            bags[message.spuid] = message.delta.apply(bags[message.spuid])
        for spuid, bag in bags.items():
            assert bag == store.evaluate(Query(told[spuid])).bag(), told[spuid]


def shared(text):
    """Whether there is one unit for all that differ in constants."""
    analysis = ANALYSE(Query(PROLOGUE + text))
    choice = chosen(analysis, ANALYSE, 1000)
    return choice is not None and isinstance(choice.unit, ShapedSpu) and choice.key != analysis.query


@pytest.mark.parametrize("shape", SHAPES[:3] + SHAPES[4:5] + SHAPES[11:12])
def test_the_usual_ones_are_shaped(shape):
    """What this is for."""
    assert shared(shape.format(x=A, y=P))


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT ?s {{ ?s :p {A} }} LIMIT 3",
        f"SELECT (COUNT(*) AS ?n) {{ ?s :p {A} }}",
        f"SELECT ?s (NOW() AS ?t) {{ ?s :p {A} }}",
        f"SELECT ?s {{ ?s :p* {A} }}",
        "SELECT ?s { ?s ?p ?o }",
    ],
)
def test_what_keys_will_not_do_for_is_not(text):
    """It is evaluated fully."""
    assert not shared(text)


def test_many_cases_are_one_unit_and_go_one_by_one():
    """Nothing is left of them in the end; equal queries of one case are told alike."""
    subscriptions = Subscriptions(LimitsConfig(), analyse=ANALYSE)
    core = Core(embedded(), subscriptions)
    spuids = []
    for number in (*range(50), 7):
        ((_, first),) = core.handle(
            Subscribe(Query(f"{PROLOGUE} SELECT ?s {{ ?s :p <urn:{number}> }}"), number)
        ).messages
        spuids.append((number, first.spuid))
    assert (len(subscriptions), subscriptions.units) == (51, 1)
    messages = core.handle(Update(f"{PROLOGUE} INSERT DATA {{ :s :p <urn:7> . :s :p <urn:70> }}")).messages
    assert [subscriber for subscriber, _ in messages] == [7, 7]
    for number, spuid in spuids:
        subscriptions.remove(spuid, number)
    assert (len(subscriptions), subscriptions.units) == (0, 0)
    assert not core.handle(Update(f"{PROLOGUE} INSERT DATA {{ :t :p <urn:7> }}")).messages


def test_many_keys_at_once():
    """More than are asked for one by one: all are evaluated at once."""
    core = Core(embedded(), Subscriptions(LimitsConfig(), analyse=ANALYSE))
    core.handle(Subscribe(Query(f"{PROLOGUE} SELECT ?s ?n {{ ?s :p {A} ; :q ?n }}"), 1))
    block = " ".join(f":s{i} :p {A} ; :q {i % 3} ." for i in range(500))
    ((_, message),) = core.handle(Update(f"{PROLOGUE} INSERT DATA {{ {block} }}")).messages
    assert message.delta.added.total() == 500
    ((_, message),) = core.handle(Update(f"{PROLOGUE} DELETE WHERE {{ ?s :p {A} }}")).messages
    assert message.delta.removed.total() == 500


def test_rows_that_differ_in_what_is_not_shown_cancel_each_other():
    """Another subject has the value now: nobody sees a difference, and nobody is told."""
    core = Core(embedded(), Subscriptions(LimitsConfig(), analyse=ANALYSE))
    core.handle(Update(f"{PROLOGUE} INSERT DATA {{ :a :p {C} ; :q 1 . :b :p {C} }}"))
    core.handle(Subscribe(Query(f"{PROLOGUE} SELECT ?n {{ ?s :p {C} . ?s :q ?n }}"), 1))
    assert not core.handle(
        Update(f"{PROLOGUE} DELETE DATA {{ :a :q 1 }} ; INSERT DATA {{ :b :q 1 }}")
    ).messages
    ((_, message),) = core.handle(
        Update(f"{PROLOGUE} DELETE DATA {{ :b :q 1 }} ; INSERT DATA {{ :a :q 1, 2 }}")
    ).messages
    assert (message.delta.added.total(), message.delta.removed.total()) == (1, 0)
