import asyncio
from contextlib import asynccontextmanager, suppress

import pytest

from triplewire.broker.errors import BrokerMisbehaved, ConnectionLost
from triplewire.clients.streams import StreamSettings
from triplewire.clients.streams.chunked_post import Answered, ChunkedPost

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: b\r\n\r\nok"


@asynccontextmanager
async def server(work):
    """A server that does `work(reader, writer)` with each connection."""

    async def connected(reader, writer):
        with suppress(OSError, asyncio.IncompleteReadError):
            await work(reader, writer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/events/publish-cont?a=b"


@asynccontextmanager
async def posting(work):
    async with server(work) as url:
        post = await ChunkedPost.open(url, {"X-Token": "t"}, StreamSettings())
        try:
            yield post
        finally:
            await post.close()


async def test_head_and_chunks_are_sent_as_they_come():
    """With their lengths, and the last one when it ends."""
    heard = []

    async def work(reader, writer):
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        heard.append(await reader.readexactly(len(b"3\r\none\r\n")))
        heard.append(await reader.readuntil(b"0\r\n\r\n"))
        writer.write(ANSWER)

    async with posting(work) as post:
        await post.send(b"one")
        await asyncio.sleep(0.01)
        assert heard[1:] == [b"3\r\none\r\n"]
        await post.send(b"0123456789abcdefg")
        reply = await post.finish(5)

    head = heard[0].split(b"\r\n")
    assert head[0] == b"POST /events/publish-cont?a=b HTTP/1.1"
    assert {b"Transfer-Encoding: chunked", b"X-Token: t"} < set(head)
    assert heard[2] == b"11\r\n0123456789abcdefg\r\n0\r\n\r\n"
    assert (reply.status, reply.headers["x-a"], reply.body) == (200, "b", b"ok")


async def sending(post):
    for _ in range(1000):
        await post.send(b"x" * 1000)
        await asyncio.sleep(0.001)


async def test_an_answer_before_the_end_stops_the_sending():
    """Also where the server closes the connection behind it."""

    async def work(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    async with posting(work) as post:
        with pytest.raises(Answered):
            await sending(post)
        assert (await post.finish(5)).status == 401


async def test_a_connection_that_breaks_is_a_loss():
    """In the body, and before the answer."""

    async def work(reader, writer):
        await reader.readuntil(b"\r\n\r\n")

    async with posting(work) as post:
        with pytest.raises(ConnectionLost):
            await post.finish(5)


async def test_no_answer_in_time_is_a_loss():
    """The server may be stuck."""

    async def work(reader, writer):
        await reader.read()

    async with posting(work) as post:
        with pytest.raises(ConnectionLost, match="in time"):
            await post.finish(0.02)


@pytest.mark.parametrize("said", [b"SSH-2.0\r\n\r\n", b"HTTP/1.1 two\r\n\r\n"])
async def test_what_is_no_http_is_told(said):
    """It is no loss: another time would not be better."""

    async def work(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        await reader.read()

    async with posting(work) as post:
        with pytest.raises(BrokerMisbehaved, match="did not speak HTTP"):
            await post.finish(5)


async def test_an_answer_without_a_length_ends_with_the_connection():
    """As HTTP/1.0 has it."""

    async def work(reader, writer):
        await reader.readuntil(b"0\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nwell")

    async with posting(work) as post:
        reply = await post.finish(5)
    assert (reply.status, reply.body) == (200, b"well")


async def test_an_endless_answer_is_cut():
    """The status is what counts."""

    async def work(reader, writer):
        await reader.readuntil(b"0\r\n\r\n")
        writer.write(b"HTTP/1.0 500 No\r\n\r\n")
        while True:
            writer.write(b"x" * 10_000)
            await writer.drain()

    async with posting(work) as post:
        reply = await post.finish(5)
    assert reply.status == 500
    assert len(reply.body) <= 64 * 1024


async def test_nobody_there_is_told_with_the_url():
    """As by every client."""
    with pytest.raises(ConnectionLost, match=r"can't reach http://127\.0\.0\.1:1/e/publish-cont"):
        await ChunkedPost.open("http://127.0.0.1:1/e/publish-cont", {}, StreamSettings())
