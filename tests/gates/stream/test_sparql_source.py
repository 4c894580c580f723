"""A stream of the changes of an answer."""

from __future__ import annotations

import json

import pytest
from pyoxigraph import RdfFormat, parse
from support.scheduling import Running
from support.streams import kept, opened, running, until

from triplewire.broker.config import LimitsConfig, StreamConfig
from triplewire.broker.errors import ConfigError
from triplewire.broker.model import Failure, Notification, Query, Update
from triplewire.broker.wire.subscribe import decode_broker
from triplewire.gates.stream.sparql_source import SparqlSource, query_of

VALUES = "SELECT ?v { ?s <urn:v> ?v }"
GRAPH = "CONSTRUCT { ?s <urn:is> ?v } WHERE { ?s <urn:v> ?v }"


def put(*values):
    return Update(
        "DELETE { ?s <urn:v> ?v } INSERT { "
        + " ".join(f"<urn:s{value}> <urn:v> {value} ." for value in values)
        + " } WHERE { OPTIONAL { ?s <urn:v> ?v } }"
    )


@pytest.fixture
async def broker():
    made = Running()
    yield made
    await made.scheduler.close()


def items(stream):
    return [entry.item for entry in stream.history]


async def test_each_notification_is_an_item(broker):
    """The first results, what came, what went, and both; as WebSocket clients get them."""
    stream = opened("answers")
    source = SparqlSource(stream, Query(VALUES), broker.scheduler, LimitsConfig())
    await broker.scheduler.submit(put(1))
    async with running(source.run()):
        await until(lambda: len(stream.history) == 1)
        for change in (put(1, 2), put(2), put(3)):
            count = len(stream.history)
            await broker.scheduler.submit(change)
            await until(lambda count=count: len(stream.history) == count + 1)
    found = items(stream)
    assert [each.event_type for each in found] == ["first", "added", "removed", "changed"]
    assert {each.syntax for each in found} == {"application/sparql-results+json"}
    told = [decode_broker(each.body) for each in found]
    assert all(isinstance(each, Notification) for each in told)
    assert [each.event_id for each in found] == [f"{each.spuid}#{each.sequence}" for each in told]
    assert [each.sequence for each in told] == [0, 1, 2, 3]
    rows = [json.loads(each.body)["notification"]["addedResults"]["results"]["bindings"] for each in found]
    assert [[row["v"]["value"] for row in each] for each in rows] == [["1"], ["2"], [], ["3"]]
    assert {each.source_id for each in found} == {stream.source_id}
    assert found[0].aggregator_ids == (stream.source_id,)


async def test_triples_come_as_turtle(broker):
    """Those that go in an item of their own, before those that come; an empty first answer is an item, too."""
    stream = opened("graph")
    source = SparqlSource(stream, Query(GRAPH), broker.scheduler, LimitsConfig())
    async with running(source.run()):
        await until(lambda: len(stream.history) == 1)
        await broker.scheduler.submit(put(1))
        await until(lambda: len(stream.history) == 2)
        await broker.scheduler.submit(put(2))
        await until(lambda: len(stream.history) == 4)
        await broker.scheduler.submit(Update("DELETE WHERE { ?s <urn:v> ?v }"))
        await until(lambda: len(stream.history) == 5)
    found = items(stream)
    assert [each.event_type for each in found] == ["first", "added", "removed", "added", "removed"]
    assert {each.syntax for each in found} == {"text/turtle"}
    values = [[quad.subject.value for quad in parse(each.body, format=RdfFormat.TURTLE)] for each in found]
    assert values == [[], ["urn:s1"], ["urn:s1"], ["urn:s2"], ["urn:s2"]]
    assert len(set(kept(stream))) == 5


async def test_a_select_over_such_names_is_no_graph(broker):
    """The form of the query decides."""
    stream = opened("rows")
    query = Query("SELECT ?subject ?predicate ?object { ?subject ?predicate ?object }")
    async with running(SparqlSource(stream, query, broker.scheduler, LimitsConfig()).run()):
        await until(lambda: len(stream.history) == 1)
    assert items(stream)[0].syntax == "application/sparql-results+json"


async def test_a_query_that_can_t_be_held_is_tried_again(broker):
    """It may be the store's fault; why is in the broker's health."""
    stream = opened("wrong")
    source = SparqlSource(
        stream,
        Query("SELECT * { SERVICE <http://localhost/> { ?s ?p ?o } }"),
        broker.scheduler,
        LimitsConfig(),
    )
    async with running(source.run()) as task:
        await until(lambda: source.trouble)
        assert not task.done()
    assert source.subscriptions == 0


async def test_a_subscription_that_ends_is_made_again(broker):
    """With first results, and other ids."""
    stream = opened("answers")
    source = SparqlSource(stream, Query(VALUES), broker.scheduler, LimitsConfig())
    async with running(source.run()):
        await until(lambda: len(stream.history) == 1)
        (inbox,) = broker.scheduler._inboxes.values()
        spuid = kept(stream)[0].partition("#")[0]
        inbox.put(Failure("subscription_failed", 500, "it failed", spuid=spuid))
        await until(lambda: len(stream.history) == 2)
    assert source.subscriptions == 2
    assert [each.event_type for each in items(stream)] == ["first", "first"]


async def test_it_ends_with_the_stream_s_task(broker):
    """And leaves the scheduler."""
    stream = opened("answers")
    async with running(SparqlSource(stream, Query(VALUES), broker.scheduler, LimitsConfig()).run()):
        await until(lambda: len(stream.history) == 1)
        assert broker.scheduler.subscribers == 1
    assert broker.scheduler.subscribers == 0


def test_the_query_may_be_in_a_profile(tmp_path):
    """With forced bindings and its graphs; those of the settings go before."""
    profile = tmp_path / "p.jsap"
    profile.write_text(
        json.dumps(
            {
                "host": "localhost",
                "namespaces": {},
                "queries": {
                    "V": {
                        "sparql": "SELECT * { ?s <urn:v> ?v }",
                        "forcedBindings": {"s": {"type": "uri", "value": "urn:s1"}},
                        "graphs": {"default-graph-uri": "urn:g"},
                    }
                },
            }
        )
    )
    settings = {"kind": "subscription", "jsap": str(profile), "id": "V"}
    found = query_of("s", StreamConfig(**settings, bindings={"s": "urn:s9"}))
    assert "<urn:s9>" in found.sparql
    assert found.default_graphs == ("urn:g",)
    assert query_of("s", StreamConfig(**settings, default_graphs=("urn:h",))).default_graphs == ("urn:h",)
    for wrong in ({"id": "W"}, {"bindings": {"x": "y"}}, {"jsap": str(tmp_path / "none.jsap")}):
        with pytest.raises(ConfigError, match=r"streams\.s\.jsap"):
            query_of("s", StreamConfig(**settings | wrong))


def test_the_query_as_it_is():
    """With its graphs."""
    settings = StreamConfig(kind="subscription", query=VALUES, named_graphs=("urn:g",))
    assert query_of("s", settings) == Query(VALUES, (), ("urn:g",))
