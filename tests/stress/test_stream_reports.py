"""What others' users have reported of their streaming servers, against this stream port: each must not happen here.

Each test is named by the symptom; the report is in its docstring.  They are shortened to seconds: TRIPLEWIRE_REPORTS
multiplies their lengths and counts where more of it could show more (15 makes minutes of them, as in the reports).
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import zlib
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

import httpx
import pytest
from stress.peers import Watched, address, handshake, plug, read_until, reset, room_for, until
from websockets.asyncio.client import connect

from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import FOLLOWED, Item, encode_item

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from support.running import RunningBroker

pytestmark = [pytest.mark.xdist_group("stress-stream-reports")]

LONGER = float(os.environ.get("TRIPLEWIRE_REPORTS", "1"))
MIB = 1 << 20
ITEMS = {"Content-Type": "application/ztreamy-event"}


def item(name: object, size: int = 0) -> Item:
    """One whose body begins with the time when it was made."""
    return Item(str(name), "here", "text/plain", f"{time.time()} ".encode() + b"x" * size)


class Publisher:
    """Posts items, and reads the broker's own figures."""

    def __init__(self, broker: RunningBroker) -> None:
        self.url = f"{broker.streams}/events"
        self._health = f"{broker.http}/health"
        self._client = httpx.AsyncClient(timeout=30, trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def post(self, *items: Item) -> int:
        """The status."""
        body = b"".join(map(encode_item, items))
        return (await self._client.post(f"{self.url}/publish", content=body, headers=ITEMS)).status_code

    async def publish(self, *items: Item) -> None:
        """Items that must be taken."""
        assert await self.post(*items) == 200

    async def warm(self) -> None:
        """Have all the connections that this object needs."""
        await self.publish(item("warm"))
        await self.health()

    async def health(self) -> dict[str, Any]:
        """All of it."""
        answer = await self._client.get(self._health)
        assert answer.status_code == 200
        found: dict[str, Any] = answer.json()
        return found

    async def consumers(self, count: int, timeout_s: float = 20.0) -> None:
        """Wait until so many follow."""
        deadline = time.monotonic() + timeout_s
        while (there := (await self.health())["streams"]["consumers"]) != count:
            assert time.monotonic() < deadline, f"{there} follow, and not {count}"
            await asyncio.sleep(0.05)


class Reader:
    """A consumer that reads all the time, and notes how long each item was on its way."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, deflate: bool) -> None:
        self.ids: list[str] = []
        self.delays: list[float] = []
        self.ended = False
        self._reader, self._writer = reader, writer
        self._inflating = zlib.decompressobj() if deflate else None
        self._task = asyncio.create_task(self._read())

    @classmethod
    async def follow(cls, url: str, query: str = "") -> Self:
        """Connect; a URL that ends with /compressed is inflated piece by piece."""
        reader, writer = await asyncio.open_connection(*address(url))
        path = url.partition("//")[2].partition("/")[2]
        writer.write(f"GET /{path}{query} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        return cls(reader, writer, deflate=path.endswith("compressed"))

    async def close(self) -> None:
        """Hang up."""
        self._task.cancel()
        self._writer.close()
        await asyncio.gather(self._task, self._writer.wait_closed(), return_exceptions=True)

    async def _read(self) -> None:
        items = ItemReader(FOLLOWED)
        while size := int(await self._reader.readline() or b"0", 16):
            data = (await self._reader.readexactly(size + 2))[:-2]
            for each in items.feed(self._inflating.decompress(data) if self._inflating else data):
                if each.command is None:
                    self.ids.append(each.event_id)
                    self.delays.append(time.time() - float(each.body.partition(b" ")[0]))
        self.ended = True


@asynccontextmanager
async def readers(url: str, *paths: str) -> AsyncIterator[list[Reader]]:
    """Of these paths, until the block ends."""
    there = [await Reader.follow(f"{url}/{path}") for path in paths]
    try:
        yield there
    finally:
        await asyncio.gather(*(each.close() for each in there))


def percentile(delays: list[float], share: float) -> float:
    return sorted(delays)[int(len(delays) * share)]


async def test_memory_grows_by_readers_that_stall(start: Callable[..., RunningBroker]) -> None:
    """opencode#31923, starlette#1012, centrifuge#255, ws#1620: their buffers grew to gigabytes, and all others waited.

    60 s in full.  Each gets more than the kernel holds for it; they are bounded by stream.unread_bytes.
    """
    broker = start("stream.unread_bytes=65536", "streams.events.history_bytes=4194304")
    count, seconds = 40, 4 * LONGER
    room_for(1000)
    async with Publisher(broker) as publisher, readers(publisher.url, *["stream", "compressed"] * 10) as good:
        stalled = [plug(broker.streams, receive_buffer=16384) for _ in range(count)]
        for plugged in stalled:
            plugged.sendall(b"GET /events/stream HTTP/1.1\r\nHost: x\r\n\r\n")
        await publisher.consumers(count + len(good))
        await publisher.publish(item("first", 32 * 1024))
        before, until_s, sent = Watched(broker).rss, time.monotonic() + seconds, 1
        while time.monotonic() < until_s:
            await publisher.publish(*(item(sent + place, 32 * 1024) for place in range(5)))
            sent += 5
            await asyncio.sleep(0.02)
        await until(lambda: all(len(each.ids) == sent for each in good))
        assert sent * 32 * 1024 > 8 * MIB, "the machine was too slow for this to say anything"
        # The history, 64 KiB of each that stalls, and what allocators make of that; unbounded it is 300 MiB and more
        assert Watched(broker).rss - before < 4 * MIB + count * 2 * 65536 + 40 * MIB
        assert percentile([delay for each in good for delay in each.delays], 0.99) < 1.0
        for plugged in stalled:
            plugged.close()
        await publisher.consumers(len(good))


async def test_slots_leak_when_clients_leave_before_the_response(start: Callable[..., RunningBroker]) -> None:
    """fastapi#1342, starlette#1775, OSMO PR#1317, stemdeck#513: who resets the connection early was kept for ever.

    10,000 in full.  Also as WebSockets, and half of a request whose client is never heard of again.
    """
    broker = start("stream.header_timeout_s=1")
    url = f"{broker.streams}/events/stream"
    watched = Watched(broker)
    async with Publisher(broker) as publisher:
        await publisher.warm()
        before = watched.descriptors
        plain = b"GET /events/compressed?last-seen=x HTTP/1.1\r\nHost: x\r\n\r\n"
        for number in range(int(5000 * LONGER)):
            plugged = plug(url)
            plugged.sendall((plain, handshake(url), plain[:20])[number % 3])
            reset(plugged)
            if number % 200 == 0:
                await publisher.publish(item(number))
        half = [plug(url) for _ in range(50)]
        for plugged in half:
            plugged.sendall(plain[:20])
        await publisher.consumers(0)
        await watched.comes_back_to(before)
        for plugged in half:
            plugged.close()
        async with readers(publisher.url, "stream") as (one,):
            await publisher.publish(item("after"))
            await until(lambda: one.ids == ["after"])


async def test_memory_grows_with_pings(start: Callable[..., RunningBroker]) -> None:
    """nchan#181, #675: each ping to each subscriber left something behind.

    5,000 subscribers for ten minutes in full.
    """
    broker = start("stream.silence_s=0.05")
    count = 300
    room_for(2 * count + 200)
    watched = Watched(broker)
    async with Publisher(broker) as publisher, AsyncExitStack() as stack:
        url = publisher.url.replace("http", "ws")
        paths = ["stream", "compressed", "priority"]
        await stack.enter_async_context(
            readers(publisher.url, *(paths[number % 3] for number in range(count - 50)))
        )
        for _ in range(50):
            await stack.enter_async_context(connect(f"{url}/stream", compression=None, proxy=None))
        await publisher.consumers(count)
        await asyncio.sleep(2)  # 40 pings: what is kept of each consumer is there by then
        before = watched.rss
        await asyncio.sleep(4 * LONGER)
        assert watched.rss - before < 2 * MIB  # 80 pings to each of 300: 88 bytes lost by each would show
        await publisher.consumers(count)


async def test_memory_grows_by_publishing_to_nobody(start: Callable[..., RunningBroker]) -> None:
    """nchan#623, #529: messages without subscribers piled up.

    1,000,000 in full; what is kept is bounded by the history.
    """
    broker = start("streams.events.history_items=1000")
    watched = Watched(broker)
    async with Publisher(broker) as publisher:
        levels = []
        for round_ in range(int(100 * LONGER)):
            await publisher.publish(*(item(f"{round_}-{number}", 200) for number in range(1000)))
            levels.append(watched.rss)
        assert (await publisher.health())["streams"]["kept"] == 1000
        assert (await publisher.health())["streams"]["taken"] == len(levels) * 1000
        # 80,000 items of 300 bytes would be 24 MB
        assert levels[-1] - levels[len(levels) // 5] < 8 * MIB


async def test_delivery_is_erratic_after_a_limit_was_hit(start: Callable[..., RunningBroker]) -> None:
    """nchan#364: for minutes after the memory limit, some messages came and some did not.  Here: clean 503 and 413."""
    broker = start("stream.consumers=30", "stream.body_bytes=100000", "streams.events.history_bytes=1000000")
    async with Publisher(broker) as publisher:
        async with readers(publisher.url, *["stream"] * 30) as there:
            refused = []
            for _ in range(20):
                plugged = plug(broker.streams)
                plugged.sendall(b"GET /events/stream HTTP/1.1\r\nHost: x\r\n\r\n")
                refused.append(read_until(plugged, b"\r\n\r\n"))
                plugged.close()
                assert await publisher.post(item("large", 200_000)) == 413
            assert all(head.startswith(b"HTTP/1.1 503 ") and b"\r\nRetry-After: " in head for head in refused)
            await publisher.publish(item("through"))
            await until(lambda: all(each.ids == ["through"] for each in there), 2)
        await publisher.consumers(0)
        async with readers(publisher.url, *["stream", "compressed"] * 15) as again:
            for number in range(50):
                await publisher.publish(item(number, 50_000))
            expected = [str(number) for number in range(50)]
            await until(lambda: all(each.ids == expected for each in again), 10)


async def test_health_is_well_while_nothing_is_delivered(start: Callable[..., RunningBroker]) -> None:
    """mercure#758: /health said 200 while publishing hung.  An item that is published beside it, under load, arrives."""
    broker = start()
    async with Publisher(broker) as publisher, Publisher(broker) as other, AsyncExitStack() as stack:
        await stack.enter_async_context(readers(publisher.url, *["stream", "compressed", "priority"] * 20))
        (probe,) = await stack.enter_async_context(readers(publisher.url, "stream?source=probe"))
        loading = True

        async def load() -> None:
            number = 0
            while loading:
                await other.publish(*(item(f"load-{number + place}", 500) for place in range(10)))
                number += 10

        task = asyncio.create_task(load())
        slowest, until_s, probes = 0.0, time.monotonic() + 4 * LONGER, 0
        while time.monotonic() < until_s:
            began = time.monotonic()
            await publisher.publish(
                Item(f"probe-{probes}", "probe", "text/plain", f"{time.time()} ".encode())
            )
            probes += 1
            await until(lambda: len(probe.ids) == probes, 10)  # noqa: B023 - waited for here
            assert (await publisher.health())["status"] == "ok"
            slowest = max(slowest, time.monotonic() - began)
            await asyncio.sleep(0.05)
        loading = False
        await task
        assert probe.ids == [f"probe-{number}" for number in range(probes)]
        assert slowest < 3.0


async def test_idle_connections_are_closed(start: Callable[..., RunningBroker]) -> None:
    """mercure#464, #526, uvicorn#1609, websockets#823: a stream on which nothing happens ended after 40 s or 10 min.

    15 minutes in full.  All the port's patience with those who say nothing is over several times here.
    """
    broker = start(
        "stream.keep_alive_s=0.4", "stream.header_timeout_s=0.4", "stream.body_timeout_s=0.4", "stream.silence_s=0.5",
        "limits.send_s=0.4",
    )  # fmt: skip
    async with (
        Publisher(broker) as publisher,
        readers(publisher.url, "stream", "compressed", "priority") as there,
        connect(f"{publisher.url.replace('http', 'ws')}/stream", proxy=None) as socket,
        httpx.AsyncClient(timeout=None, trust_env=False) as client,
    ):
        poll = asyncio.create_task(client.get(f"{publisher.url}/long-polling"))
        await publisher.consumers(4)
        await asyncio.sleep(3 * LONGER)
        assert not any(each.ended for each in there)
        await publisher.publish(item("next"))
        await until(lambda: all(each.ids == ["next"] for each in there), 2)
        assert json.loads(await asyncio.wait_for(socket.recv(), 2))["Event-Id"] == "next"
        assert b"Event-Id: next" in (await asyncio.wait_for(poll, 2)).content


STOPPED = """
import contextlib, socket, sys
plugged = socket.create_connection((sys.argv[1], int(sys.argv[2])))
plugged.sendall(b"GET /events/stream HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
print(len(plugged.recv(1000)), flush=True)
with contextlib.suppress(OSError):
    while plugged.recv(65536):
        pass
"""


async def test_a_client_that_is_stopped_stays_for_ever(start: Callable[..., RunningBroker]) -> None:
    """pipecat#5789: the peer's process was stopped, and nobody was told.  It is gone after limits.send_s.

    Its own system still acknowledges, so the connection is well; it takes nothing, so it is not.
    """
    broker = start("limits.send_s=2", "stream.unread_bytes=65536")
    watched = Watched(broker)
    async with Publisher(broker) as publisher:
        await publisher.warm()
        before = watched.descriptors
        client = subprocess.Popen(  # noqa: ASYNC220 - our own program, at once there
            [sys.executable, "-c", STOPPED, *map(str, address(broker.streams))], stdout=subprocess.PIPE
        )
        try:
            assert client.stdout is not None
            assert client.stdout.readline()
            await publisher.consumers(1)
            client.send_signal(signal.SIGSTOP)
            for number in range(40):
                await publisher.publish(item(number, 500_000))
            stalled = time.monotonic()
            await publisher.consumers(0, timeout_s=10)
            assert time.monotonic() - stalled < 8
            await watched.comes_back_to(before)
        finally:
            client.send_signal(signal.SIGCONT)
            client.wait(10)
            client.stdout.close()


async def test_connections_that_say_nothing_use_up_the_descriptors(
    start: Callable[..., RunningBroker],
) -> None:
    """uvicorn#1192, socketio#83, faye-websocket-node#19: silent and half-closed ones stayed until EMFILE.

    5,000 in full, and more at a time.
    """
    broker = start("stream.header_timeout_s=2")
    count = 3000
    room_for(count + 500)
    watched = Watched(broker)
    async with Publisher(broker) as publisher:
        await publisher.warm()
        before = most = watched.descriptors
        with ExitStack() as plugs:
            for number in range(count):
                plugged = plugs.enter_context(plug(broker.streams))
                if number % 3 == 0:
                    plugged.close()  # those are CLOSE_WAIT where nobody looks
                if number % 50 == 0:  # the first have been hung up on before the last are there
                    most = max(most, watched.descriptors)
            assert most > before + 500
            await publisher.publish(item("meanwhile"))
            await watched.comes_back_to(before)
            assert watched.waiting_to_close == 0


async def test_events_are_late_when_compressed(start: Callable[..., RunningBroker]) -> None:
    """jersey#3309, jetty#4317, starlette PR#2753, actix#3032: the compressor kept them until its buffer was full."""
    broker = start()
    async with (
        Publisher(broker) as publisher,
        readers(publisher.url, "stream", "compressed") as (plain, compressed),
    ):
        for number in range(30):
            await publisher.publish(item(number))
            await until(lambda: len(plain.ids) == len(compressed.ids) == number + 1, 2)  # noqa: B023
        assert percentile(compressed.delays, 0.5) < percentile(plain.delays, 0.5) + 0.05
    settings = ("streams.events.window_s=0.2", "streams.events.window_most_s=0.2")
    broker = start(*settings)
    async with Publisher(broker) as publisher, readers(publisher.url, "compressed") as (windowed,):
        for number in range(10):
            await publisher.publish(item(number))
            await until(lambda: len(windowed.ids) == number + 1, 2)  # noqa: B023
        assert max(windowed.delays) < 1.0, "a window, and what the machine adds"


async def test_who_comes_back_too_late_misses_some_or_has_all_again(
    start: Callable[..., RunningBroker],
) -> None:
    """mercure#354, #586, centrifugo#165, #798: an id that is not kept any more began at the wrong place.

    What is known is gone on from exactly once; what is not gives all that is kept (facts 1.4), which our client tells
    from a loss by the id that it does not see again.
    """
    broker = start("streams.events.history_items=10")
    async with Publisher(broker) as publisher:
        await publisher.publish(*(item(number) for number in range(30)))
        for seen, first in (("25", 26), ("19", 20), ("5", 20), ("29", 30), ("never", 20)):
            reader = await Reader.follow(f"{publisher.url}/stream", f"?last-seen={seen}")
            expected = [str(number) for number in range(first, 30)]
            await until(lambda: len(reader.ids) >= len(expected), 5)  # noqa: B023
            marker = f"behind {seen}"
            await publisher.publish(item(marker))
            await until(lambda: reader.ids[-1:] == [marker], 5)  # noqa: B023
            kept = [name for name in reader.ids if not name.startswith("behind")]
            # each marker has pushed the oldest out of the history
            assert kept == [name for name in expected if name in kept]
            assert kept[-1:] == expected[-1:]
            assert len(reader.ids) == len(set(reader.ids))
            await reader.close()
