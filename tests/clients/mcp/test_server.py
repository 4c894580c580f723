"""The whole round of an agent against a real broker: change, ask, follow, be told, and be refused."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from mcp.shared.exceptions import MCPError

from tests.support.agents import listening, over_http, over_stdio
from tests.support.running import RunningBroker

VALUES = "SELECT ?v WHERE { <http://x/a> <http://x/value> ?v }"


@pytest.fixture(scope="module")
def broker():
    running = RunningBroker.start()
    yield running
    running.stop()


@pytest.fixture
def options(broker):
    return "--url", broker.http, "--streams-url", broker.streams


@pytest.fixture(scope="module")
def url(broker):
    with listening("--url", broker.http, "--streams-url", broker.streams) as place:
        yield place


@pytest.fixture
def connected(url):
    """Makes a connected agent, before an empty dataset.  No fixture of its own: it has to end in the test's task."""

    @asynccontextmanager
    async def connect(**client):
        async with over_http(url, **client) as agent:
            await agent.call("update", sparql="CLEAR ALL")
            yield agent

    return connect


@pytest.fixture(params=["stdio", "http"])
def either(request, options, connected):
    """The same by either transport."""

    @asynccontextmanager
    async def connect(**client):
        async with over_stdio(*options, **client) as agent:
            await agent.call("update", sparql="CLEAR ALL")
            yield agent

    return connected if request.param == "http" else connect


async def until_told(stream):
    async with asyncio.timeout(10):
        return await anext(aiter(stream))


async def test_the_whole_round(either):
    """An agent changes, asks, follows an answer, is told of its change as an update of the resource, and stops."""
    async with either() as agent:
        await agent.call("update", sparql="INSERT DATA { <http://x/a> <http://x/value> 1 }")
        assert await agent.call("query", sparql=VALUES) == {"vars": ["v"], "rows": [["1"]], "count": 1}

        first = await agent.call("subscribe", sparql=VALUES)
        assert (first["rows"], first["vars"], first["number"]) == ([["1"]], ["v"], 0)
        uri = first["resource"]
        listed = (await agent.client.list_resources()).resources
        assert [resource.uri for resource in listed] == [uri]

        async with agent.client.listen(resource_subscriptions=[uri]) as stream:
            change = "DELETE { ?s ?p ?v } INSERT { ?s ?p 2 } WHERE { ?s ?p ?v }"
            await agent.call("update", sparql=change)
            assert (await until_told(stream)).uri == uri
        read = await agent.read(uri)
        (told,) = read["changes"]
        assert (told["number"], told["added"], told["removed"]) == (1, [["2"]], [["1"]])
        assert read["answer"] == {"rows": [["2"]], "count": 1}
        assert read["state"] == "live"

        assert (await agent.read(uri))["changes"] == []
        assert (await agent.read(f"{uri}?since=0"))["changes"] == [told]
        await agent.call("unsubscribe", subscription=first["subscription"])
        with pytest.raises(MCPError, match="there is no subscription"):
            await agent.read(uri)


async def test_a_reading_can_wait_for_the_change(connected):
    """A model that hears no updates of resources asks for the next change, and has it when it comes."""
    async with connected() as agent:
        first = await agent.call("subscribe", sparql=VALUES)
        waiting = asyncio.create_task(
            agent.call("read_subscription", subscription=first["subscription"], wait_s=15)
        )
        await asyncio.sleep(0.3)
        assert not waiting.done()
        await agent.call("update", sparql="INSERT DATA { <http://x/a> <http://x/value> 'new' }")
        read = await asyncio.wait_for(waiting, 10)
        assert [change["added"] for change in read["changes"]] == [[['"new"']]]


@pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")
async def test_clients_of_revisions_before_are_told_as_well(either):
    """A client of 2025-11-25 subscribes to the resource, and gets `notifications/resources/updated`."""
    heard: asyncio.Queue = asyncio.Queue()
    async with either(mode="legacy", message_handler=heard.put) as agent:
        assert agent.client.protocol_version == "2025-11-25"
        first = await agent.call("subscribe", sparql=VALUES)
        await agent.client.subscribe_resource(first["resource"])
        await agent.call("update", sparql="INSERT DATA { <http://x/a> <http://x/value> 77 }")
        async with asyncio.timeout(10):
            message = await heard.get()
        assert message.method == "notifications/resources/updated"
        assert message.params.uri == first["resource"]
        read = await agent.read(first["resource"])
        assert [change["added"] for change in read["changes"]] == [[["77"]]]
        await agent.client.unsubscribe_resource(first["resource"])
        await agent.call("update", sparql="CLEAR ALL")
        await agent.call("read_subscription", subscription=first["subscription"], wait_s=5, since=1)
        await asyncio.sleep(0.3)
        assert heard.empty()


async def test_what_the_tools_do_is_said(connected):
    """Every tool and argument is described; only `update` is said to change anything, and to destroy."""
    async with connected() as agent:
        tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
    assert set(tools) == {
        "query",
        "update",
        "subscribe",
        "read_subscription",
        "unsubscribe",
        "explain",
        "list_streams",
        "read_stream",
    }
    for tool in tools.values():
        assert tool.description
        assert all(argument["description"] for argument in tool.input_schema["properties"].values())
        assert tool.annotations.read_only_hint == (tool.name != "update")
    assert tools["update"].annotations.destructive_hint


