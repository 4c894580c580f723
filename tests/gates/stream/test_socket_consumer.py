"""Consumers on WebSockets: what they see, what they may say, and how each end is told."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
import tracemalloc
from contextlib import AsyncExitStack, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.certificates import LocalAuthority
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame, Opcode

from triplewire.broker.rights import Access
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import encode_item
from triplewire.gates.stream import socket_consumer
from triplewire.gates.stream.sockets import listening

from .serving import Client, item, on_uvloop, serving, until
from .test_lapses import Judge

ITEMS = "ztreamy-stream"


def follow(port, path="/events/stream", scheme="ws", number=None, **more):
    """A consumer, by the websockets library."""
    more = {"compression": None, "ping_interval": None, "proxy": None, "max_size": 1 << 20} | more
    return connect(f"{scheme}://127.0.0.1:{number or port.number}{path}", **more)


async def items_of(consumer, count):
    """So many items, of binary messages."""
    reader, found = ItemReader(), []
    while len(found) < count:
        found += reader.feed(await asyncio.wait_for(consumer.recv(), 5))
    assert len(found) == count
    return found


async def end_of(consumer):
    """How it ends: the code and the reason that are told, whatever comes before."""
    with suppress(ConnectionClosed):
        async with asyncio.timeout(10):
            async for _ in consumer:
                pass
    return consumer.close_code, consumer.close_reason


async def raw(port, path="/events/stream"):
    """One that has shaken hands, and reads nothing by itself."""
    client = await port.connect()
    await client.ask(
        "GET",
        path,
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    )
    assert await client.head() == 101
    return client


async def test_lines_of_json_and_items():
    """Text for pages, binary for those that read items; the past first."""
    async with serving() as port:
        await port.publish("before")
        async with (
            follow(port, "/events/stream?last-seen=x") as pages,
            follow(port, subprotocols=[ITEMS]) as reads,
        ):
            assert (pages.subprotocol, reads.subprotocol) == (None, ITEMS)
            assert json.loads(await pages.recv())["Event-Id"] == "before"
            await port.publish(1, 2)
            lines = (await pages.recv()).splitlines()
            assert [json.loads(line)["Event-Id"] for line in lines] == ["1", "2"]
            assert [each.event_id for each in await items_of(reads, 2)] == ["1", "2"]
        await until(lambda: not port.server.consumers)


async def test_priority_and_filters():
    """A window holds nothing up on /priority; a filter is shared with all who ask for the same."""
    async with (
        serving({"window_s": 5.0, "window_most_s": 5.0}) as port,
        follow(port, "/events/priority?access_token=unused", subprotocols=[ITEMS]) as now,
        follow(port) as later,
    ):
        await port.publish("first")  # the window begins behind it
        await later.recv()
        await port.publish("a")
        found = await items_of(now, 2)
        assert [each.event_id for each in found] == ["first", "a"]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(later.recv(), 0.2)


bodies = st.lists(st.binary(max_size=3000), min_size=1, max_size=6)
steps = st.lists(st.tuples(st.sampled_from(["publish", "leave", "come"]), bodies), min_size=1, max_size=12)


@settings(deadline=None, max_examples=25)
@given(steps)
def test_a_socket_sees_what_a_chunked_consumer_sees(steps):
    """The same items in the same order, whoever comes, leaves and comes back with what it saw last."""

    async def both():
        async with serving(gate={"unread_bytes": 4096}) as port, AsyncExitStack() as stack:
            number, seen = 0, []
            chunked = await port.follow("/events/stream?last-seen=none")
            socket = await stack.enter_async_context(follow(port, subprotocols=[ITEMS]))
            there = True
            expected = []
            for step, contents in steps:
                if step == "publish":
                    new = [item(f"e{number + place}", body) for place, body in enumerate(contents)]
                    number += len(new)
                    await port.stream.publish(new, "")
                    expected += await chunked.items(len(new))
                elif step == "leave" and there:
                    seen += await items_of(socket, len(expected) - len(seen))
                    await socket.close()
                    there = False
                elif step == "come" and not there:
                    last = seen[-1].event_id if seen else "none"
                    path = f"/events/stream?last-seen={last}"
                    socket = await stack.enter_async_context(follow(port, path, subprotocols=[ITEMS]))
                    there = True
            if there:
                seen += await items_of(socket, len(expected) - len(seen))
                assert seen == expected
            assert seen == expected[: len(seen)]

    asyncio.run(both())


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("hello", 1003),
        (b"hello", 1003),
        ("x" * 2000, 1009),
        ("x" * 20_000, 1008),
    ],
)
async def test_a_consumer_has_nothing_to_say(said, code):
    """It is told so, and its connection ends."""
    async with serving() as port, follow(port) as consumer:
        await consumer.send(said)
        assert (await end_of(consumer))[0] == code
        await until(lambda: not port.server.consumers)


async def test_pings_are_answered_and_goodbyes():
    """Each ping by its pong, whatever pieces they come in; a goodbye by the same code."""
    async with serving() as port:
        async with follow(port) as consumer:
            for _ in range(3):
                await asyncio.wait_for(await consumer.ping(), 5)
            await port.publish(1)
            assert await consumer.recv()
            await consumer.close(1000, "enough")
            assert consumer.close_code == 1000
        client = await raw(port)
        for byte in Frame(Opcode.PING, b"slow").serialize(mask=True):
            client.writer.write(bytes([byte]))
            await asyncio.sleep(0.001)
        assert await asyncio.wait_for(client.reader.readexactly(6), 5) == Frame(
            Opcode.PONG, b"slow"
        ).serialize(mask=False)
        await until(lambda: port.server.consumers == 1)
        await client.close()
        await until(lambda: not port.server.consumers)


@pytest.mark.parametrize(
    "data", [b"\x81\x05hello", b"\xff" * 20, b"\x89\xfe\x01\x00" + b"x" * 300, b"GET / HTTP/1.1\r\n\r\n"]
)
async def test_what_is_no_frame_of_a_client(data):
    """Unmasked, of no kind, too long for its kind: a protocol error, told by 1002."""
    async with serving() as port:
        client = await raw(port)
        client.writer.write(data)
        frame = await asyncio.wait_for(client.reader.read(), 5)
        assert frame[0] == 0x88
        assert int.from_bytes(frame[2:4]) == 1002
        await client.close()
        await until(lambda: not port.server.consumers)


@on_uvloop
async def test_pings_of_one_who_does_not_read_are_not_kept():
    """Its pongs are dropped where too much is unread; those who ping without end are sent away."""
    async with serving(gate={"unread_bytes": 1000}) as port:
        client = await raw(port)
        client.writer.transport.pause_reading()
        ping = Frame(Opcode.PING, b"x" * 125).serialize(mask=True)
        for _ in range(50):
            client.writer.write(ping)
        await client.writer.drain()
        await port.publish(1)
        await asyncio.sleep(0.05)
        assert port.server.consumers == 1
        for _ in range(100):
            client.writer.write(ping)
        client.writer.transport.resume_reading()
        everything = await asyncio.wait_for(client.reader.read(), 10)
        close = everything.rindex(b"\x88")
        assert int.from_bytes(everything[close + 2 : close + 4]) == 1008


async def test_nothing_stands_behind_a_close_frame():
    """Though the client takes its time with its own, and items go on coming."""
    judge = Judge(good=Access("client"))
    async with serving(authority=judge) as port:
        client = await raw(port, "/events/stream?access_token=good")
        await until(lambda: port.server.consumers == 1)
        del judge.good["good"]
        judge.changed()
        frame = await asyncio.wait_for(client.reader.readexactly(2), 5)
        assert frame[0] == 0x88
        await asyncio.wait_for(client.reader.readexactly(frame[1]), 5)
        for number in range(5):
            await port.publish(number)
            await asyncio.sleep(0.01)
        client.writer.write(Frame(Opcode.CLOSE, b"\x03\xf0").serialize(mask=True))
        assert await asyncio.wait_for(client.reader.read(), 5) == b""


async def test_the_end_of_the_stream_and_of_the_server():
    """1001, and the closing handshake is waited for, so that nothing is lost on the way."""
    async with (
        serving() as port,
        follow(port, subprotocols=[ITEMS]) as one,
        follow(port, "/events/priority") as other,
    ):
        await port.publish(1)
        assert len(await items_of(one, 1)) == 1
        port.stream.close()
        assert (await end_of(one))[0] == 1001
        assert (await end_of(other))[0] == 1001
    async with serving() as port, follow(port) as one:
        ends = asyncio.create_task(end_of(one))
        began = time.monotonic()
        await port.server.close()
        assert await ends == (1001, "the stream ends; come back with last-seen")
        assert time.monotonic() - began < 1.9, "the two seconds of grace were not needed"


async def test_a_token_that_ends():
    """1008 as it expires, and as it is revoked; in a header, or in the URL, as browsers have it."""
    soon = Access("client", expires=time.time() + 2.5)
    judge = Judge(good=Access("client"), soon=soon)
    async with (
        serving(authority=judge) as port,
        follow(port, "/events/stream?access_token=good") as one,
        follow(port, additional_headers={"Authorization": "Bearer soon"}) as other,
    ):
        await port.publish(1)
        assert await one.recv()
        assert await other.recv()
        assert (await end_of(other))[0] == 1008
        del judge.good["good"]
        judge.changed()
        assert await end_of(one) == (1008, "the token is not good for this stream any more")


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/events/stream", {}, 401),
        ("/events/stream?access_token=bad", {}, 401),
        ("/events/stream?access_token=", {}, 401),
        ("/events/stream?access_token=good", {"Authorization": "Bearer good"}, 401),
        ("/nothing/stream?access_token=good", {}, 404),
        ("/events/compressed?access_token=good", {}, 400),
        ("/events/stream?past-events-limit=x&access_token=good", {}, 404),
    ],
)
async def test_who_is_not_let_in(path, headers, status):
    """Before the handshake, by an HTTP status, and the connection ends."""
    async with serving(authority=Judge(good=Access("client"))) as port:
        with pytest.raises(InvalidStatus) as refused:
            async with follow(port, path, additional_headers=headers):
                pass
        assert refused.value.response.status_code == status
        await until(lambda: not len(port.server._connections))


async def test_a_token_in_the_url_is_for_websockets_only(caplog):
    """URLs are kept in logs and histories of others; in ours there is none."""
    async with serving(authority=Judge(good=Access("client"))) as port:
        assert (await port.request("GET", "/events/stream?access_token=good")).status == 401
        with caplog.at_level("DEBUG"):
            async with follow(port, "/events/stream?access_token=good"):
                pass
            with pytest.raises(InvalidStatus):
                await follow(port, "/events/stream?access_token=bad")
        # the library's client, which this test is as well, writes all that it sends
        ours = [record.getMessage() for record in caplog.records if record.name.startswith("triplewire")]
        assert any("401" in line for line in ours)
        assert not any("access_token" in line for line in ours)


async def test_too_many_are_told_to_come_back():
    """503 before the handshake, which proxies understand; a browser comes back all the same."""
    async with serving(gate={"consumers": 1}) as port, follow(port):
        with pytest.raises(InvalidStatus) as refused:
            await follow(port)
        assert refused.value.response.status_code == 503
        assert refused.value.response.headers["Retry-After"] == "1"


@on_uvloop
async def test_the_slow_are_dismissed_by_1013(monkeypatch):
    """Where that is the policy: behind what they have not read; those who do not read that either are cut."""
    monkeypatch.setattr(socket_consumer, "_CLOSE_S", 1.0)
    async with serving(gate={"unread": "close", "unread_bytes": 1000}) as port:
        reads, never = await raw(port), await raw(port)
        for client in (reads, never):
            client.writer.transport.pause_reading()
        await until(lambda: port.server.consumers == 2)
        for number in range(120):
            await port.publish(number, body=b"x" * 100_000)
            await asyncio.sleep(0)
        reads.writer.transport.resume_reading()
        everything = await asyncio.wait_for(reads.reader.read(), 10)
        close = everything.rindex(b"\x88")
        assert int.from_bytes(everything[close + 2 : close + 4]) == 1013
        await until(lambda: not port.server.consumers, 10)


@on_uvloop
async def test_the_slow_are_passed_over_and_see_the_rest():
    """Whole messages only: what was skipped comes from the history when it reads again."""
    async with serving({"history_items": 1000}, gate={"unread_bytes": 1000}) as port:
        async with follow(port, "/events/stream", subprotocols=[ITEMS], max_queue=1) as slow:
            await asyncio.sleep(0.1)
            slow.transport.pause_reading()
            for number in range(150):
                await port.publish(number, body=b"x" * 100_000)
                await asyncio.sleep(0)
            slow.transport.resume_reading()
            found = await items_of(slow, 150)
        assert [each.event_id for each in found] == [str(number) for number in range(150)]


async def test_silence_is_broken_by_a_frame_that_needs_no_answer():
    """No item is seen, and nothing is said back."""
    async with serving() as port:
        client = await raw(port)
        await until(lambda: port.server.consumers == 1)
        port.stream._send_sign_of_life()
        assert await asyncio.wait_for(client.reader.readexactly(2), 5) == b"\x8a\x00"
        await port.publish(1)
        assert (await asyncio.wait_for(client.reader.readexactly(1), 5)) == b"\x81"
        assert port.server.consumers == 1


async def test_over_tls(tmp_path):
    """wss, the same."""
    authority = LocalAuthority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.certificate, authority.key)
    async with serving() as port:
        (number,) = await port.server.start(sockets=listening("127.0.0.1", 0), tls=context)
        async with follow(port, scheme="wss", number=number, ssl=authority.context()) as consumer:
            await port.publish(1)
            assert json.loads(await consumer.recv())["Event-Id"] == "1"
            await asyncio.wait_for(await consumer.ping(), 5)
            port.stream.close()
            assert (await end_of(consumer))[0] == 1001


async def test_frames_before_the_answer():
    """A client waits (RFC 6455, 4.1): one that does not is no WebSocket client."""
    async with serving() as port:
        client = await port.connect()
        head = (
            b"GET /events/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        client.writer.write(head + b"\x81\x80\x00\x00\x00\x00")
        assert await client.head() == 400
        assert "waits for the answer" in (await client.error())["error_description"]


async def test_behind_other_requests():
    """A pipelined post is answered first; an upgrade that can't be is ignored, as with other methods."""
    async with serving() as port:
        client = await port.connect()
        body = encode_item(item(1))
        await client.ask("POST", "/events/publish", "Content-Type: application/ztreamy-event", body=body)
        upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
        await client.ask(
            "GET", "/events/stream?last-seen=x", *upgrade, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
        )
        assert [await client.head(), await client.head()] == [200, 101]
        assert (await asyncio.wait_for(client.reader.readexactly(1), 5)) == b"\x81"
        poster = await port.request(
            "POST", "/events/publish", "Content-Type: application/ztreamy-event", *upgrade, body=body
        )
        assert poster.status == 200


