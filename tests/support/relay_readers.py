"""Consumers and publishers of an overlay's streams over HTTP, as users have them; each runs until its block ends."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from support.overlay import items
from triplewire.broker.errors import ClientError
from triplewire.broker.wire.gap_items import missing_of
from triplewire.clients.streams.consumer import AsyncStreamConsumer
from triplewire.clients.streams.publisher import AsyncStreamPublisher
from triplewire.clients.streams.settings import StreamSettings

if TYPE_CHECKING:
    from triplewire.broker.wire.gap_items import Missing
    from triplewire.clients.streams.following import Gap

_AGAIN_S = 0.3


class Reader:
    """An AsyncStreamConsumer, and what it was given: ids of items, with the markers of gaps in their places."""

    def __init__(self, *urls: str, region: str = "") -> None:
        self.given: list[str | Missing] = []
        self.times: dict[str | Missing, float] = {}
        self.told: list[Gap] = []
        self.reconnections = 0
        settings = StreamSettings(region=region, backoff_longest_s=1.0)
        self._consumer = AsyncStreamConsumer(
            *urls, settings=settings, on_gap=self.told.append, on_reconnect=self._came_back, commands=True
        )
        self._task: asyncio.Task[None] | None = None

    def _came_back(self) -> None:
        self.reconnections += 1

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        await self._consumer.close()
        await self._task

    async def _follow(self) -> None:
        async for item in self._consumer:
            what = missing_of(item) or item.event_id
            self.times[what] = time.monotonic()
            self.given.append(what)

    @property
    def relay(self) -> str:
        """Where it follows, or did last."""
        return self._consumer._following._places.relay or ""

    @property
    def ids(self) -> list[str]:
        """The items without the markers."""
        return [each for each in self.given if isinstance(each, str)]

    @property
    def gaps(self) -> list[Missing]:
        """The markers."""
        return [each for each in self.given if not isinstance(each, str)]


class Poster:
    """Posts one item of `source` after the other to a relay, each again until it is answered; `sent` has their ids."""

    def __init__(self, url: str, source: str, per_s: float = 20.0) -> None:
        self.sent: dict[str, list[str]] = {source: []}
        self.refused = 0
        self._source = source
        self._per_s = per_s
        self._publisher = AsyncStreamPublisher(url)
        self._ends = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._post())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
        await self._publisher.close()

    async def stop(self) -> None:
        """Post no more; the last one is answered."""
        self._ends.set()
        assert self._task is not None
        await self._task

    async def _post(self) -> None:
        sent = self.sent[self._source]
        begun = time.monotonic()
        while not self._ends.is_set():
            some = items(1, self._source)
            sent += [item.event_id for item in some]
            while True:
                try:
                    await self._publisher.publish(*some)
                    break
                except ClientError:
                    self.refused += 1
                    await asyncio.sleep(_AGAIN_S)
            with suppress(TimeoutError):
                next_at = begun + len(sent) / self._per_s
                await asyncio.wait_for(self._ends.wait(), max(0.0, next_at - time.monotonic()))