async def test_mistakes_say_what_and_where(connected):
    """A mistake in SPARQL has the broker's own words with line and column; one in an argument has its name."""
    async with connected() as agent:
        held = (await agent.client.list_resources()).resources
        said = await agent.refused("query", sparql="SELECT ?s WHERE { ?s ?p")
        assert "line 1, column 24" in said
        assert "expected one of" in said
        assert "line 1, column" in await agent.refused("update", sparql="INSERT { }")
        assert "Parsing failed" in await agent.refused("subscribe", sparql="SELECT")
        assert (await agent.client.list_resources()).resources == held
        assert "'sparql' is a required property" in await agent.refused("query")
        assert "limit: 0 is less than the minimum" in await agent.refused("query", sparql=VALUES, limit=0)
        assert "there is no tool 'ask'" in await agent.refused("ask")
        assert "there is no stream nowhere" in await agent.refused("read_stream", stream="nowhere")
        assert "there is no subscription 'x'" in await agent.refused("read_subscription", subscription="x")


async def test_a_long_answer_is_cut_and_counted(connected):
    """The rows that are left out are counted, and the note says what to do."""
    async with connected() as agent:
        triples = " . ".join(f"<http://x/{number}> <http://x/n> {number}" for number in range(300))
        await agent.call("update", sparql=f"INSERT DATA {{ {triples} }}")
        answer = await agent.call("query", sparql="SELECT ?n { ?s <http://x/n> ?n } ORDER BY ?n", limit=3)
        assert answer["rows"] == [["0"], ["1"], ["2"]]
        assert (answer["count"], answer["count_is_exact"]) == (300, True)
        assert answer["note"].startswith("Cut: 3 of 300 rows")
        triples = await agent.call("query", sparql="CONSTRUCT WHERE { ?s <http://x/n> ?n }", limit=5)
        assert (len(triples["triples"]), triples["count"]) == (5, 300)
        first = await agent.call("subscribe", sparql="SELECT ?n { ?s <http://x/n> ?n }", limit=4)
        assert (len(first["rows"]), first["count"]) == (4, 300)
        assert "4 of the 300 rows" in first["note"]


async def test_streams_are_listed_and_read(connected, broker):
    """An agent sees what streams there are, and the newest items of one."""
    async with connected() as agent:
        from triplewire.clients.streams import StreamPublisher, new_item

        with StreamPublisher(f"{broker.streams}/events") as publisher:
            for number in range(3):
                publisher.publish(new_item("s", "text/plain", f"item {number}".encode()))
        (stream,) = (await agent.call("list_streams"))["streams"]
        assert stream["name"] == "events"
        assert stream["items_kept"] >= 3
        read = await agent.call("read_stream", stream="events", limit=2)
        assert [item["Body"] for item in read["items"]] == ["item 1", "item 2"]
        behind = await agent.call("read_stream", stream="events", last_seen=read["items"][0]["Event-Id"])
        assert [item["Body"] for item in behind["items"]] == ["item 2"]


async def test_explain_tells_how_a_query_is_followed(connected):
    """As `triplewire explain` says it."""
    async with connected() as agent:
        told = await agent.call("explain", sparql=VALUES)
        assert told["touched_by"] == ["<http://x/a> <http://x/value> ?v in the default graph"]
        assert told["followed"].startswith("one pattern, no query needed")


async def test_read_only_has_no_tool_that_changes(options):
    """With --read-only there is no `update`, and nothing is changed by its name."""
    async with over_stdio(*options, "--read-only") as agent:
        names = [tool.name for tool in (await agent.client.list_tools()).tools]
        assert "update" not in names
        assert "there is no tool 'update'" in await agent.refused("update", sparql="CLEAR ALL")


async def test_limits_are_kept(options):
    """As many subscriptions as are allowed, of no larger answers than are kept, and texts of no more bytes."""
    limits = ("subscriptions=2", "subscription_rows=3", "sparql_bytes=200", "answer_bytes=60")
    async with over_stdio(*options, *(part for limit in limits for part in ("--set", limit))) as agent:
        values = " ".join(map(str, range(4)))
        said = await agent.refused("subscribe", sparql=f"SELECT * {{ VALUES ?v {{ {values} }} }}")
        assert "more than the 3 rows" in said
        await agent.call("subscribe", sparql="ASK { ?s ?p 1 }")
        growing = await agent.call("subscribe", sparql="SELECT ?g { ?s <http://x/grows> ?g }")
        assert "there are 2 subscriptions already" in await agent.refused("subscribe", sparql="ASK {}")
        await agent.call("update", sparql="INSERT DATA { <x:a> <http://x/grows> 1, 2, 3, 4 }")
        async with asyncio.timeout(10):
            while "ended" not in (read := await agent.read(growing["resource"])):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.05)
        assert "more than the 3 rows" in read["ended"]
        await agent.call("subscribe", sparql="ASK {}")  # in the place of what has ended
        assert "more than the 200 allowed" in await agent.refused("query", sparql=f"ASK {{}} #{'x' * 200}")
        long = 'SELECT * { VALUES ?v { "aaaaaaaaaaaaaaaaaaaa" "bbbbbbbbbbbbbbbbbbbb" "c" } }'
        answer = await agent.call("query", sparql=long)
        assert len(json.dumps(answer["rows"])) <= 60
        assert (len(answer["rows"]), answer["count"]) == (2, 3)
        await agent.call("update", sparql="DELETE WHERE { <x:a> <http://x/grows> ?g }")
