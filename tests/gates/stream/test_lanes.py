"""Consumers that do not read: bounded, never torn, and back as soon as they read again."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import replace

import pytest

from triplewire.gates.stream import lanes
from triplewire.gates.stream.deflate import alone

from .serving import on_uvloop, serving, until

BODY = b"0123456789abcdef" * 4096  # 64 KiB, more than a socket takes of many


async def slow(port, path, *headers):
    """A consumer whose socket is small, and that is not read."""
    consumer = await port.follow(path, *headers)
    consumer.reader._transport.pause_reading()
    return consumer


async def fill(port, numbers):
    for number in numbers:
        await port.publish(number, body=b"%d" % number + BODY)
        await until(lambda: port.stream.sent == port.stream.history.last)


def fanouts(port):
    return list(port.server._readers.values())


def unread(port):
    """The most that waits for one consumer."""
    return max(
        each.transport.get_write_buffer_size()
        for fanout in fanouts(port)
        for lane in fanout._lanes.values()
        for each in [*lane._behind, *(some for audience in lane._audiences() for some in audience.all())]
    )


@pytest.mark.parametrize(
    ("path", "header"),
    [
        ("/events/stream", "X: y"),
        ("/events/compressed", "X: y"),
        ("/events/priority", "X: y"),
        ("/events/stream", "Accept: application/x-ldjson"),
    ],
)
@on_uvloop
async def test_who_does_not_read_is_left_out_and_misses_nothing(path, header):
    """What is kept of the stream is sent when it reads again; it never sees half a chunk, or half an item."""
    body = {"level": 1, "history_bytes": 1 << 30}
    async with serving(body, gate={"unread_bytes": 300_000}) as port:
        consumer, other = await slow(port, path, header), await port.follow(path, header)
        reading = asyncio.create_task(_ids(other, 120, lines="ldjson" in header))
        rng = random.Random(1)  # as the same bytes again and again would be nothing, compressed
        for number in range(120):
            await port.publish(number, body=rng.randbytes(40_000).hex().encode())
            await until(lambda: port.stream.sent == port.stream.history.last)
            assert unread(port) < 300_000 + 120_000
        assert await reading == [str(number) for number in range(120)]
        assert sum(fanout.skipped for fanout in fanouts(port)) > 0
        assert port.server.skipped > 0
        consumer.reader._transport.resume_reading()
        assert await _ids(consumer, 120, lines="ldjson" in header) == [str(n) for n in range(120)]
        await port.publish("live")
        assert await _ids(consumer, 1, lines="ldjson" in header) == ["live"]
        assert not any(lane._behind for fanout in fanouts(port) for lane in fanout._lanes.values())


async def _ids(consumer, count, *, lines=False):
    if not lines:
        return await consumer.ids(count)
    found = []
    while len(found) < count:
        text = await consumer.text()
        assert text.endswith(b"\r\n")
        found += [json.loads(line)["Event-Id"] for line in text.splitlines()]
    return found


@on_uvloop
async def test_who_was_left_out_for_too_long_is_sent_away():
    """Before the hole, in order: it comes back, and gets what is kept, and what comes."""
    async with serving({"history_items": 5}, gate={"unread_bytes": 100_000}) as port:
        consumer = await slow(port, "/events/stream")
        await fill(port, range(200))
        consumer.reader._transport.resume_reading()
        ids = await _ids_to_the_end(consumer)
        assert ids == list(range(len(ids)))
        assert 0 < len(ids) < 195
        assert port.server.skipped == 1
        again = await port.follow(f"/events/stream?last-seen={ids[-1]}")
        assert await again.ids(5) == ["195", "196", "197", "198", "199"]
        await port.publish("live")
        assert await again.ids(1) == ["live"]


@pytest.mark.parametrize(
    ("path", "header"),
    [
        ("/events/stream", "X: y"),
        ("/events/compressed", "X: y"),
        ("/events/priority", "X: y"),
    ],
)
@on_uvloop
async def test_who_asks_for_what_goes_meanwhile_is_sent_away(path, header):
    """It has not too much unread: its response ends in order before the hole, and it comes back with what it saw last."""
    async with serving({"history_items": 60, "history_bytes": 1 << 30, "level": 1}) as port:
        rng = random.Random(1)

        async def publish(number):
            await port.publish(number, body=rng.randbytes(200_000).hex().encode())
            await until(lambda: port.stream.sent == port.stream.history.last)

        for number in range(60):
            await publish(number)
        consumer = await slow(port, f"{path}?last-seen=none", header)
        for number in range(60, 130):
            await publish(number)
        consumer.reader._transport.resume_reading()
        got = await _ids_to_the_end(consumer)
        assert got == list(range(len(got)))
        assert 0 < len(got) < 60
        await until(lambda: not port.server.consumers)
        again = await port.follow(f"{path}?last-seen={got[-1]}", header)
        assert await again.ids(60) == [str(number) for number in range(70, 130)]


@on_uvloop
async def test_an_item_that_is_not_kept_at_all_is_no_hole():
    """It leaves with its batch; who comes before that is given it then."""
    settings = {"history_bytes": 1_000, "window_s": 0.2, "window_most_s": 0.2}
    async with serving(settings) as port:
        await port.publish("e1")
        await until(lambda: port.stream.sent == 1)
        await port.publish("large", body=b"x" * 2_000)
        consumer = await port.follow("/events/stream?last-seen=e1")
        assert await consumer.ids(1) == ["large"]
        await port.publish("e3")
        assert await consumer.ids(1) == ["e3"]


async def _ids_to_the_end(consumer):
    """Of all items of a response that ends in order, as numbers."""
    found = []
    while items := consumer._items.feed(await consumer.text()):
        found += [int(each.event_id) for each in items]
    assert await consumer.reader.read() == b""
    return found


@on_uvloop
async def test_the_slow_are_cut_where_the_setting_says_so():
    """stream.unread = "close": they come back with what they have seen."""
    async with serving(gate={"unread_bytes": 100_000, "unread": "close"}) as port:
        await slow(port, "/events/stream")
        good = await port.follow()
        reading = asyncio.create_task(good.ids(200))
        await fill(port, range(200))
        assert await reading == [str(number) for number in range(200)]
        await until(lambda: port.server.consumers == 1)


@on_uvloop
async def test_a_long_history_is_given_as_fast_as_it_is_read():
    """Piece by piece: what waits for one is never all of it."""
    async with serving({"history_bytes": 1 << 30}, gate={"unread_bytes": 300_000}) as port:
        await fill(port, range(300))
        consumers = [await slow(port, "/events/stream?last-seen=none") for _ in range(3)]
        assert unread(port) < 600_000
        await fill(port, [300])
        for consumer in consumers:
            consumer.reader._transport.resume_reading()
            assert await consumer.ids(301) == [str(number) for number in range(301)]


@on_uvloop
async def test_all_who_missed_the_same_share_its_bytes():
    """A thousand that come back at the same moment cost one encoding (weakness 14)."""
    async with serving() as port:
        await port.publish(*range(50))
        await until(lambda: port.stream.sent == 50)
        for _ in range(20):
            await port.follow("/events/compressed?last-seen=9")
        (fanout,) = fanouts(port)
        (lane,) = fanout._lanes.values()
        assert len(lane._pieces) == 2  # what they missed, and that there is no more
        assert len(lane._groups) == 1


async def small(port, numbers):
    """Small items, all at once."""
    await port.publish(*numbers)
    await until(lambda: port.stream.sent == port.stream.history.last)


@on_uvloop
async def test_the_whole_past_is_compressed_once_for_all_who_come(monkeypatch):
    """While items come and go: but for its ends it is compressed once, as often as it is asked for (weakness 14)."""
    compressed = []
    monkeypatch.setattr(
        lanes, "alone", lambda plain, level: compressed.append(len(plain)) or alone(plain, level)
    )
    async with serving({"history_items": 2000}) as port:
        await port.follow("/events/compressed")
        await small(port, range(2000))
        for first in range(0, 400, 10):
            consumer = await port.follow("/events/compressed?last-seen=unknown")
            assert await consumer.ids(2000) == [str(number) for number in range(first, first + 2000)]
            await consumer.close()
            await small(port, range(first + 2000, first + 2010))
        assert sum(compressed) < 9 * port.stream.history.bytes  # for 40 who came


@on_uvloop
async def test_what_is_kept_compressed_is_bounded(monkeypatch):
    """By what the stream may keep, and by what it does keep."""
    async with serving({"history_items": 600}) as port:
        await port.follow("/events/compressed")
        await small(port, range(600))
        (fanout,) = fanouts(port)
        (lane,) = fanout._lanes.values()
        await (await port.follow("/events/compressed?last-seen=unknown")).ids(600)
        assert [*lane._kept] == [0, 256]
        assert lane._kept_bytes == sum(len(piece.data) for piece in lane._kept.values())
        await small(port, range(600, 700))
        assert [*lane._kept] == [256]
        await small(port, range(700, 1300))
        assert (lane._kept, lane._kept_bytes) == ({}, 0)
        monkeypatch.setattr(fanout.feed, "config", replace(fanout.feed.config, history_bytes=1))
        await (await port.follow("/events/compressed?last-seen=unknown")).ids(600)
        assert len(lane._kept) == 1


@on_uvloop
async def test_nothing_stands_behind_the_end_of_a_response():
    """Of one that has not read it while items go on: its response is whole, and ends."""
    async with serving({"history_bytes": 1 << 30}, gate={"unread_bytes": 10_000_000}) as port:
        consumer = await slow(port, "/events/stream")
        await fill(port, range(80))
        (fanout,) = fanouts(port)
        (lane,) = fanout._lanes.values()
        (served,) = (each for audience in lane._audiences() for each in audience.all())
        assert served.paused
        served.end()
        await fill(port, range(80, 90))
        consumer.reader._transport.resume_reading()
        assert await consumer.ids(80) == [str(number) for number in range(80)]
        assert await consumer.chunk() == b""
        assert await consumer.reader.read() == b""
        await until(lambda: not port.server.consumers)