@on_uvloop
async def test_what_a_consumer_costs():
    """At most 4 KB of Python's memory, when it has answered a ping, too."""
    count = 300
    async with serving() as port:
        warm = [await raw(port) for _ in range(20)]
        await until(lambda: port.server.consumers == len(warm))
        sockets = [Client(*await asyncio.open_connection("127.0.0.1", port.number)) for _ in range(count)]
        port.clients += sockets
        tracemalloc.start()
        try:
            before = _ours()
            for client in sockets:
                await client.ask(
                    "GET",
                    "/events/stream",
                    "Connection: Upgrade",
                    "Upgrade: websocket",
                    "Sec-WebSocket-Version: 13",
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                )
            await until(lambda: port.server.consumers == count + len(warm))
            for client in sockets:
                client.writer.write(Frame(Opcode.PONG, b"").serialize(mask=True))
            await asyncio.sleep(0.2)
            each = (_ours() - before) / count
        finally:
            tracemalloc.stop()
        assert 0 < each <= 4096


def _ours():
    """What the gate and the websockets library hold; the clients of this test hold as much again."""
    parts = [tracemalloc.Filter(True, pattern) for pattern in ("*/gates/stream/*", "*/websockets/*")]
    parts.append(tracemalloc.Filter(False, "*/tests/*"))
    return sum(each.size for each in tracemalloc.take_snapshot().filter_traces(parts).statistics("filename"))
