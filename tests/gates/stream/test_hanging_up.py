"""The last words arrive, and a connection that is gone does no harm."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct

from triplewire.gates.stream.hanging_up import hang_up

from .serving import on_uvloop, until


class Ending(asyncio.Protocol):
    """Says a word, and hangs up while the client's are unread; `reset` waits for the client's reset first."""

    lost = None
    transport = None

    def connection_made(self, transport):
        self.transport = transport
        self.lost = asyncio.get_running_loop().create_future()

    def connection_lost(self, exc):
        self.lost.set_result(exc)


@contextlib.asynccontextmanager
async def connected():
    """Both ends: our protocol, and the client's socket."""
    made = []

    def make():
        made.append(Ending())
        return made[-1]

    server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
    with contextlib.closing(socket.create_connection(server.sockets[0].getsockname())) as client:
        await until(lambda: made and made[0].transport is not None)
        yield made[0], client
        server.close()


async def last_words():
    async with connected() as (ending, client):
        client.sendall(b"unread" * 1000)
        ending.transport.write(b"bye")
        hang_up(ending.transport)
        client.settimeout(5)
        assert await asyncio.to_thread(client.recv, 10) == b"bye"
        assert await asyncio.to_thread(client.recv, 10) == b""
        client.close()
        await asyncio.wait_for(ending.lost, 5)


async def gone_already():
    async with connected() as (ending, client):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        hang_up(ending.transport)  # before the loop has looked
        await asyncio.wait_for(ending.lost, 5)


async def test_the_last_words_arrive():
    """On asyncio's own loop."""
    await last_words()


@on_uvloop
async def test_the_last_words_arrive_on_the_broker_s_loop():
    """On uvloop."""
    await last_words()


async def test_one_that_was_reset_is_gone():
    """Its error is nobody's."""
    await gone_already()


@on_uvloop
async def test_one_that_was_reset_is_gone_on_the_broker_s_loop():
    """The same."""
    await gone_already()


class Secure:
    """A transport over TLS."""

    closed = False

    def can_write_eof(self):
        return False

    def close(self):
        self.closed = True


def test_over_tls_it_is_closed():
    """There is no half of it."""
    transport = Secure()
    hang_up(transport)
    assert transport.closed
