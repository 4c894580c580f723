"""The body of a request, read while it comes."""

from __future__ import annotations

import asyncio

import pytest

from triplewire.gates.http.request import ClientGone
from triplewire.gates.stream.bodies import AHEAD_BYTES, Body


class Transport:
    """Counts what it is told."""

    reading = True

    def pause_reading(self):
        self.reading = False

    def resume_reading(self):
        self.reading = True


async def collected(body):
    return [piece async for piece in body.pieces()]


async def test_pieces_are_read_as_they_come():
    """Those that are there, and those to come, until the end."""
    body = Body(Transport())
    body.came(b"a")
    task = asyncio.create_task(collected(body))
    await asyncio.sleep(0)
    body.came(b"b")
    body.came(b"c")
    body.end()
    assert await task == [b"a", b"b", b"c"]


async def test_the_socket_waits_while_too_much_is_not_read():
    """And goes on when it was."""
    transport = Transport()
    body = Body(transport)
    body.came(bytes(AHEAD_BYTES))
    assert transport.reading
    body.came(b"1")
    assert not transport.reading
    body.end()
    assert sum(map(len, await collected(body))) == AHEAD_BYTES + 1
    assert transport.reading


async def test_a_client_that_goes_before_the_end():
    """Is told to whoever reads, behind what came."""
    body = Body(Transport())
    body.came(b"a")
    body.end(gone=True)
    pieces = body.pieces()
    assert await anext(pieces) == b"a"
    with pytest.raises(ClientGone):
        await anext(pieces)
    whole = Body(Transport())
    whole.end()
    whole.end(gone=True)
    assert await collected(whole) == []
