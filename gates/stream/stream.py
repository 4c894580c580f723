"""A stream in the process that takes its items: publish, keep, and let those that serve consumers know.

What is published is taken in one step: checked, given its number, kept.  Then the publisher is answered, and only
in a later step of the event loop are readers sent anything: a publisher never waits for consumers.

All who read get the same items in the same order, whoever published them: that of their numbers.
"""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import uuid4

from triplewire.broker import meters
from triplewire.broker.errors import Forbidden, ShuttingDown
from triplewire.broker.wire.items import STREAM_FINISHED, TEST_CONNECTION, command_item, encode_item

from .entry import Batch, Entry
from .feed import Receipt
from .history import History
from .kept_history import KeptHistory
from .listeners import Listeners
from .window import FULL_BYTES, FULL_ITEMS, Window

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from triplewire.broker.config import Config, StreamConfig
    from triplewire.broker.wire.items import Item

log = logging.getLogger("triplewire.gates.stream")

FOLDER = "streams"  # what is kept over a restart is there, under store.data
_SILENCE_S = 300.0
_ABSENT_S = 1.0  # so often it is looked whether signs of life may be sent again
# So many silences after a sign of life was due, who still follows is sent away.
_ABSENT_FOR = 3
_CONFLICTS_S = 60.0  # between two lines of the log


@dataclass(slots=True)
class StreamCounts:
    """What has happened to a stream since it was opened."""

    taken: int = 0
    duplicates: int = 0
    conflicts: int = 0  # of these, what differs from the item that has the id
    loops: int = 0
    batches: int = 0


