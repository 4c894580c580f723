"""What a stream keeps for those that come back: its newest items, bounded by their count, their bytes and their age.

An item is here from the moment it was taken, before it leaves in a batch.  So whoever asks for what came after an item
that it has seen can't miss what waits in the window.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_left, bisect_right
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING
from uuid import uuid4

from triplewire.broker.wire.gap_items import GAP
from triplewire.broker.wire.items import TEST_CONNECTION, encode_item

from .entry import Batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from triplewire.broker.config import StreamConfig

    from .entry import Entry

_number = attrgetter("number")
_taken_at = attrgetter("taken_at")
# Newcomers of one moment ask for the same few replays; each can be as large as the history.
_REPLAYS = 4
# Signs of life are far apart: whoever saw one last, and comes back, saw one of the newest.  In streams that other processes
# have, too, one comes each ten seconds: these are of an hour and more.
_SIGNS = 512
# A sign of life is called alive:<uuid>:<the id of the newest item before it>.
_ALIVE = "alive:"


class History:
    """The newest entries of the stream called `name`, within the bounds of `config`; `clock` tells seconds since 1970."""

    def __init__(self, name: str, config: StreamConfig, clock: Callable[[], float] = time.time) -> None:
        self.name = name
        self._most_items = config.kept_items
        self._most_bytes = config.history_bytes
        self._most_s = config.history_s  # 0: any age
        self._clock = clock
        self._entries: list[
            Entry
        ] = []  # those from `_start` on; the rest has gone and is cleared away now and then
        self._start = 0
        self._bytes = 0
        self._places: dict[str, int] = {}  # the numbers by the events' ids
        self._signs: dict[str, Entry] = {}  # signs of life, which are not kept
        self._replays: dict[tuple[int, int], Batch] = {}
        self._last = 0
        self.gone = 0  # the number of the last entry that was let go of since the start
        # Up to which number entries may be let go of: what comes behind is held, whatever the bounds say
        self.free_upto: Callable[[], float] = lambda: math.inf

    def __len__(self) -> int:
        return len(self._entries) - self._start

    def __iter__(self) -> Iterator[Entry]:
        """What is kept, the oldest first."""
        return iter(self._entries[self._start :])

    @property
    def last(self) -> int:
        """The number of the last item that was taken, kept or not; 0 before the first."""
        return self._last

    @property
    def first(self) -> int:
        """The number of the oldest item that is kept; where there is none, the one that comes next."""
        return self._entries[self._start].number if len(self) else self._last + 1

    @property
    def bytes(self) -> int:
        """Of what is kept, as on the wire."""
        return self._bytes

    @property
    def is_over(self) -> bool:
        """Whether it has more items or bytes than it should, as they are held."""
        return len(self) > self._most_items or self._bytes > self._most_bytes

    @property
    def trouble(self) -> str:
        """Why nothing more can be kept, where that is so."""
        return ""

    def entry(self, event_id: str) -> Entry | None:
        """The item with this id, if it is kept."""
        number = self._places.get(event_id)
        if number is None:
            return None
        return self._entries[bisect_left(self._entries, number, lo=self._start, key=_number)]

    def newest(self, most: int) -> list[Entry]:
        """So many of the newest entries, the oldest of them first."""
        return self._entries[max(self._start, len(self._entries) - most) :]

    def count_since(self, moment: float) -> int:
        """How many of those that are kept were taken after that moment."""
        return len(self._entries) - bisect_right(self._entries, moment, lo=self._start, key=_taken_at)

    def place(self, event_id: str) -> int | None:
        """The number of what a client saw last that names this id; see `seen`."""
        entry = self.seen(event_id)
        return None if entry is None else entry.number

    def seen(self, event_id: str) -> Entry | None:
        """The item with this id, if it is kept, or a sign of life: a client may have seen that last.

        For a sign of life of another relay it is the item that it names.
        """
        entry = self._signs.get(event_id) or self.entry(event_id)
        if entry is None and event_id.startswith(_ALIVE):
            entry = self.entry(event_id.removeprefix(_ALIVE).partition(":")[2])
        return entry

    def sign_id(self) -> str:
        """A new id for a sign of life: another relay, which does not know it, finds in it where it stands."""
        newest = (
            entry.item.event_id
            for entry in islice(reversed(self._entries), len(self))
            if entry.item.event_type != GAP  # another relay may not have the marker
        )
        return f"{_ALIVE}{uuid4()}:{next(newest, '')}"

    @property
    def clock(self) -> Callable[[], float]:
        """What tells the age of entries."""
        return self._clock

    def restore(self, entries: Iterable[Entry], last: int) -> None:
        """Begin with these, where `last` was the last number given: after a restart, or as a copy.

        The bounds count from the next call on, so that what waits to be stored can be held before.
        """
        self._remember(entries)
        self._last = max(last, self._last)

    def add(self, entries: Iterable[Entry]) -> None:
        """Keep these, which come after all that was added before; signs of life count and are not kept (facts 1.2).

        Raises:
            StoreError: they can't be kept, where they are to outlive the process; then none of them was added.
        """
        self._remember(entries)
        self.expire()

    def close(self) -> None:
        """Nothing is added any more."""

    def _remember(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._last = entry.number
            if entry.item.command == TEST_CONNECTION:
                self._remember_sign(entry)
            else:
                self._entries.append(entry)
                self._bytes += len(encode_item(entry.item))
                self._places[entry.item.event_id] = entry.number
        self._replays.clear()

    def expire(self) -> None:
        """Let go of what is over the bounds, and not held."""
        oldest = self._clock() - self._most_s
        free_upto = self.free_upto()
        while (
            len(self)
            and self._entries[self._start].number <= free_upto
            and (self.is_over or (self._most_s and self._entries[self._start].taken_at < oldest))
        ):
            self._drop()
        # Clearing away what has gone costs a move of what stays: at most one for each item that comes.
        if self._start > len(self):
            del self._entries[: self._start]
            self._start = 0

    def after(
        self, event_id: str | None = None, limit: int | None = None, *, upto: int | None = None
    ) -> tuple[Entry, ...]:
        """What somebody missed who saw `event_id` last, as facts 1.4 have it; see `replay`."""
        return self.replay(event_id, limit, upto=upto).entries

    def replay(  # noqa: PLR0913 - all that one can ask for
        self,
        event_id: str | None = None,
        limit: int | None = None,
        *,
        upto: int | None = None,
        overlap_s: float = 0.0,
        away_s: float | None = None,
        most: int | None = None,
    ) -> Batch:
        """What came after the item `event_id`: everything where it is not kept (facts 1.4).

        Of that the newest `limit`.  Without an id the newest `limit` of everything, and without either nothing.  Only
        items up to the number `upto`.  All who ask for the same before another item comes get the same object, so that
        it is encoded once however many come back at the same moment.

        With `overlap_s` it begins with what was taken so many seconds before that item.  Another relay of the stream has
        the items of one publisher in the same order, and those of different ones not: what came behind the item there
        can stand before it here.

        With `away_s`, who had that item so many seconds ago is not given what was taken here before that, and before the
        overlap, where the item is not kept: this may be another relay, which has old items.

        With `most` it ends after so many items, the overlap not counted: the rest is for who asks again.
        """
        if event_id is None and limit is None:
            return self._batch(0, 0)
        seen = None if event_id is None else self.seen(event_id)
        place = behind = 0 if seen is None else seen.number
        if seen is not None and overlap_s > 0:
            begin, end = self._overlap(seen, overlap_s)
            place = self._entries[begin].number - 1 if begin < end else place
        elif event_id is not None and seen is None and away_s is not None:
            place = behind = self._last_before(self._clock() - away_s - overlap_s)
        if most is not None:
            self.expire()
            upto = self._so_many(behind, most, upto)
        return self._between(place, upto, limit)

    def covered_s(self, event_id: str, overlap_s: float) -> float | None:
        """How much of `overlap_s` is kept before that item, in seconds; None where the item is not known."""
        seen = self.seen(event_id)
        if seen is None:
            return None
        begin, end = self._overlap(seen, overlap_s)
        if self._start < begin or begin == end:
            return overlap_s
        return min(seen.taken_at - self._entries[begin].taken_at, overlap_s)

    def since(self, number: int, *, upto: int | None = None) -> Batch:
        """What came after the item with this number; where `first` is greater than the next, some of it is not kept."""
        return self._between(number, upto, None)

    def _overlap(self, seen: Entry, overlap_s: float) -> tuple[int, int]:
        """Which entries, up to that one, were taken at most so long before it: the first index, and the one behind.

        By halving, as thousands can come back at a moment.  Where the clock was set back, that finds a place no later
        than the last one behind which nothing is older: more is sent then, and never less.
        """
        end = bisect_right(self._entries, seen.number, lo=self._start, key=_number)
        oldest = seen.taken_at - overlap_s
        return bisect_left(self._entries, oldest, lo=self._start, hi=end, key=_taken_at), end

    def _last_before(self, moment: float) -> int:
        """The number of the last entry that was taken before it, 0 where none is kept."""
        begin = bisect_left(self._entries, moment, lo=self._start, key=_taken_at)
        return self._entries[begin - 1].number if begin > self._start else 0

    def _so_many(self, after: int, most: int, upto: int | None) -> int:
        """The number of the last of so many items behind that number, none of them beyond `upto`."""
        begin = bisect_right(self._entries, after, lo=self._start, key=_number)
        last = self._entries[min(begin + most, len(self._entries)) - 1].number if len(self) else after
        return last if upto is None else min(last, upto)

    def _between(self, after: int, upto: int | None, limit: int | None) -> Batch:
        self.expire()
        begin = bisect_right(self._entries, after, lo=self._start, key=_number)
        end = len(self._entries)
        if upto is not None:
            end = bisect_right(self._entries, upto, lo=begin, key=_number)
        if limit is not None:
            begin = max(begin, end - limit)
        return self._batch(begin, end)

    def _batch(self, begin: int, end: int) -> Batch:
        if begin >= end:
            return Batch(self.name, ())
        key = (self._entries[begin].number, self._entries[end - 1].number)
        replay = self._replays.get(key)
        if replay is None:
            if len(self._replays) >= _REPLAYS:
                del self._replays[next(iter(self._replays))]
            replay = self._replays[key] = Batch(self.name, tuple(self._entries[begin:end]))
        return replay

    def _remember_sign(self, entry: Entry) -> None:
        self._signs[entry.item.event_id] = entry
        if len(self._signs) > _SIGNS:
            del self._signs[next(iter(self._signs))]

    def _drop(self) -> None:
        entry = self._entries[self._start]
        self._start += 1
        self.gone = entry.number
        self._replays.clear()
        self._bytes -= len(encode_item(entry.item))
        # Another item of the same id may have come since, where the bounds of age let go of this one by then.
        if self._places.get(entry.item.event_id) == entry.number:
            del self._places[entry.item.event_id]
