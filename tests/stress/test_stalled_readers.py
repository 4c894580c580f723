"""Readers that stall and wake again: what they missed is put together, nobody waits for them, and nothing is lost.

TRIPLEWIRE_STALL_S is how long they stall, TRIPLEWIRE_STALL_RATE how many updates a second there are meanwhile, where
the machine gives as many.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import TYPE_CHECKING, Any, Self

import pytest
from stress.peers import (
    Listener,
    Publisher,
    Watched,
    close_all,
    fold,
    handshake,
    open_listeners,
    plug,
    room_for,
    subscribe_frame,
    until,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.running import RunningBroker

pytestmark = [pytest.mark.xdist_group("stress-stalled")]

STALL_S = float(os.environ.get("TRIPLEWIRE_STALL_S", "4"))
RATE = float(os.environ.get("TRIPLEWIRE_STALL_RATE", "500"))
READERS, SENSORS = 100, 20
VALUES = "SELECT ?s ?v { ?s <urn:v> ?v }"
TEXT = "x" * 1000


class Sleeper:
    """A WebSocket that subscribes and reads nothing until it is woken."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.heard: list[dict[str, Any]] = []
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, url: str) -> Self:
        """Subscribe, and fall asleep at the first results."""
        plugged = plug(url, receive_buffer=16384)
        plugged.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=plugged, limit=16384)
        writer.write(handshake(url))
        await reader.readuntil(b"\r\n\r\n")
        writer.write(subscribe_frame(VALUES))
        self = cls(reader, writer)
        self.heard.append(await self._frame())
        return self

    def wake(self) -> None:
        """Read on."""
        self._reading = asyncio.create_task(self._read())

    async def close(self) -> None:
        """Hang up."""
        if self._reading is not None:
            self._reading.cancel()
        self._writer.close()
        await asyncio.gather(self._writer.wait_closed(), return_exceptions=True)

    async def _read(self) -> None:
        while True:
            self.heard.append(await self._frame())

    async def _frame(self) -> dict[str, Any]:
        first, length = await self._reader.readexactly(2)
        assert first == 0x81  # nothing but texts: this broker sends no pings
        if length > 125:
            length = int.from_bytes(await self._reader.readexactly(2 if length == 126 else 8))
        notification: dict[str, Any] = json.loads(await self._reader.readexactly(length))["notification"]
        return notification


def replace(number: int) -> str:
    """A new value for one sensor, with the time of its making."""
    sensor = f"<urn:s{number % SENSORS}>"
    return (
        f"DELETE {{ {sensor} <urn:v> ?o }} INSERT {{ {sensor} <urn:v> '{time.monotonic()} {TEXT}' }} "
        f"WHERE {{ OPTIONAL {{ {sensor} <urn:v> ?o }} }}"
    )


async def publish(publisher: Publisher, seconds: float) -> float:
    """Updates at RATE, or as many as the machine gives; how many a second there were."""
    began = time.monotonic()
    numbers = iter(range(10**9))
    sent = 0

    async def one() -> None:
        nonlocal sent
        while (now := time.monotonic() - began) < seconds:
            if sent > now * RATE:
                await asyncio.sleep(0.002)
                continue
            sent += 1
            await publisher.update(replace(next(numbers)))

    await asyncio.gather(*(one() for _ in range(8)))
    return sent / (time.monotonic() - began)


class Delays:
    """How long notifications take to a listener, from the making of their updates."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._seen = len(listener.heard)
        self.all: list[float] = []
        self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            now = time.monotonic()
            for heard in self._listener.heard[self._seen :]:
                for row in heard["addedResults"]["results"]["bindings"]:
                    self.all.append(now - float(row["v"]["value"].partition(" ")[0]))
            self._seen = len(self._listener.heard)
            await asyncio.sleep(0.001)

    def end(self) -> tuple[float, float]:
        """The median and the 99th percentile, in milliseconds."""
        self._task.cancel()
        self.all.sort()
        return self.all[len(self.all) // 2] * 1000, self.all[int(len(self.all) * 0.99)] * 1000


async def test_a_hundred_readers_that_stall_and_wake(start: Callable[..., RunningBroker]) -> None:
    """Others' delays stay what they were, memory is bounded, and each is told all in few messages when it wakes."""
    room_for(500)
    broker = start(
        "limits.outbox_messages=100", "websocket.ping_interval_s=0", f"limits.send_s={STALL_S + 60}"
    )
    watched = Watched(broker)
    async with Publisher(broker) as publisher:
        others = await open_listeners(broker.ws, 3)
        for other in others:
            await other.subscribe(VALUES)
        await publish(publisher, 1)  # warm
        delays = Delays(others[0])
        await publish(publisher, min(STALL_S, 4))
        alone = delays.end()

        sleepers = [await Sleeper.open(broker.ws) for _ in range(READERS)]
        before, most = watched.rss, 0
        delays = Delays(others[0])
        publishing = asyncio.create_task(publish(publisher, STALL_S))
        halfway = 0
        while not publishing.done():
            most = max(most, watched.rss - before)
            await asyncio.sleep(0.05)
            if not halfway and len(delays.all) > 0.5 * RATE * STALL_S:
                halfway = most
        rate, stalled = await publishing, delays.end()

        now = await publisher.rows(VALUES)
        for sleeper in sleepers:
            sleeper.wake()
        began = time.monotonic()
        await until(lambda: all(list(fold(s.heard).values()) == [now] for s in sleepers[-3:]), 60)
        await until(lambda: all(list(fold(s.heard).values()) == [now] for s in sleepers), 60)
        woken = time.monotonic() - began
        heard = [len(sleeper.heard) for sleeper in sleepers]
        updates = len(others[0].heard) - 1
        print(
            f"{READERS} readers stalled {STALL_S:.0f} s under {rate:.0f} updates/s: rss +{most / 1e6:.0f} MB "
            f"(halfway +{halfway / 1e6:.0f}), others' median {alone[0]:.1f} -> {stalled[0]:.1f} ms, "
            f"p99 {alone[1]:.1f} -> {stalled[1]:.1f} ms; awake after {woken:.1f} s, "
            f"{min(heard)} to {max(heard)} messages for {updates} updates"
        )
        assert max(heard) < updates
        assert most < 150_000_000
        assert stalled[1] < 1000
        await publisher.holds(subscriptions=READERS + 3, sockets=READERS + 3)

        await publisher.update(replace(0))  # awake, each change is a message again
        await until(lambda: all(len(s.heard) == n + 1 for s, n in zip(sleepers, heard, strict=True)))
        for other in others:
            assert list(fold(other.heard).values()) == [await publisher.rows(VALUES)]
        await asyncio.gather(*(sleeper.close() for sleeper in sleepers))
        await close_all(others)
        await publisher.holds(subscriptions=0, sockets=0)
