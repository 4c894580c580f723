"""The parameter `overlap` on the wire: in every form, through workers, and what the head says of it."""

from __future__ import annotations

import asyncio
import json

import pytest
from websockets.asyncio.client import connect

from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import FOLLOWED

from .serving import serving
from .test_workers import working

OVERLAP = "triplewire-overlap"
SEEN = "last-seen=3&overlap=10"


async def published(port):
    """Five items in a second by the history's own clock, 20 s after two others."""
    clock = port.stream.history._clock
    now = clock()
    port.stream.history._clock = lambda: now
    for number, later in enumerate((0, 0, 20, 20.5, 21, 21, 22), -1):
        port.stream.history._clock = lambda later=later: now + later
        await port.publish(number)
    port.stream.history._clock = clock


@pytest.mark.parametrize(
    ("path", "header"),
    [
        ("/events/stream", "Accept: */*"),
        ("/events/stream", "Accept-Encoding: deflate"),
        ("/events/compressed", "Accept: */*"),
        ("/events/priority", "Accept: */*"),
        ("/events/stream", "Last-Event-ID: 3"),
    ],
)
async def test_a_stream_begins_earlier(path, header):
    """By all that was taken in the seconds before the item, and goes on."""
    async with serving() as port:
        await published(port)
        query = SEEN if "Last-Event-ID" not in header else "last-seen=1&overlap=10"
        consumer = await port.follow(f"{path}?{query}", header)
        assert consumer.headers[OVERLAP] == "10.000"
        assert await consumer.ids(5) == ["1", "2", "3", "4", "5"]
        await port.publish(6)
        assert await consumer.ids(1) == ["6"]
        assert consumer.nothing_more()


async def test_other_forms_begin_earlier():
    """Lines of JSON, events, WebSockets, long polls."""
    async with serving() as port:
        await published(port)
        lines = await port.follow(f"/events/stream?{SEEN}", "Accept: application/x-ldjson")
        said = b""
        while said.count(b"\r\n") < 5:
            said += await lines.text()
        assert [json.loads(line)["Event-Id"] for line in said.splitlines()] == ["1", "2", "3", "4", "5"]
        events = await port.follow(f"/events/stream?{SEEN}", "Accept: text/event-stream")
        assert (await events.text()).startswith(b"id: 1\n")
        for access in ("stream", "priority"):
            url = f"ws://127.0.0.1:{port.number}/events/{access}?{SEEN}"
            async with connect(url, subprotocols=["ztreamy-stream"], proxy=None) as socket:
                assert socket.response.headers[OVERLAP] == "10.000"
                found = ItemReader(FOLLOWED).feed(await asyncio.wait_for(socket.recv(), 5))
                assert [each.event_id for each in found] == ["1", "2", "3", "4", "5"]
        poll = await port.request("GET", f"/events/long-polling?{SEEN}", "Accept: application/json")
        assert [each["Event-Id"] for each in json.loads(await poll.body())] == ["1", "2", "3", "4", "5"]


async def test_it_is_no_condition_of_a_filter():
    """And of what passes a filter, the overlap is what passes."""
    chosen = []

    def select(feed, conditions):
        chosen.append(conditions)
        return feed

    async with serving(select=select) as port:
        await published(port)
        consumer = await port.follow(f"/events/stream?{SEEN}&source=src-1")
        assert await consumer.ids(5) == ["1", "2", "3", "4", "5"]
        await port.follow(f"/events/stream?{SEEN}")
        assert chosen == [(("source", "src-1"),)]


async def test_the_head_says_how_far_it_reaches():
    """Less than was asked for, where less is kept; nothing where the item is unknown, or no overlap was asked for."""
    async with serving() as port:
        await published(port)
        for query, told in (
            ("last-seen=3&overlap=60", "21.000"),
            ("last-seen=3&overlap=0", "0.000"),
            ("last-seen=none&overlap=10", None),
            ("last-seen=3", None),
            ("overlap=10", None),
        ):
            for method in ("GET", "HEAD"):
                client = await port.request(method, f"/events/stream?{query}")
                assert (client.status, client.headers.get(OVERLAP)) == (200, told)
        client = await port.request("GET", "/events/stream?last-seen=3&overlap=soon")
        assert client.status == 400
        assert "overlap" in (await client.error())["error_description"]


async def test_an_unknown_item_is_the_whole_history():
    """As ever, with an overlap or without."""
    async with serving() as port:
        await published(port)
        consumer = await port.follow("/events/stream?last-seen=none&overlap=1")
        assert await consumer.ids(7) == ["-1", "0", "1", "2", "3", "4", "5"]


@pytest.mark.parametrize("access", ["stream", "compressed", "priority"])
async def test_an_unknown_item_that_was_had_lately(access):
    """What was taken since then, and in the overlap before: a relay may have old items that the consumer never saw."""
    async with serving() as port:
        await published(port)
        history = port.stream.history
        clock = history._clock
        history._clock = lambda: clock() + 30.0  # seconds after the first items
        consumer = await port.follow(f"/events/{access}?last-seen=none&overlap=1.5&away=8")
        assert OVERLAP not in consumer.headers, "who comes is to take it that something may be missing"
        assert await consumer.ids(3) == ["3", "4", "5"]
        poll = await port.request("GET", "/events/long-polling?last-seen=none&away=8.6")
        found = ItemReader(FOLLOWED).feed(await poll.body())
        assert [each.event_id for each in found] == ["5"]


async def test_through_workers():
    """Their copies know when items were taken."""
    async with working(2) as port:
        await published(port)
        for _ in range(6):
            consumer = await port.follow(f"/events/compressed?{SEEN}")
            assert consumer.headers[OVERLAP] == "10.000"
            assert await consumer.ids(5) == ["1", "2", "3", "4", "5"]
