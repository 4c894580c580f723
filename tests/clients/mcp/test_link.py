"""One caller's requests, against a broker whose answers the test writes."""

from __future__ import annotations

import pytest

from triplewire.broker.errors import BrokerMisbehaved, BrokerRefused, ConnectionLost
from triplewire.broker.model import Query, Update
from triplewire.clients.application import Addressed
from triplewire.clients.flows import Method
from triplewire.clients.mcp.errors import ToolRefused
from triplewire.clients.mcp.limits import Limits
from triplewire.clients.mcp.link import Link
from triplewire.clients.settings import ClientSettings


@pytest.fixture
async def link():
    made = Link(
        ClientSettings(timeout_s=5),
        lambda: "the-token",
        Limits(scanned_bytes=1000),
        on_lost=lambda _: None,
        on_back=lambda _: None,
    )
    yield made
    await made.close()


async def test_queries_and_updates_go_with_the_callers_token(fake, link):
    """By the method that their address has."""
    await link.update(
        Addressed(Update("INSERT DATA { <x:s> <x:p> 1 }"), f"{fake.http}/update", Method.URL_ENCODED_POST)
    )
    assert fake.requests[-1]["form"]["update"] == ["INSERT DATA { <x:s> <x:p> 1 }"]
    answer = await link.query(Addressed(Query("SELECT ?o { ?s ?p ?o }"), f"{fake.http}/query"), 10)
    assert answer["rows"] == [["1"]]
    assert [request["headers"]["Authorization"] for request in fake.requests] == ["Bearer the-token"] * 2


async def test_an_answer_is_read_no_further_than_is_allowed(fake, link):
    """The rest is not counted."""
    fake.replies.append((200, {"Content-Type": "text/tab-separated-values"}, b"?a\n" + b"1\n" * 500_000))
    answer = await link.query(Addressed(Query("SELECT"), f"{fake.http}/query"), 3)
    assert (answer["rows"], answer["count_is_exact"]) == ([["1"]] * 3, False)


async def test_what_is_no_answer_is_said(fake, link):
    """A page of a proxy, an error, nobody."""
    to = Addressed(Query("ASK {}"), f"{fake.http}/query")
    fake.replies.append((200, {"Content-Type": "text/html"}, b"<p>"))
    with pytest.raises(BrokerMisbehaved, match="but text/html"):
        await link.query(to, 1)
    fake.replies.append((403, {}, b'{"error": "forbidden", "status_code": 403, "error_description": "no"}'))
    with pytest.raises(BrokerRefused, match="no"):
        await link.query(to, 1)
    with pytest.raises(ConnectionLost):
        await link.query(Addressed(Query("ASK {}"), "http://127.0.0.1:1/query"), 1)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"dcat:dataset": [{}]}', b'{"dcat:dataset": 1}', b"[" * 900]
)
async def test_a_catalogue_that_is_none_is_said(fake, link, body):
    """Whatever came instead."""
    fake.replies.append((200, {"Content-Type": "application/ld+json"}, body))
    with pytest.raises(BrokerMisbehaved, match="no catalogue of streams"):
        await link.streams(fake.http)


async def test_items_that_are_none_or_too_many_are_said(fake, link):
    """Of a stream whose name is quoted."""
    fake.replies.append((200, {}, b"no item"))
    with pytest.raises(BrokerMisbehaved, match="items can't be read"):
        await link.items(fake.http, "a/../b", 5, None)
    assert fake.requests[-1]["path"] == "/a%2F..%2Fb/long-polling"
    fake.replies.append((200, {}, b"x" * 2000))
    with pytest.raises(ToolRefused, match="more than the 1000 bytes"):
        await link.items(fake.http, "s", 5, None)
