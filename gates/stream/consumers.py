"""Connections that follow a stream, and those of them who get the same bytes.

There can be tens of thousands, so a consumer is a few words of memory beside its transport: no task, no timer, no
buffer, no parser.  A batch is one bytes object that all sockets are given.  What a socket does not take is its
transport's, which says so (`pause_writing`): from then on this consumer is one of the slow, who are written to by their
transports, and whose unread bytes are looked at before each batch, until it has read everything.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Self

from websockets.frames import CloseCode

from .responses import LAST_CHUNK

if TYPE_CHECKING:
    from .lanes import Lane


class Consumer(asyncio.Protocol):
    """One that follows.  It is live in an `audience`, or catching up: then `position` is what it has got whole."""

    __slots__ = ("audience", "descriptor", "lane", "paused", "position", "transport")

    def __init__(self, transport: asyncio.Transport, lane: Lane, position: int) -> None:
        self.transport = transport
        self.descriptor = _descriptor(transport)
        self.lane = lane
        self.position = position
        self.audience: Audience | None = None
        self.paused = transport.get_write_buffer_size() > 0

    def pause_writing(self) -> None:
        """There are bytes that it has not read."""
        self.paused = True
        if self.audience is not None:
            self.audience.moved(self)

    def resume_writing(self) -> None:
        """It has read all."""
        self.paused = False
        if self.audience is not None:
            self.audience.moved(self)
        else:
            self.lane.catch_up(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - however it ended
        """It has gone: noticed at once, whether something is sent or not."""
        self.lane.remove(self)

    def data_received(self, data: bytes) -> None:
        """It has nothing to say any more; whatever it does say is not kept."""

    def end(self) -> None:
        """End its response, as its token is not good any more: it comes back, if it may, with what it saw last."""
        self.lane.end_one(self, CloseCode.POLICY_VIOLATION)

    def say_goodbye(self, code: CloseCode) -> None:  # noqa: ARG002 - HTTP has no word for why
        """The end of its response, as it should be."""
        if self.lane.key.framed:
            self.transport.write(LAST_CHUNK)
        self.transport.close()

    def dismiss(self) -> None:
        """It is too slow, and is cut."""
        self.transport.abort()


class Audience:
    """Consumers who get the same bytes: those who have read all, by their sockets, and the slow.

    Where a transport has nothing waiting, the socket can be written to past it, which saves a third of our part of the
    cost: with tens of thousands of consumers each object that is not touched counts.  A loop tells its protocol that the
    connection is lost before it closes the socket, so a descriptor in here is never another connection's.
    """

    __slots__ = ("direct", "ready", "slow")

    def __init__(self) -> None:
        self.direct: dict[int, Consumer] = {}
        self.ready: dict[Consumer, asyncio.Transport] = {}  # those without a socket of their own: TLS
        self.slow: dict[Consumer, asyncio.Transport] = {}

    def __len__(self) -> int:
        return len(self.direct) + len(self.ready) + len(self.slow)

    def all(self) -> list[Consumer]:
        """Everyone."""
        return [*self.direct.values(), *self.ready, *self.slow]

    def add(self, consumer: Consumer) -> None:
        """It is live from the next bytes on."""
        consumer.audience = self
        if consumer.paused:
            self.slow[consumer] = consumer.transport
        elif consumer.descriptor >= 0:
            self.direct[consumer.descriptor] = consumer
        else:
            self.ready[consumer] = consumer.transport

    def remove(self, consumer: Consumer) -> None:
        """It is not sent any more."""
        consumer.audience = None
        if self.direct.get(consumer.descriptor) is consumer:
            del self.direct[consumer.descriptor]
        self.ready.pop(consumer, None)
        self.slow.pop(consumer, None)

    def take(self, others: Self) -> None:
        """Have the others' consumers as well; they are left without."""
        for consumer in others.all():
            consumer.audience = self
        for mine, theirs in ((self.ready, others.ready), (self.slow, others.slow)):
            mine.update(theirs)
            theirs.clear()
        self.direct.update(others.direct)
        others.direct.clear()

    def moved(self, consumer: Consumer) -> None:
        """It has bytes unread now, or has read all."""
        self.remove(consumer)
        self.add(consumer)

    def write(self, data: bytes, unread_bytes: int) -> list[Consumer]:
        """Give everyone the same object, but those who have more unread: they are what is returned."""
        # Whoever turns out to be slow changes sides meanwhile, and must not be given the bytes on both.
        slow = tuple(self.slow.items())
        for transport in tuple(self.ready.values()):
            transport.write(data)
        for descriptor, size in self._written(data):
            _finish(self.direct[descriptor].transport, data, size)
        behind = []
        for consumer, transport in slow:
            if transport.get_write_buffer_size() > unread_bytes:
                behind.append(consumer)
            else:
                transport.write(data)
        return behind

    def _written(self, data: bytes) -> list[tuple[int, int]]:
        """Write to all sockets; those that did not take all of it, and how much they did: -1 of one that is broken."""
        write, whole, short = os.write, len(data), []
        for descriptor in self.direct:
            try:
                size = write(descriptor, data)
            except BlockingIOError:
                size = 0
            except OSError:
                size = -1
            if size != whole:
                short.append((descriptor, size))
        return short


def _finish(transport: asyncio.Transport, data: bytes, size: int) -> None:
    if size < 0:
        transport.abort()
    else:
        transport.write(data[size:])


def _descriptor(transport: asyncio.Transport) -> int:
    """The socket's, where what is written there is what is sent; -1 over TLS."""
    opened = transport.get_extra_info("socket")
    if opened is None or transport.get_extra_info("ssl_object") is not None:
        return -1
    return int(opened.fileno())