class Stream:
    """Implements Feed.  It begins where `history` ends and adds to it; nobody else may."""

    def __init__(
        self,
        config: StreamConfig,
        history: History,
        loop: asyncio.AbstractEventLoop,
        *,
        source_id: str = "",
        silence_s: float = _SILENCE_S,
    ) -> None:
        self.name = history.name
        self.config = config
        self.history = history
        self.source_id = source_id or config.source_id or str(uuid4())
        self.window = Window(config.window_s, config.window_most_s)
        self.timer: Callable[[], float] = (
            time.perf_counter
        )  # an event loop's clock stands still during a step
        self.counts = StreamCounts()
        self.sent = history.last
        self.closed = False
        # Whether the others that have the stream are reached, who else would give no sign of life
        self.is_there: Callable[[], bool] = lambda: True
        self._loop = loop
        self._waiting: list[Entry] = []  # for the end of the window
        self._waiting_bytes = 0
        self._waiting_now: list[Entry] = []  # for the end of this step
        self._sending: asyncio.Handle | None = None
        self._full = False
        self._batch_listeners: Listeners[Batch] = Listeners()
        self._now_listeners: Listeners[Batch] = Listeners()
        self._close_listeners: Listeners[None] = Listeners()
        self._silence_s = silence_s
        self._heard_at = loop.time()
        self._conflict_at = -math.inf
        self._absent_since: float | None = None  # a sign of life was due, and the others were not reached
        self._silence = loop.call_later(silence_s, self._break_silence) if silence_s else None

    @property
    def sign_of_life_s(self) -> float:
        """See `Feed`: what comes when a sign of life is due may still wait for the end of the window."""
        window_s = max(self.config.window_s, self.config.window_most_s)
        return self._silence_s + window_s if self._silence_s else 0.0

    @property
    def absent(self) -> bool:
        """See `Feed`."""
        since = self._absent_since
        is_long = since is not None and self._loop.time() - since >= _ABSENT_FOR * self._silence_s
        return is_long and not self.is_there()

    def listen(self, on_batch: Callable[[Batch], None]) -> Callable[[], None]:
        """Call `on_batch` once a window."""
        return self._batch_listeners.add(on_batch)

    def listen_now(self, on_entries: Callable[[Batch], None]) -> Callable[[], None]:
        """Call `on_entries` without a window."""
        return self._now_listeners.add(on_entries)

    def when_closed(self, on_close: Callable[[], None]) -> Callable[[], None]:
        """Call `on_close` once, when the stream ends."""
        return self._close_listeners.add(lambda _: on_close())

    def followed(self, change: int) -> None:
        """Whoever follows: it goes on."""

    def took(self, seconds: float) -> None:
        """Writing the last batch took so long where this process does not see it."""
        self.window.took(seconds)

    async def publish(self, items: Sequence[Item], publisher: str) -> Receipt:
        """Take all of these or none; see Feed."""
        return self.take(items, publisher)

    def take(self, items: Sequence[Item], publisher: str) -> Receipt:
        """The same, for who does not wait.

        What is kept already is dropped, as a publisher that got no answer sends it again (facts 1.1); what bears this
        stream's own id has come back to it through relays, and is dropped, too.

        Raises:
            Forbidden: one of them is the command that ends a stream.
            ShuttingDown: the stream is closed.
            StoreError: they can't be kept.
        """
        if self.closed:
            raise ShuttingDown(f"the stream {self.name} has ended")
        if any(item.command == STREAM_FINISHED for item in items):
            # It would make each consumer believe that nothing follows (facts 1.2).
            raise Forbidden(f"{STREAM_FINISHED} is not for publishers ({publisher})")
        entries, receipt, conflicts = self._sorted(items)
        if entries:
            self.history.add(entries)
            self._pass_on(entries)
        self.counts.taken += receipt.taken
        self.counts.duplicates += receipt.duplicates
        self.counts.loops += receipt.loops
        if conflicts:
            self._tell_of(conflicts, publisher)
        return receipt

    def close(self) -> None:
        """Send what waits, tell those that listen, and take nothing more; may be called again."""
        if self.closed:
            return
        self.closed = True
        for timer in (self._silence, self._sending):
            if timer is not None:
                timer.cancel()
        self._send_now()
        self._send()
        self._close_listeners.tell(None)
        self.history.close()

    def _sorted(self, items: Sequence[Item]) -> tuple[list[Entry], Receipt, list[Item]]:
        """Those to be taken, in their places, what becomes of all, and which are not what is there by their ids."""
        now = self.history.clock()
        stamp = timestamp(now)
        number, loops = self.history.last, 0
        fresh: dict[str, Entry] = {}
        conflicts: list[Item] = []
        for item in items:
            if self.source_id in item.aggregator_ids:
                loops += 1
                continue
            known = fresh.get(item.event_id) or self.history.entry(item.event_id)
            if known is None:
                number += 1
                fresh[item.event_id] = Entry(number, self._marked(item, stamp), now)
            elif known.item.body != item.body:
                conflicts.append(item)
        taken = len(fresh)
        receipt = Receipt(taken, len(items) - taken - loops, loops, number if taken else 0)
        return [*fresh.values()], receipt, conflicts

    def _tell_of(self, conflicts: list[Item], publisher: str) -> None:
        """One of two publishers has the other's ids, by mistake or to have its items dropped."""
        self.counts.conflicts += len(conflicts)
        now = self._loop.time()
        if now - self._conflict_at >= _CONFLICTS_S:
            self._conflict_at = now
            which = conflicts[0].event_id
            log.warning(
                "! %s has another item of the id %.60s, now sent by %.60s", self.name, which, publisher
            )

    def _marked(self, item: Item, stamp: str) -> Item:
        """The item as it goes on: it has come through this stream, and has a time, `stamp` where it had none."""
        return replace(
            item,
            aggregator_ids=(*item.aggregator_ids, self.source_id),
            timestamp=item.timestamp if item.timestamp is not None else stamp,
        )

    def _pass_on(self, entries: list[Entry]) -> None:
        if len(self._now_listeners):
            if not self._waiting_now:
                self._loop.call_soon(self._send_now)
            self._waiting_now += entries
        self._waiting += entries
        size = sum([len(encode_item(entry.item)) for entry in entries])
        self._waiting_bytes += size
        meters.STREAM_BYTES.inc(size)
        self._schedule()

    def _schedule(self) -> None:
        full = self._waiting_bytes >= FULL_BYTES or len(self._waiting) >= FULL_ITEMS
        if self._sending is not None:
            if self._full or not full:
                return
            self._sending.cancel()
        self._full = full
        now = self._loop.time()
        wait_s = 0.0 if full else self.window.due(now) - now
        # A step of the loop at least, even without a window: the publisher is answered first.
        if wait_s <= 0:
            self._sending = self._loop.call_soon(self._send)
        else:
            self._sending = self._loop.call_later(wait_s, self._send)

    def _send(self) -> None:
        self._sending = None
        if self._waiting:
            batch = Batch(self.name, tuple(self._waiting))
            self._waiting = []
            self._waiting_bytes = 0
            self._heard_at = self._loop.time()
            self.window.sent(self._heard_at, len(batch))
            self.sent = batch.last
            self.counts.batches += 1
            began = self.timer()
            self._batch_listeners.tell(batch)
            self.window.took(self.timer() - began)  # with all that is made of the batch, as parts for filters

    def _send_now(self) -> None:
        if self._waiting_now:
            batch = Batch(self.name, tuple(self._waiting_now))
            self._waiting_now = []
            self._now_listeners.tell(batch)

    def _break_silence(self) -> None:
        """Send a sign of life where nothing else came for so long: proxies and clients give up a silent connection."""
        silent_s = self._loop.time() - self._heard_at
        if self._waiting or silent_s < self._silence_s:
            wait_s = self._silence_s - silent_s
            self._absent_since = None
        elif not self.is_there():
            wait_s = min(_ABSENT_S, self._silence_s)  # who follows had better go to another
            if self._absent_since is None:
                self._absent_since = self._loop.time()
                log.warning("! %s is not reached by the others, and gives no signs of life", self.name)
        else:
            wait_s = 0.0
            self._absent_since = None
            if len(self._batch_listeners) or len(self._now_listeners):
                self._send_sign_of_life()
        self._silence = self._loop.call_later(wait_s if wait_s > 0 else self._silence_s, self._break_silence)

    def _send_sign_of_life(self) -> None:
        entry = sign_of_life(self.history, self.history.last + 1)
        self.history.add([entry])
        self._pass_on([entry])


