"""Everyone who follows one stream by batches, or one stream item by item (`now`, for /priority)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .lanes import Lane, LaneKey

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from triplewire.broker.config import StreamGateConfig

    from .consumers import Consumer
    from .entry import Batch
    from .feed import Feed
    from .requests import Past


class Fanout:
    """Listens to a feed while somebody follows; `on_left` is called when one has gone."""

    def __init__(
        self,
        feed: Feed,
        gate: StreamGateConfig,
        on_left: Callable[[Fanout, Consumer], None],
        *,
        now: bool = False,
    ) -> None:
        self.feed = feed
        self.gate = gate
        self.now = now
        self.skipped = 0  # how often somebody had too much unread, and was left out
        self._on_left = on_left
        self._lanes: dict[LaneKey, Lane] = {}
        # The number of the last item that was given to all who are live.
        self.told = feed.history.last if now else feed.sent
        self._stop = (feed.listen_now if now else feed.listen)(self._on_batch)
        self._forget = feed.when_closed(self.end)

    def __len__(self) -> int:
        return sum(map(len, self._lanes.values()))

    @property
    def lanes(self) -> int:
        """How many of its lanes somebody reads."""
        return sum(len(lane) > 0 for lane in self._lanes.values())

    def follow(self, transport: asyncio.Transport, key: LaneKey, past: Past, head: bytes = b"") -> Consumer:
        """One more, from here on it is the transport's protocol; the past that it asks for first.

        `head`: see `Lane.follow`.
        """
        history = self.feed.history
        batch = history.replay(
            past.last_seen,
            past.limit,
            upto=self.told,
            overlap_s=past.overlap_s or 0.0,
            away_s=past.away_s,
        )
        # Who saw an item that is still to leave (it came from /priority) must not get it again.
        seen = None if past.last_seen is None else history.place(past.last_seen)
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(self, key)
        position = batch.first - 1 if len(batch) else max(self.told, seen or 0)
        return lane.follow(transport, position, head)

    def left(self, consumer: Consumer) -> None:
        """It has gone."""
        self._on_left(self, consumer)

    def stop(self) -> None:
        """Listen no more."""
        self._stop()
        self._forget()

    def end(self) -> None:
        """End everyone's response."""
        for lane in self._lanes.values():
            lane.end()

    def cut(self) -> None:
        """Hang up on whoever is still there."""
        for lane in self._lanes.values():
            lane.cut()

    def _on_batch(self, batch: Batch) -> None:
        began = time.perf_counter()
        before = self.told
        batch = batch.after(before)  # a stream may still have to tell what was there before this began
        if not len(batch):
            return
        self.told = batch.last
        for lane in tuple(self._lanes.values()):
            if len(lane):
                lane.send(batch, before)
            else:
                del self._lanes[lane.key]
        if not self.now:
            self.feed.took(time.perf_counter() - began)
