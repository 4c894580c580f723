"""Acceptance: a stream costs nothing where nobody follows and nobody publishes it.  Counted on sockets, not by who is asked."""

from __future__ import annotations

import asyncio
import contextlib
import time

import httpx
import psutil
import pytest
from support.overlay import Overlay, Recorder, items, until
from support.resilience import either
from support.running_relay import RunningRelay
from support.running_tracker import RunningTracker

from triplewire.clients.streams import AsyncStreamConsumer

LINGER_S = 1.0
HEARTBEAT_S = 0.5
QUIET, LOUD = "quiet", "loud"


class CountingWay:
    """A port before another one: `size` is how many bytes went through, `seen` is what went away from the node behind it."""

    def __init__(self):
        self.to = ("", 0)
        self.size = 0
        self.seen = bytearray()
        self.connections = 0
        self._tasks = set()

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _pass(self, reader, writer):
        self._tasks.add(asyncio.current_task())
        self.connections += 1
        away = writer
        try:
            there, away = await asyncio.open_connection(*self.to)
            await asyncio.gather(self._pump(reader, away, None), self._pump(there, writer, self.seen))
        except OSError:
            pass  # nobody is there (any more)
        finally:
            for one in (away, writer):
                one.close()
                with contextlib.suppress(OSError):
                    await one.wait_closed()

    async def _pump(self, reader, writer, seen):
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                self.size += len(data)
                if seen is not None:
                    seen += data
                writer.write(data)
                await writer.drain()
            writer.write_eof()


class Site:
    """Nodes that follow both streams, and one relay, a process, that carries both, and whose links can be counted."""

    def __init__(self, url, overlay, relay, way):
        self.url = url
        self.overlay = overlay
        self.relay = relay
        self.way = way

    async def members(self, stream):
        """Of the stream, as the tracker has it."""
        async with httpx.AsyncClient() as http:
            answer = await http.get(f"{self.url}/topology/{stream}")
        return set(answer.json()["nodes"]) if answer.is_success else set()

    async def is_in(self, stream, *, within_s):
        """Wait until the relay is in it."""
        deadline = time.monotonic() + within_s
        while "z" not in await self.members(stream):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)

    async def is_out(self, stream, *, within_s):
        """Wait until the relay is not in it; after how long that was."""
        began = time.monotonic()
        while "z" in await self.members(stream):
            assert time.monotonic() - began < within_s
            await asyncio.sleep(0.02)
        return time.monotonic() - began

    async def publish(self, stream, count, size=1000):
        """At n00; waits until n01 has all of it."""
        sent = items(count, f"{stream}-marked", size)
        node, sink = self.overlay.nodes["n00"], self.overlay.more[stream, "n01"]
        await node.ready(stream)
        for each in sent:
            await node.publish(stream, [each])
        await until(lambda: sent[-1].event_id in sink.times)
        return [each.event_id for each in sent]


@pytest.fixture(scope="module")
def running():
    """A tracker, a process."""
    settings = ("tracker.collect_s=0", "tracker.improve_s=0", f"tracker.heartbeat_s={HEARTBEAT_S}")
    found = RunningTracker.start(*(part for setting in settings for part in ("--set", setting)))
    yield found.http
    found.stop()


@pytest.fixture
async def site(running):
    """Four nodes in both streams, and the relay, in none."""
    async with CountingWay() as way, Overlay(running) as overlay:
        overlay.more = {}
        for number in range(4):
            name = f"n{number:02d}"
            node = await overlay.add(name, follows=False)
            for stream in (QUIET, LOUD):
                sink = overlay.more[stream, name] = Recorder()
                node.carry(stream, sink)
                node.follow(stream, 1)
        # Others dial it, as its id is the greatest, and find it behind the way
        settings = (
            f"relay.linger_s={LINGER_S}",
            "relay.node=z",
            f"relay.links_at=ws://127.0.0.1:{way.port}/links",
        )
        arguments = ["--tracker", running, *(part for setting in settings for part in ("--set", setting))]
        relay = await asyncio.to_thread(RunningRelay.start, *arguments, streams=(QUIET, LOUD))
        try:
            way.to = ("127.0.0.1", _port(relay))
            yield Site(running, overlay, relay, way)
        finally:
            await asyncio.to_thread(relay.stop)


def _port(relay):
    """Where its links really are."""
    ports = {
        one.laddr.port
        for one in psutil.Process(relay.process.pid).net_connections()
        if one.status == "LISTEN"
    }
    return (ports - {int(relay.streams.rpartition(":")[2])}).pop()


@contextlib.asynccontextmanager
async def consumer(relay, stream):
    """One over HTTP; its items' ids."""
    got = []

    async def follow():
        async with AsyncStreamConsumer(f"{relay.streams}/{stream}") as consumer:
            async for item in consumer:
                got.append(item.event_id)  # noqa: PERF401 - each when it comes

    task = asyncio.create_task(follow())
    try:
        yield got
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_nothing_of_a_stream_comes_where_nobody_follows_it(site):
    """Not a byte while nobody follows anything there; and beside a stream that is followed none of one that is not."""
    await site.publish(LOUD, 50)
    assert await site.members(LOUD) == {"n00", "n01", "n02", "n03"}
    assert (site.way.connections, site.way.size) == (0, 0)
    async with consumer(site.relay, QUIET) as got:
        await site.is_in(QUIET, within_s=3)
        sent = await site.publish(QUIET, 20)
        await until(lambda: got[-1:] == sent[-1:])
        await asyncio.sleep(1.0)  # heads of what was quiet have been told
        before, began = site.way.size, time.monotonic()
        await site.publish(LOUD, either(200, 5000))
        took_s = time.monotonic() - began
        # Pings and pongs of 4 links, each 2 s; the stream would be 200 kB
        assert site.way.size - before < 1000 * (1 + took_s)
        assert got == sent
        assert b"quiet-marked" in site.way.seen  # as it passes on what it follows
        assert b"loud-marked" not in site.way.seen
        assert "z" not in await site.members(LOUD)


async def test_the_last_consumer_takes_the_relay_out_of_the_stream(site):
    """After the time that it lingers, and not before; then nothing comes any more, and another consumer brings it back."""
    async with consumer(site.relay, LOUD), consumer(site.relay, LOUD) as got:
        await site.is_in(LOUD, within_s=3)
        sent = await site.publish(LOUD, 20)
        await until(lambda: got[-1:] == sent[-1:])
        size = site.way.size
        assert size > 20_000
    took_s = await site.is_out(LOUD, within_s=LINGER_S + 2.0)
    print(f"out of the stream after {took_s:.2f} s")
    assert took_s > LINGER_S - 0.3
    await asyncio.sleep(0.2)  # what was under way
    before = site.way.size
    await site.publish(LOUD, 50, 10_000)
    assert site.way.size - before < 1000
    figures = await asyncio.to_thread(site.relay.figures)
    assert figures["triplewire_relay_streams"] == 0
    async with consumer(site.relay, LOUD) as got:
        await site.is_in(LOUD, within_s=3)
        sent = await site.publish(LOUD, 20)
        await until(lambda: got[-20:] == sent)
