"""The body of a request while it comes: a few pieces at a time, as fast as whoever reads it."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from triplewire.gates.http.request import ClientGone

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

# What may have come and not been read; beyond, the socket is not read.
AHEAD_BYTES = 256 * 1024


class Body:
    """One request's body; `transport` is held up while too much of it waits."""

    __slots__ = ("_ahead", "_gone", "_parts", "_transport", "_waiter", "complete", "size")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._parts: deque[bytes] = deque()
        self._ahead = 0
        self._gone = False
        self._waiter: asyncio.Future[None] | None = None
        self.complete = False
        self.size = 0  # of what has come

    def came(self, data: bytes) -> None:
        """Some of it."""
        self._parts.append(data)
        self.size += len(data)
        self._ahead += len(data)
        if self._ahead > AHEAD_BYTES:
            self._transport.pause_reading()
        self._wake()

    def end(self, *, gone: bool = False) -> None:
        """All of it has come; or no more will, as the client has `gone`."""
        self._gone = gone and not self.complete
        self.complete = self.complete or not gone
        self._wake()

    async def pieces(self) -> AsyncIterator[bytes]:
        """As they come.

        Raises:
            ClientGone: before it was whole.
        """
        while True:
            while self._parts:
                part = self._parts.popleft()
                self._ahead -= len(part)
                if self._ahead <= AHEAD_BYTES and not self._gone:
                    self._transport.resume_reading()
                yield part
            if self._gone:
                raise ClientGone
            if self.complete:
                return
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
