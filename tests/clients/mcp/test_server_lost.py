"""A broker that goes and comes back under an agent."""

from __future__ import annotations

import asyncio

from tests.support.agents import over_stdio
from tests.support.running import RunningBroker

VALUES = "SELECT ?v WHERE { <http://x/a> <http://x/value> ?v }"


async def test_a_subscription_outlives_its_broker(tmp_path):
    """Meanwhile it says that the connection is lost; then what was missed comes as one change that says so."""
    data = ("--data", str(tmp_path / "data"))
    broker = RunningBroker.start(*data, memory=False)
    port = broker.http.rpartition(":")[2]
    try:
        async with over_stdio("--url", broker.http) as agent:
            await agent.call("update", sparql="INSERT DATA { <http://x/a> <http://x/value> 1 }")
            first = await agent.call("subscribe", sparql=VALUES)
            uri = first["resource"]
            broker.kill()
            await until(agent, uri, lambda read: read["state"].startswith("connection lost"))
            assert "can't be reached" in await agent.refused("query", sparql=VALUES)
            assert (await agent.read(uri))["answer"]["rows"] == [["1"]]

            broker = RunningBroker.start(*data, "--http-port", port, memory=False)
            await until(agent, uri, lambda read: read["state"] == "live")
            await agent.call("update", sparql="DELETE { ?s ?p ?o } INSERT { ?s ?p 2, 3 } WHERE { ?s ?p ?o }")
            read = await until(agent, uri, lambda read: read["number"] == 1, "?since=0")
            (change,) = read["changes"]
            assert sorted(change["added"]) == [["2"], ["3"]]
            assert change["removed"] == [["1"]]
            assert "connection was lost" in change["after_loss"]
            assert sorted(read["answer"]["rows"]) == [["2"], ["3"]]
    finally:
        broker.stop()


async def until(agent, uri, condition, query=""):
    async with asyncio.timeout(30):
        while not condition(read := await agent.read(uri + query)):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.1)
    return read
