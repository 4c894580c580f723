"""The network, and what is told of it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections import defaultdict
from typing import TYPE_CHECKING

from triplewire.broker import config, relaying, tracker
from triplewire.clients.streams import AsyncStreamConsumer, AsyncStreamPublisher, Item, new_item

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

STREAM = "news"
REGIONS = ("Dublin", "Virginia", "Tokyo", "Sydney")
PATIENCE_S = 15.0  # for one item, and for everybody to be there
_LOOK_S = 0.05


class Network:
    """A tracker at `port` and `relays`, on free ports of this machine; `url` and `streams` once they run."""

    def __init__(self, relays: int, degree: int, port: int) -> None:
        self.url = ""
        self.streams: dict[str, str] = {}  # where each relay has the stream, by its name
        self._relays = relays
        # Nobody was here before: there is nothing to wait for
        self._tracker = [f"tracker.port={port}", f"tracker.degree={degree}", "tracker.collect_s=0"]

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """All of it, until the block ends.

        Raises:
            OSError: the tracker's port can't be opened.
        """
        async with contextlib.AsyncExitStack() as stack:
            tracking = await stack.enter_async_context(tracker.running(_config(self._tracker)))
            self.url = tracking.url
            for number in range(self._relays):
                name = f"relay-{number + 1:02}"
                settings = [
                    f"relay.trackers={self.url}",
                    f"relay.node={name}",
                    f"relay.region={REGIONS[number % len(REGIONS)]}",
                    "relay.port=0",
                    "stream.port=0",
                    f"streams.{STREAM}.overlay=true",
                ]
                relay = await stack.enter_async_context(relaying.running(_config(settings)))
                self.streams[name] = f"http://{relay.places.stream}/{STREAM}"
            yield


class Arrivals:
    """When each item came to whom, by `time.perf_counter()`."""

    def __init__(self) -> None:
        self.of: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self._news = asyncio.Event()

    async def follow(self, name: str, url: str) -> None:
        """Follow at one relay, until cancelled."""
        async with AsyncStreamConsumer(url) as consumer:
            async for item in consumer:
                self.of[item.event_id][name] = time.perf_counter()
                self._news.set()

    async def everywhere(self, event_id: str, count: int) -> None:
        """Until it has come to so many; raises TimeoutError where that takes too long."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.of[event_id]) < count:
                self._news.clear()
                await self._news.wait()


async def shown(network: Network, items: int, pause_s: float) -> int:
    """Run it, publish `items` (0: without end), and tell how each walked; the exit code."""
    async with network.running(), asyncio.TaskGroup() as tasks:
        print(f"tracker    {network.url}/   (the picture)")
        count = len(network.streams)
        first, url = next(iter(network.streams.items()))
        print(f"relays     {count}; published at {first}, which is {url}", flush=True)
        arrivals = Arrivals()
        following = [tasks.create_task(arrivals.follow(name, at)) for name, at in network.streams.items()]
        try:
            return await _published(url, arrivals, count, items, pause_s)
        finally:
            for task in following:
                task.cancel()


async def _published(url: str, arrivals: Arrivals, count: int, items: int, pause_s: float) -> int:
    async with AsyncStreamPublisher(url) as publisher:
        await _met(publisher, arrivals, count)
        for number in itertools.count(1) if not items else range(1, items + 1):
            item = _item(f"Item {number}")
            began = time.perf_counter()
            await publisher.publish(item)
            try:
                await arrivals.everywhere(item.event_id, count)
            except TimeoutError:
                print(f"item {number:<5} at {len(arrivals.of[item.event_id])} of {count} relays only")
                return 1
            came = sorted(arrivals.of.pop(item.event_id).values())
            half, last = (1000 * (moment - began) for moment in (came[count // 2], came[-1]))
            print(
                f"item {number:<5} at half of the relays after {half:.1f} ms, at all after {last:.1f}",
                flush=True,
            )
            await asyncio.sleep(pause_s)
    return 0


async def _met(publisher: AsyncStreamPublisher, arrivals: Arrivals, count: int) -> None:
    """Until what is published comes to everybody."""
    for _ in range(int(PATIENCE_S / _LOOK_S)):
        item = _item("Hello")
        await publisher.publish(item)
        await asyncio.sleep(_LOOK_S)
        if len(arrivals.of[item.event_id]) == count:
            return
    print("the relays have not found each other")


def _item(text: str) -> Item:
    return new_item("urn:triplewire:overlay", "text/plain", text.encode())


def _config(settings: list[str]) -> config.Config:
    return config.load(environment={}, overrides=settings)
