"""The connection before it follows: bytes in any pieces, requests one after the other, strangers."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triplewire.broker.wire.items import encode_item

from .serving import item, serving, until

POST = b"POST /events/publish HTTP/1.1\r\nHost: x\r\nContent-Type: application/ztreamy-event\r\nContent-Length: %d\r\n\r\n%b"


def post(event_id):
    body = encode_item(item(event_id))
    return POST % (len(body), body)


@pytest.mark.parametrize("size", [1, 7, 10_000])
async def test_requests_in_any_pieces(size):
    """Two posts and a follow on one connection, pipelined: answered in order."""
    async with serving() as port:
        client = await port.connect()
        data = post(1) + post(2) + b"GET /events/stream?last-seen=1 HTTP/1.1\r\nHost: x\r\n\r\n"
        for start in range(0, len(data), size):
            client.writer.write(data[start : start + size])
            if size == 1:
                await asyncio.sleep(0)
        assert [await client.head() for _ in range(3)] == [200, 200, 200]
        assert await client.ids(1) == ["2"]


async def test_many_requests_at_once():
    """More than are taken ahead: the socket waits, and all are answered."""
    async with serving() as port:
        client = await port.connect()
        client.writer.write(b"".join(post(number) for number in range(300)))
        assert [await client.head() for _ in range(300)] == [200] * 300
        assert [entry.item.event_id for entry in port.stream.history] == [str(n) for n in range(300)]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET /events/stream HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET /events/stream HTTP/1.1\r\nX: " + b"x" * 70_000, 413),
        (b"GET /" + b"x" * 70_000, 413),
        (POST % (20, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"), 400),
        (b"GET /%ff%00/stream HTTP/1.1\r\nHost: x\r\n\r\n", 404),
        (b"GET /events/stream?" + b"a=b&" * 200 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ],
)
async def test_what_is_no_request(data, status):
    """It is answered, and others go on."""
    async with serving() as port:
        client = await port.connect()
        client.writer.write(data)
        assert await client.head() == status
        await client.error()
        assert await port.post([item(1)]) == 200


async def test_an_upgrade_that_is_not_offered_is_ignored():
    """Java's client asks for h2c with each first request, also with a body."""
    async with serving() as port:
        h2c = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
        consumer = await port.follow("/events/stream", *h2c)
        body = encode_item(item(1))
        client = await port.request(
            "POST", "/events/publish", "Content-Type: application/ztreamy-event", *h2c, body=body
        )
        assert client.status == 200
        assert await consumer.ids(1) == ["1"]


async def test_connection_close_is_done():
    """As `SynchronousClient` asks for; and as HTTP/1.0 has it."""
    async with serving() as port:
        for version, header in (("1.1", "Connection: close"), ("1.0", "X: y")):
            path = "/events/long-polling?non-blocking=1"
            client = await port.request("GET", path, header, version=version)
            assert client.status == 200
            assert await asyncio.wait_for(client.reader.read(), 2) == b""


async def test_what_a_consumer_says_is_not_kept():
    """It follows, whatever it sends."""
    async with serving() as port:
        consumer = await port.follow()
        consumer.writer.write(b"GET / HTTP/1.1\r\n\r\n" * 1000)
        await consumer.writer.drain()
        await port.publish(1)
        assert await consumer.ids(1) == ["1"]


async def test_nothing_is_left_of_a_connection():
    """However it ended."""
    async with serving() as port:
        for data in (b"", b"GET / HT", post(1)[:-5], b"GET /events/stream HTTP/1.1\r\n\r\n"):
            client = await port.connect()
            client.writer.write(data)
            await client.writer.drain()
            await asyncio.sleep(0.01)
            client.writer.transport.abort()
        await until(lambda: not port.server._connections and not port.server.consumers)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=60),
            st.sampled_from(
                [
                    b"GET /events/stream HTTP/1.1\r\n",
                    b"Host: x\r\n",
                    b"\r\n",
                    b"\r\n\r\n",
                    post(1),
                    b"HTTP/1.1",
                ]
            ),
        ),
        max_size=8,
    )
)
def test_any_bytes_leave_the_port_as_it_was(parts):
    """Whatever a stranger sends, the next client is served, and nothing is logged as our error."""

    async def meet():
        async with serving() as port:
            client = await port.connect()
            for part in parts:
                client.writer.write(part)
                await asyncio.sleep(0)
            client.writer.transport.abort()
            consumer = await port.follow("/events/stream?last-seen=x")
            assert await port.post([item("last")]) == 200
            while (await consumer.ids(1)) != ["last"]:
                pass

    asyncio.run(meet())
