"""What passes of a stream, as a stream: a Feed of a Feed, one for all consumers that ask for the same.

A selection is made when the first consumer comes, from what the stream keeps, and let go a while after the last has
left, as those that lost their connection come back.  Its entries have the numbers that they have in the stream, with
gaps.  An item is looked at once: its RDF is parsed for all filters together, and what passes is encoded once for all
consumers, the stream's own among them.  Markers of gaps pass, as what is missing might have; and where nothing has passed for
long, there is a sign of life, so that who follows knows that the stream is there.

A filter is asked on the event loop, and about what the stream keeps in short steps.  One that takes more than a fifth of the
time is ended, and refused for a while; to read an item's RDF counts for the filter that needs it first.  Nor may the making
of selections take more than that.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import deque
from typing import TYPE_CHECKING

from triplewire.broker.errors import Overloaded
from triplewire.broker.wire.gap_items import GAP
from triplewire.broker.wire.items import TEST_CONNECTION

from .entry import Batch
from .feed_of import FeedOf
from .filters import filter_of
from .history import History
from .listeners import Listeners
from .looked import Looked
from .stream import sign_of_life

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from triplewire.broker.config import LimitsConfig, StreamConfig, StreamGateConfig

    from .entry import Entry
    from .feed import Feed
    from .filters import Filter

log = logging.getLogger("triplewire.gates.stream")

# How long a selection without consumers is kept, and one that took too long is refused.
LINGER_S = 60.0
_SHARE = 0.2  # of the time
_ALLOWANCE_S = 1.0  # at once
_LOOK_BACK_S = 0.5  # spent on what the stream keeps, the newest first, when a selection is made
_STEP_S = 0.02  # of that at once, as long as nobody else has the event loop
_JUST_NOW_S = 1.0  # who has asked for a selection listens by then


class _Allowance:
    """How much of the event loop's time something may take: a share, and so much at once; `with` measures it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._left_s = _ALLOWANCE_S
        self._at = clock()

    def overspent(self) -> bool:
        """Whether it has taken more."""
        self._earn()
        return self._left_s < 0

    def __enter__(self) -> None:
        self._earn()

    def __exit__(self, *_: object) -> None:
        now = self._clock()
        self._left_s -= now - self._at
        self._at = now

    def _earn(self) -> None:
        now = self._clock()
        self._left_s = min(_ALLOWANCE_S, self._left_s + (now - self._at) * _SHARE)
        self._at = now


class _Passed(History):
    """What has passed of what the stream keeps in `whole`, with the same numbers.

    What did not pass has its place all the same: a client may have seen last a sign of life of the stream that names it.
    """

    def __init__(self, name: str, config: StreamConfig, whole: History) -> None:
        super().__init__(name, config, whole.clock)
        self._whole = whole
        self.looked_from = 0  # what the stream keeps from before that number was not looked at

    def seen(self, event_id: str) -> Entry | None:
        """See `History`."""
        entry = super().seen(event_id) or self._whole.seen(event_id)
        return None if entry is None or entry.number < self.looked_from else entry

    def covered_s(self, event_id: str, overlap_s: float) -> float | None:
        """See `History`: what did not pass is none that is missing."""
        covered_s = None if self.looked_from else self._whole.covered_s(event_id, overlap_s)
        return super().covered_s(event_id, overlap_s) if covered_s is None else covered_s