def sign_of_life(history: History, number: int) -> Entry:
    """A new one, for who follows what `history` keeps."""
    now = history.clock()
    return Entry(number, command_item(TEST_CONNECTION, history.sign_id(), timestamp=timestamp(now)), now)


def timestamp(seconds: float) -> str:
    """The moment, in seconds since 1970, as items have it: RFC 3339 with milliseconds (facts 1.1)."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def silence_of(config: Config, stream: StreamConfig) -> float:
    """After how long a silence a stream of these settings gives a sign of life, in seconds; 0: never.

    Where other processes have it, too, it is sooner, so that consumers soon know that they had better go there.
    """
    everywhere_s = config.stream.silence_s
    overlay_s = config.relay.sign_of_life_s if stream.overlay else 0.0
    return min(everywhere_s or overlay_s, overlay_s or everywhere_s)


def open_stream(
    name: str,
    config: StreamConfig,
    loop: asyncio.AbstractEventLoop,
    *,
    folder: Path | None = None,
    silence_s: float = _SILENCE_S,
) -> Stream:
    """The stream of these settings; what it keeps over a restart is a file in `folder`, where it is to keep anything.

    Raises:
        StoreError: that file can't be read or written.
    """
    if config.keep and folder is not None:
        kept = KeptHistory(name, config, folder / f"{name}.items")
        return Stream(config, kept, loop, source_id=kept.source_id, silence_s=silence_s)
    return Stream(config, History(name, config), loop, silence_s=silence_s)
