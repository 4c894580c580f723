"""Reading a stream from within the broker: entry for entry, without a window, and with what it keeps as the only queue.

A reader that is behind costs nothing and holds up nobody; what is let go of before it was read is counted as missed, unless
the stream is told to hold it (`History.free_upto`).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from .entry import Batch, Entry
    from .feed import Feed


class Following:
    """One reader of one stream, from behind the item with the number `position` on."""

    def __init__(self, feed: Feed, position: int) -> None:
        self.position = position
        self.missed = 0  # items
        self._feed = feed

    @property
    def behind(self) -> int:
        """How many items have been taken and not yet been read."""
        return self._feed.history.last - self.position

    async def batches(self, most: int) -> AsyncIterator[tuple[Entry, ...]]:
        """Up to `most` entries each time, in order, until the stream ends and all is read.

        `position` is moved on when the next are asked for: what was handed out and not dealt with counts as behind.
        """
        come = asyncio.Event()

        def on_entries(_: Batch) -> None:
            come.set()

        ends = [self._feed.listen_now(on_entries), self._feed.when_closed(come.set)]
        self._feed.followed(1)
        try:
            while True:
                come.clear()
                while entries := self._next(most):
                    yield entries
                    self.position = max(self.position, entries[-1].number)
                if self._feed.closed:
                    return
                await come.wait()
        finally:
            self._feed.followed(-1)
            for end in ends:
                end()

    def _next(self, most: int) -> tuple[Entry, ...]:
        history = self._feed.history
        history.expire()  # or what has become too old goes when it is looked for, behind this question
        if history.gone > self.position:  # what else has no entry was a sign of life
            self.missed += history.gone - self.position
            self.position = history.gone
        entries = history.since(self.position).entries
        if not entries:
            self.position = max(self.position, history.last)  # signs of life are not kept
        return entries[:most]