class Selection(FeedOf):
    """What passes one filter, with the numbers that it has in the stream; what is published goes into the stream."""

    def __init__(self, feed: Feed, chosen: Filter, clock: Callable[[], float]) -> None:
        """`clock` tells seconds that do not go back."""
        super().__init__(feed)
        self.filter = chosen
        self.idle_since = clock()
        self._passed = _Passed(feed.name, feed.config, feed.history)
        self._clock = clock
        self._asking = _Allowance(clock)
        self._seen = feed.history.last  # the number of the last entry that was looked at
        self._waiting: set[int] = set()  # the numbers of those that passed and have not left
        self._batches: Listeners[Batch] = Listeners()
        self._entries: Listeners[Batch] = Listeners()
        self._ends: Listeners[None] = Listeners()
        self._ended = False
        self._came_at = self._left_at = clock()  # when something was told last at once, and in a batch
        self._kept = [*feed.history]  # what is still to be looked at of it, the newest last
        self._found: deque[Entry] = deque()  # what of that, and of what came since, passed
        self._look_back_s = _LOOK_BACK_S
        self._is_whole = False

    @property
    def history(self) -> History:
        """What passes of that which the stream keeps."""
        return self._passed

    @property
    def sign_of_life_s(self) -> float:
        """Twice the stream's: what comes of that last may not pass, just before one is due here."""
        return 2 * self._feed.sign_of_life_s

    @property
    def closed(self) -> bool:
        """Whether it, or the stream, has ended."""
        return self._ended or self._feed.closed

    @property
    def used(self) -> bool:
        """Whether somebody listens."""
        return bool(len(self._batches) or len(self._entries))

    def listen(self, on_batch: Callable[[Batch], None]) -> Callable[[], None]:
        """See `Feed`."""
        return self._added(self._batches, on_batch)

    def listen_now(self, on_entries: Callable[[Batch], None]) -> Callable[[], None]:
        """See `Feed`."""
        return self._added(self._entries, on_entries)

    def when_closed(self, on_close: Callable[[], None]) -> Callable[[], None]:
        """See `Feed`."""
        return self._ends.add(lambda _: on_close())

    def came(self, entries: Sequence[tuple[Entry, Looked]]) -> None:
        """These were taken by the stream."""
        passed = self._look(entries)
        if passed and not self._is_whole:
            self._found.extend(passed)
        elif passed:
            self._came_at = self._clock()
            self._passed.add(passed)
            self._waiting.update(entry.number for entry in passed)
            if len(self._entries):
                self._entries.tell(Batch(self.name, tuple(passed)))

    def leave(self, batch: Batch) -> None:
        """These leave the stream together."""
        waiting = self._waiting
        passed = tuple(entry for entry in batch.entries if entry.number in waiting)
        waiting.difference_update(entry.number for entry in passed)
        if passed:
            self._left_at = self._clock()
            if len(self._batches):
                self._batches.tell(batch if len(passed) == len(batch) else Batch(self.name, passed))
        elif self.used and not waiting:
            self._break_silence(batch.last)

    def look_back(self, longest_s: float) -> bool:
        """Look for about so long at what the stream keeps; whether that is done, and somebody may listen."""
        if self._is_whole:
            return True
        self.idle_since = began = self._clock()
        until = began + min(longest_s, self._look_back_s)
        while self._kept:
            entry = self._kept.pop()
            if entry.item.event_type == GAP or self.filter.passes(Looked(entry.item)):
                self._found.appendleft(entry)
            if self._clock() > until:
                break
        self._look_back_s -= self._clock() - began
        if self._kept and self._look_back_s > 0:
            return False
        self._is_whole = True
        if self._kept:
            log.info("= a filter of %s was asked about a part of what is kept only", self.name)
            self._passed.looked_from = self._kept[-1].number + 1
            self._kept.clear()
        self._passed.add(self._found)
        self._waiting.update(entry.number for entry in self._found if entry.number > self._feed.sent)
        self._found.clear()
        return True

    def overspent(self) -> bool:
        """Whether the filter has taken more of the time than it may."""
        return self._asking.overspent()

    def end(self) -> None:
        """Nothing comes any more."""
        if not self._ended:
            self._ended = True
            self._ends.tell(None)

    def _break_silence(self, number: int) -> None:
        """Give a sign of life where one is due, of that number: behind all that has passed, before all that will."""
        silence_s, now = self._feed.sign_of_life_s, self._clock()
        if silence_s and now - min(self._came_at, self._left_at) >= silence_s:
            self._came_at = self._left_at = now
            sign = sign_of_life(self._passed, number)
            self._passed.add([sign])
            for listeners in (self._entries, self._batches):
                listeners.tell(Batch(self.name, (sign,)))

    def _look(self, entries: Sequence[tuple[Entry, Looked]]) -> list[Entry]:
        with self._asking:
            passed = [
                entry
                for entry, looked in entries
                if entry.number > self._seen
                and (
                    entry.item.command == TEST_CONNECTION
                    or entry.item.event_type == GAP
                    or self.filter.passes(looked)
                )
            ]
        if entries:
            self._seen = max(self._seen, entries[-1][0].number)
        return passed

    def _added(self, listeners: Listeners[Batch], listener: Callable[[Batch], None]) -> Callable[[], None]:
        forget = listeners.add(listener)

        def end() -> None:
            forget()
            self.idle_since = self._clock()

        return end


