"""Publishing over the wire: all items of a request or none, or as they come."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib

import pytest

from triplewire.broker.errors import Overloaded
from triplewire.broker.wire.items import encode_item
from triplewire.gates.stream.publishing import Held

from .serving import item, serving, until

ITEMS = "application/ztreamy-event"
JSON = "application/json"
ONE = {"Event-Id": "j1", "Source-Id": "s", "Syntax": "text/plain", "Body": "x"}


@pytest.mark.parametrize(
    ("body", "media_type", "ids"),
    [
        (encode_item(item(1)), ITEMS, ["1"]),
        (encode_item(item(1)) + encode_item(item(2)), f"{ITEMS}; charset=utf-8", ["1", "2"]),
        (encode_item(item(1)), "application/x-ztreamy-event", ["1"]),
        (json.dumps(ONE).encode(), JSON, ["j1"]),
        (json.dumps([ONE, ONE | {"Event-Id": "j2"}]).encode(), JSON, ["j1", "j2"]),
        (json.dumps(ONE).encode() + b"\r\n", "application/x-ldjson", ["j1"]),
        (b"", ITEMS, []),
        (b"", JSON, []),
    ],
)
async def test_what_is_taken(body, media_type, ids):
    """Items back to back, JSON, lines of JSON, and nothing at all: 200 with nothing in it."""
    async with serving() as port:
        client = await port.request("POST", "/events/publish", f"Content-Type: {media_type}", body=body)
        assert (client.status, client.headers["content-length"]) == (200, "0")
        assert [entry.item.event_id for entry in port.stream.history] == ids


@pytest.mark.parametrize(
    ("body", "media_type", "status"),
    [
        (encode_item(item(1)) + b"\r\n", ITEMS, 400),
        (encode_item(item(1)) + b"Event-Id: 2\r\nSource-Id: s\r\n\r\n", ITEMS, 400),
        (encode_item(item(1))[:-1], ITEMS, 400),
        (encode_item(item(1)), "text/plain", 400),
        (json.dumps([ONE, ONE | {"Syntax": "none"}]).encode(), JSON, 400),
        (json.dumps(ONE | {"X-A": "b\r\nX-C: d"}).encode(), JSON, 400),
        (b"{", JSON, 400),
        (encode_item(item(1, b"x" * 5000)), ITEMS, 400),
    ],
)
async def test_one_bad_item_and_none_is_taken(body, media_type, status):
    """The answer says which item, and what is wrong with it."""
    async with serving(gate={"item_bytes": 4096}) as port:
        client = await port.request("POST", "/events/publish", f"Content-Type: {media_type}", body=body)
        assert client.status == status
        assert (await client.error())["error_description"]
        assert not len(port.stream.history)


@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
async def test_compressed_bodies(coding, pack):
    """The Java publishers can send them; what they inflate to is bounded."""
    async with serving(gate={"body_bytes": 100_000}) as port:
        fine = pack(encode_item(item(1)) * 1)
        assert await port.post(fine, "/events/publish", ITEMS, f"Content-Encoding: {coding}") == 200
        bomb = pack(encode_item(item(2)) + encode_item(item(3, b"0" * 200_000)))
        assert len(bomb) < 2000
        assert await port.post(bomb, "/events/publish", ITEMS, f"Content-Encoding: {coding}") == 413
        assert await port.post(b"no", "/events/publish", ITEMS, f"Content-Encoding: {coding}") == 400
        assert await port.post(b"no", "/events/publish", ITEMS, "Content-Encoding: br") == 415
        assert [entry.item.event_id for entry in port.stream.history] == ["1"]


async def test_a_body_over_the_limit_is_refused_before_it_comes():
    """By its length, where it is said, and on the way where it is not."""
    async with serving(gate={"body_bytes": 1000}) as port:
        client = await port.connect()
        await client.ask("POST", "/events/publish", f"Content-Type: {ITEMS}", "Content-Length: 1001")
        assert await client.head() == 413
        client = await port.connect()
        await client.ask("POST", "/events/publish", f"Content-Type: {ITEMS}", "Transfer-Encoding: chunked")
        client.writer.write(b"7d0\r\n" + encode_item(item(1, b"x" * 5000))[:2000] + b"\r\n")
        assert await client.head() == 413


async def test_expect_continue():
    """curl asks before it sends a larger body."""
    async with serving() as port:
        client = await port.connect()
        body = encode_item(item(1))
        length = f"Content-Length: {len(body)}"
        await client.ask("POST", "/events/publish", f"Content-Type: {ITEMS}", length, "Expect: 100-continue")
        assert await client.head() == 100
        client.writer.write(body)
        assert await client.head() == 200


async def test_a_body_that_does_not_come_in_time_is_cut():
    """Nothing of it is taken."""
    async with serving(gate={"body_timeout_s": 0.05}) as port:
        client = await port.connect()
        await client.ask("POST", "/events/publish", f"Content-Type: {ITEMS}", "Content-Length: 1000")
        client.writer.write(encode_item(item(1)))
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await client.head()
        assert not len(port.stream.history)


@pytest.mark.parametrize(
    ("media_type", "wire"),
    [
        ("application/ztreamy-stream", [encode_item(item(n)) for n in range(3)]),
        (
            "application/x-ldjson",
            [json.dumps(ONE | {"Event-Id": str(n)}).encode() + b"\r\n" for n in range(3)],
        ),
    ],
)
async def test_items_are_taken_as_they_come(media_type, wire):
    """One request that goes on, cut anywhere; 200 when it ends (weakness 17: lines that are split)."""
    async with serving() as port:
        client = await port.connect()
        headers = (f"Content-Type: {media_type}", "Transfer-Encoding: chunked")
        await client.ask("POST", "/events/publish-cont", *headers)
        for number, data in enumerate(wire):
            for part in (data[:9], data[9:]):
                client.writer.write(b"%x\r\n%b\r\n" % (len(part), part))
                await asyncio.sleep(0.01)
            await until(lambda number=number: port.stream.history.last == number + 1)
        client.writer.write(b"0\r\n\r\n")
        assert await client.head() == 200
        assert [entry.item.event_id for entry in port.stream.history] == ["0", "1", "2"]


async def test_a_bad_item_ends_a_publisher_that_goes_on():
    """400 and the end; what was whole before it is taken (facts 1.8)."""
    async with serving() as port:
        client = await port.connect()
        headers = ("Content-Type: application/ztreamy-stream", "Transfer-Encoding: chunked")
        await client.ask("POST", "/events/publish-cont", *headers)
        part = encode_item(item(1)) + b"\r\n" + encode_item(item(2))
        client.writer.write(b"%x\r\n%b\r\n" % (len(part), part))
        assert await client.head() == 400
        await client.body()
        assert await client.reader.read() == b""
        assert [entry.item.event_id for entry in port.stream.history] == ["1"]


async def test_a_publisher_that_is_cut_in_mid_item():
    """What was whole is taken, the rest is not, and nobody is disturbed."""
    async with serving() as port:
        consumer = await port.follow()
        client = await port.connect()
        headers = ("Content-Type: application/ztreamy-stream", "Transfer-Encoding: chunked")
        await client.ask("POST", "/events/publish-cont", *headers)
        part = encode_item(item(1)) + encode_item(item(2))[:-4]
        client.writer.write(b"%x\r\n%b\r\n" % (len(part), part))
        await until(lambda: port.stream.history.last == 1)
        client.writer.transport.abort()
        assert await consumer.ids(1) == ["1"]
        assert await port.post([item(3)]) == 200
        assert await consumer.ids(1) == ["3"]


async def test_a_closed_stream_takes_nothing():
    """It is not there any more."""
    async with serving() as port:
        port.stream.close()
        assert await port.post([item(1)]) == 404


def test_what_is_held_is_bounded():
    """One request may be as large as it may; others must wait for it."""
    held = Held(100)
    held.hold(150)
    with pytest.raises(Overloaded):
        held.hold(1)
    held.size -= 150
    held.hold(60)
    held.hold(40)
    assert held.size == 100
