"""Agents at a closed broker: each may do what its token may, and sees nothing of the others."""

from __future__ import annotations

import asyncio

import httpx2
import pytest

from tests.support.agents import listening, over_http, over_stdio
from tests.support.secured import SecuredBroker

HIDDEN = "SELECT ?o { GRAPH <http://localhost/hidden> { ?s ?p ?o } }"
INSERT = "INSERT DATA {{ GRAPH <http://localhost/hidden> {{ <x:a> <x:p> {0} }} }}"


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with SecuredBroker(tmp_path_factory.mktemp("secured")) as secured:
        yield secured


@pytest.fixture(scope="module")
def options(broker):
    return "--url", broker.running.https, "--ca", str(broker.authority.ca)


@pytest.fixture(scope="module")
def url(options):
    with listening(*options) as place:
        yield place


async def test_an_agent_may_do_what_its_token_may(broker, url):
    """One that reads only is refused an update and a subscription, and one that nobody knows everything."""
    async with over_http(url, broker.token("all")) as agent:
        await agent.call("update", sparql=INSERT.format(1))
        assert (await agent.call("query", sparql=HIDDEN))["rows"] == [["1"]]
    async with over_http(url, broker.token("reader")) as agent:
        assert (await agent.call("query", sparql=HIDDEN))["rows"] == [["1"]]
        said = await agent.refused("update", sparql=INSERT.format(2))
        assert said.startswith("Not permitted: the token that is used may not do this")
        assert "403" in said
        assert "Not permitted" in await agent.refused("subscribe", sparql=HIDDEN)
    async with over_http(url, broker.token("some")) as agent:
        assert (await agent.call("query", sparql=HIDDEN))["rows"] == []
    async with over_http(url) as agent:
        assert "asks for a token" in await agent.refused("query", sparql=HIDDEN)
    async with over_http(url, "not.a.token") as agent:
        assert "the one given is not good" in await agent.refused("query", sparql=HIDDEN)


async def test_a_subscription_is_its_callers_alone(broker, url):
    """Another token neither lists, reads, ends nor hears of it."""
    async with over_http(url, broker.token("all")) as owner, over_http(url, broker.token("all")) as other:
        first = await owner.call("subscribe", sparql=HIDDEN)
        uri = first["resource"]
        assert (await other.client.list_resources()).resources == []
        assert "there is no subscription" in await other.refused("read_subscription", subscription=uri)
        assert "there is no subscription" in await other.refused("unsubscribe", subscription=uri)
        async with (
            owner.client.listen(resource_subscriptions=[uri]) as mine,
            other.client.listen(resource_subscriptions=[uri]) as theirs,
        ):
            assert not theirs.honored.resource_subscriptions
            await owner.call("update", sparql=INSERT.format(3))
            async with asyncio.timeout(10):
                assert (await anext(aiter(mine))).uri == uri
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await anext(aiter(theirs))
        (change,) = (await owner.read(uri))["changes"]
        assert change["added"] == [["3"]]


async def test_over_stdio_the_commands_credentials_count(broker, options, tmp_path):
    """A token in a file is the agent's, and it is in no answer."""
    file = tmp_path / "token"
    token = broker.token("reader")
    file.write_text(token)
    async with over_stdio(*options, "--token-file", str(file)) as agent:
        assert "boolean" in await agent.call("query", sparql="ASK {}")
        said = await agent.refused("update", sparql=INSERT.format(4))
        assert "Not permitted" in said
        assert token not in said


async def test_only_bearer_tokens_are_taken(url):
    """Another Authorization header is a mistake of the caller's, and goes nowhere."""
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers={"Authorization": "Basic YTpi"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        result = await client.call_tool("query", {"sparql": "ASK {}"})
    assert result.is_error
    assert "must be `Bearer`" in result.content[0].text


async def test_a_subscription_ends_with_its_token(tmp_path):
    """The agent is told why, and one with a new token subscribes again."""
    with SecuredBroker(tmp_path, "security.token_s=3", "security.renew_s=1") as broker:
        given = ("--url", broker.running.https, "--ca", str(broker.authority.ca))
        with listening(*given) as url:
            async with over_http(url, broker.token("all")) as agent:
                first = await agent.call("subscribe", sparql=HIDDEN)
                read = await agent.call("read_subscription", subscription=first["subscription"], wait_s=15)
                assert read["state"] == "ended"
                assert "token" in read["ended"]
                assert "not good" in await agent.refused("query", sparql=HIDDEN)
            async with over_http(url, broker.token("all")) as agent:
                await agent.call("subscribe", sparql=HIDDEN)