class _Selected:
    """The selections of one stream, which is listened to once for all of them."""

    def __init__(self, feed: Feed, clock: Callable[[], float]) -> None:
        self.feed = feed
        self.selections: dict[str, Selection] = {}
        self.refused: dict[str, float] = {}  # until when
        self._clock = clock
        self._seen = feed.history.last
        self._unlisten = [
            feed.listen_now(self._came),
            feed.listen(self._left),
            feed.when_closed(self._closed),
        ]

    def of(self, chosen: Filter) -> Selection | None:
        """The selection; None where it is not there yet."""
        now = self._clock()
        self.refused = {key: until for key, until in self.refused.items() if until > now}
        if chosen.key in self.refused:
            raise Overloaded("the filter takes too long", code="filter_too_slow")
        return self.selections.get(chosen.key)

    def sweep(self, idle_s: float) -> None:
        """Let go of those that nobody has listened to for so long."""
        before = self._clock() - idle_s
        for key, selection in tuple(self.selections.items()):
            if not selection.used and selection.idle_since <= before:
                del self.selections[key]

    def close(self) -> None:
        """Listen no longer."""
        for unlisten in self._unlisten:
            unlisten()

    def _came(self, batch: Batch) -> None:
        looked = [(entry, Looked(entry.item)) for entry in batch.entries if entry.number > self._seen]
        if not looked:
            return
        self._seen = looked[-1][0].number
        for key, selection in tuple(self.selections.items()):
            selection.came(looked)
            if selection.overspent():
                log.warning("! a filter of %s takes too long and is ended: %.200s", self.feed.name, key)
                del self.selections[key]
                self.refused[key] = self._clock() + LINGER_S
                selection.end()

    def _left(self, batch: Batch) -> None:
        self._came(batch)  # a sign of life comes with a batch only
        for selection in tuple(self.selections.values()):
            selection.leave(batch)
        self.sweep(LINGER_S)

    def _closed(self) -> None:
        for selection in tuple(self.selections.values()):
            selection.end()


class Selections:
    """What consumers ask for by parameters; at most stream.selections at the same time."""

    def __init__(
        self, config: StreamGateConfig, limits: LimitsConfig, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = config.selections
        self._limits = limits
        self._clock = clock
        self._making = _Allowance(clock)
        self._turn = asyncio.Lock()
        self._streams: dict[Feed, _Selected] = {}

    def __len__(self) -> int:
        return sum(len(selected.selections) for selected in self._streams.values())

    def of(self, feed: Feed, parameters: Iterable[tuple[str, str]]) -> Feed:
        """What passes the filter in a URL's parameters; the stream itself where there is none.

        Raises:
            RequestError: a parameter is not as it should be.
            Overloaded: there are stream.selections already, or this one took too long lately.
        """
        found = self._begun(feed, parameters)
        if found is None:
            return feed
        self._look_back(found, math.inf)
        return found

    async def prepare(self, feed: Feed, parameters: Iterable[tuple[str, str]]) -> None:
        """Let `of` answer at once: what the stream keeps is looked at in steps, one selection's at a time.

        Raises:
            BrokerError: see `of`.
        """
        found = self._begun(feed, parameters)
        while found is not None:
            async with self._turn:
                if self._look_back(found, _STEP_S):
                    return
                await asyncio.sleep(0)

    def _look_back(self, selection: Selection, longest_s: float) -> bool:
        with self._making:
            return selection.look_back(longest_s)

    def _begun(self, feed: Feed, parameters: Iterable[tuple[str, str]]) -> Selection | None:
        chosen = filter_of(parameters, self._limits)
        if not chosen:
            return None
        self._drop_closed()
        selected = self._streams.get(feed)
        if selected is None:
            selected = self._streams[feed] = _Selected(feed, self._clock)
        found = selected.of(chosen)
        if found is None:
            self._make_room()
            with self._making:
                found = selected.selections[chosen.key] = Selection(feed, chosen, self._clock)
        return found

    def _make_room(self) -> None:
        if self._making.overspent():
            raise Overloaded("too many different filters are asked for at the moment")
        if len(self) < self._most:
            return
        for selected in self._streams.values():
            selected.sweep(_JUST_NOW_S)
        if len(self) >= self._most:
            raise Overloaded(f"there are {len(self)} different filters (stream.selections)")

    def _drop_closed(self) -> None:
        for feed in [feed for feed in self._streams if feed.closed]:
            self._streams.pop(feed).close()
