"""A remote store with many standing queries: which are evaluated again, and that those are enough."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.remotes import remote_core
from support.sparql_strategies import (
    GRAPHS,
    PROLOGUE,
    data_blocks,
    queries,
    triples,
    update_templates,
    updates,
    withs,
)
from support.stores import EX

from triplewire.broker.errors import BrokerError, EndpointError
from triplewire.broker.model import GraphEdit, GraphWrite, Query, Subscribe, Update
from triplewire.spu.construct import StableConstruct

pytestmark = pytest.mark.xdist_group("store")
WRITES = st.builds(
    GraphWrite,
    st.sampled_from(GraphEdit),
    st.sampled_from([None, *(f"{EX}{graph[1:]}" for graph in GRAPHS)]),
    st.sampled_from(["", f"<{EX}a> <{EX}p> _:x .", f'_:x <{EX}p> "1" .']),
)
# Updates that change what is there, and queries that see it: the others are too often about nothing.
CHANGING = st.one_of(
    st.builds("DELETE {{ {0} }} WHERE {{ {0} }}".format, update_templates),
    st.builds("{}DELETE {{ ?s ?p ?o }} WHERE {{ ?s ?p ?o . {} }}".format, withs, triples),
    st.builds("{}DELETE {{ ?s :p ?o }} INSERT {{ ?o :q ?s }} WHERE {{ ?s :p ?o }}".format, withs),
    st.builds("INSERT {{ {} }} WHERE {{ ?s ?p ?o BIND(:c AS ?x) }}".format, update_templates),
    st.builds("DELETE DATA {{ {} }}".format, data_blocks(blanks=False)),
).map(PROLOGUE.__add__)
CHANGES = st.lists(
    st.one_of(CHANGING.map(Update), CHANGING.map(Update), updates.map(Update), WRITES), min_size=3, max_size=8
)
SEEING = st.builds(
    "{}SELECT * {{ {} {{ {} }} }}".format,
    st.just(PROLOGUE),
    st.sampled_from(["", "GRAPH :g", "GRAPH ?g"]),
    triples,
)
QUERIES = st.lists(st.one_of(SEEING, SEEING, queries), min_size=6, max_size=12)
RELAXED = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def connect(oxigraph):
    """Makes cores over the endpoint, which is empty then."""
    made = []

    def core(**config):
        store, core = remote_core(oxigraph.query, oxigraph.update, **config)
        made.append(store)
        store.apply(Update("DROP ALL"))
        return store, core

    yield core
    for store in made:
        store.close()


def counted(store):
    """The queries that the endpoint gets from now on."""
    asked = []
    evaluate = store.evaluate

    def evaluated(query, given=None):
        asked.append(query.sparql)
        return evaluate(query, given)

    store.evaluate = evaluated
    return asked


def held(core, text, subscriber=1):
    ((_, told),) = core.handle(Subscribe(Query(text), subscriber)).messages
    return told


# --- the law ----------------------------------------------------------------------------------------------------


def fresh(store, query):
    construct = StableConstruct.of(query)
    return (store.evaluate(query) if construct is None else construct.evaluate(store)).bag()


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"endpoint_graphs_apart": True},
        {"endpoint_graphs_apart": True, "endpoint_evaluations": 0},
        {"endpoint_graphs_apart": True, "endpoint_evaluations": 0, "endpoint_solutions": 2},
    ],
)
def test_first_results_and_changes_add_up_to_a_fresh_answer(connect, config):
    """Whatever the data, the queries and the updates; by the texts alone, and by solutions wherever they can be had."""
    store, core = connect(**config)

    @RELAXED
    @given(st.lists(data_blocks(), min_size=2, max_size=6), QUERIES, CHANGES)
    def run(data, texts, changes):
        core.handle(Update("DROP ALL"))
        for block in data:
            core.handle(Update(f"{PROLOGUE} INSERT DATA {{ {block} }}"))
        bags = {}
        for text in texts:
            try:
                told = held(core, text)
            except BrokerError:
                continue  # a random text that Oxigraph refuses
            bags[told.spuid] = (Query(text), Counter(told.delta.added))
        for change in changes:
            try:
                messages = core.handle(change).messages
            except BrokerError:
                messages = ()
            for _, told in messages:
                query, bag = bags[told.spuid]
                bags[told.spuid] = query, told.delta.apply(bag)
            for query, bag in bags.values():
                assert bag == fresh(store, query), query.sparql
        core._subscriptions.leave(1)

    run()


# --- how many are evaluated -------------------------------------------------------------------------------------

SENSORS = 1000
UPDATES = {
    "insert": "INSERT DATA {{ <urn:s{sensor}> <urn:value> {number} }}",
    "set": "DELETE {{ <urn:s{sensor}> <urn:value> ?o }} INSERT {{ <urn:s{sensor}> <urn:value> {number} }} "
    "WHERE {{ OPTIONAL {{ <urn:s{sensor}> <urn:value> ?o }} }}",
    "by name": "DELETE {{ ?s <urn:value> ?o }} INSERT {{ ?s <urn:value> {number} }} "
    "WHERE {{ ?s <urn:name> 'sensor {sensor}' OPTIONAL {{ ?s <urn:value> ?o }} }}",
}


def with_sensors(connect, **config):
    store, core = connect(endpoint_graphs_apart=True, **config)
    names = " . ".join(f"<urn:s{number}> <urn:name> 'sensor {number}'" for number in range(SENSORS))
    core.handle(Update(f"INSERT DATA {{ {names} }}"))
    told = [held(core, f"SELECT ?o {{ <urn:s{number}> <urn:value> ?o }}") for number in range(SENSORS)]
    return core, [one.spuid for one in told], counted(store)


def test_an_update_evaluates_those_that_it_touches(connect):
    """One of a thousand; where its text leads to all of them, it is asked whom it is about: two questions in all."""
    core, spuids, asked = with_sensors(connect)
    for number, (kind, text) in enumerate(UPDATES.items(), 1):
        sensor = 7 * number
        outcome = core.handle(Update(text.format(sensor=sensor, number=number)))
        assert [told.spuid for _, told in outcome.messages] == [spuids[sensor]]
        assert outcome.reply.delta is None, "the exact change is not known"
        assert outcome.reply.notified == 1
        assert len(asked) == (2 if kind == "by name" else 1)
        asked.clear()
    core.handle(Update("INSERT DATA { <urn:s1> <urn:other> 1 }"))
    assert asked == []


def test_too_many_solutions_are_not_looked_at(connect):
    """Then all that the text leads to are evaluated; without routing, all of them always."""
    core, _, asked = with_sensors(connect, endpoint_solutions=10)
    everywhere = "INSERT { ?s <urn:value> 0 } WHERE { ?s <urn:name> ?n }"
    assert len(core.handle(Update(everywhere)).messages) == SENSORS
    assert len(asked) == SENSORS + 1
    core, _, asked = with_sensors(connect, endpoint_routing=False)
    core.handle(Update("INSERT DATA { <urn:s1> <urn:other> 1 }"))
    assert len(asked) in {SENSORS, SENSORS + 1}


# --- what went wrong --------------------------------------------------------------------------------------------


def test_what_a_failed_update_may_have_changed_is_looked_at_with_the_next(stub):
    """It may have been carried out after all; beyond the limit everything is looked at."""
    store, core = remote_core(f"{stub.url}/q", f"{stub.url}/u", endpoint_unsettled=2, endpoint_timeout_s=5.0)
    for name in "abc":
        held(core, f"SELECT ?x {{ <urn:{name}> <urn:p> ?x }}")
    rows, asked = stub.answer, counted(store)

    def fails(text):
        stub.answer = (500, "text/plain", "no")
        with pytest.raises(EndpointError):
            core.handle(Update(text))
        stub.answer = rows
        asked.clear()

    fails("INSERT DATA { <urn:a> <urn:p> 1 }")
    core.handle(Update("INSERT DATA { <urn:b> <urn:p> 1 }"))
    assert [text[13:18] for text in asked] == ["urn:a", "urn:b"]
    asked.clear()
    core.handle(Update("INSERT DATA { <urn:b> <urn:p> 1 }"))
    assert len(asked) == 1, "once is enough"
    fails("INSERT DATA { <urn:a> <urn:p> 1, 2, 3 }")
    core.handle(Update("INSERT DATA { <urn:x> <urn:p> 1 }"))
    assert len(asked) == 3
    store.close()


def test_a_question_that_fails_leaves_what_the_text_tells(stub):
    """The update itself will tell what is wrong."""
    store, core = remote_core(
        f"{stub.url}/q", f"{stub.url}/u", endpoint_evaluations=0, endpoint_timeout_s=5.0
    )
    held(core, "SELECT ?x { <urn:a> <urn:p> ?x }")
    first = json.loads(stub.answer[2])
    asked = counted(store)
    stub.answer = (200, "application/sparql-results+json", "this is no answer")
    with pytest.raises(BrokerError):
        store.evaluate(Query("SELECT ?x { ?s ?p ?x }"))
    asked.clear()
    outcome = core.handle(Update("DELETE { ?s <urn:p> ?o } WHERE { ?s <urn:p> ?o }"))
    assert ["DISTINCT" in text for text in asked] == [True, False]
    assert first["results"]["bindings"], "the subscription had an answer, and has ended with an error"
    assert outcome.reply.notified == 1
    store.close()
