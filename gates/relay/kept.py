"""The parcels that a node keeps for neighbours that missed them: the newest of all chains, bounded by bytes and by age.

The newest parcel of a chain stays longer, as long as there is room: who was away and is given it knows by its signature that
there was something before it.  That of a chain that begins here stays in any case.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .parcels import Parcel

_first = attrgetter("parcel.first")
_last = attrgetter("parcel.last")
_added_at = attrgetter("added_at")


class _Entry:
    __slots__ = ("added_at", "forgotten", "parcel")

    def __init__(self, parcel: Parcel, added_at: float) -> None:
        self.parcel = parcel
        self.added_at = added_at
        self.forgotten = False


class _Shelf:
    """One chain's parcels by their numbers, none of which overlap; what has gone at the front is cleared away now and then."""

    __slots__ = ("entries", "start")

    def __init__(self) -> None:
        self.entries: list[_Entry] = []
        self.start = 0

    def __len__(self) -> int:
        return len(self.entries) - self.start

    def put(self, entry: _Entry) -> bool:
        """Whether it was put there: not where one of its numbers is there already."""
        parcel, entries = entry.parcel, self.entries
        if not len(self) or entries[-1].parcel.last < parcel.first:
            entries.append(entry)
            return True
        at = bisect_left(entries, parcel.first, lo=self.start, key=_last)
        if entries[at].parcel.first <= parcel.last:
            return False
        entries.insert(at, entry)
        return True

    def drop(self, entry: _Entry) -> None:
        if self.entries[self.start] is not entry:
            del self.entries[bisect_left(self.entries, entry.parcel.first, lo=self.start, key=_first)]
            return
        self.start += 1
        if self.start > len(self):
            del self.entries[: self.start]
            self.start = 0

    def between(self, first: int, last: int) -> list[Parcel]:
        begin = bisect_left(self.entries, first, lo=self.start, key=_last)
        end = bisect_right(self.entries, last, lo=begin, key=_first)
        return [entry.parcel for entry in self.entries[begin:end]]

    def head(self, since: float | None) -> tuple[int, int] | None:
        begin = self.start
        if since is not None:
            # They are in the order of their numbers, which is that of time but for those that came late: near enough.
            begin = bisect_left(self.entries, since, lo=begin, key=_added_at)
            if begin == len(self.entries):
                return None
        return self.entries[begin].parcel.first, self.entries[-1].parcel.last


class Kept:
    """The newest parcels of all chains: at most `most_bytes`, as on the wire, and none that is older than `seconds` but the last of its chain.

    Times are of one clock that never goes back, in seconds.
    """

    def __init__(self, most_bytes: int, seconds: float) -> None:
        self._most_bytes = most_bytes
        self._seconds = seconds
        self._entries: deque[_Entry] = deque()  # in the order in which they came
        self._shelves: dict[bytes, _Shelf] = {}
        self._lasts: dict[
            bytes, _Entry
        ] = {}  # of their chains: they are too old, and stay while there is room
        self._own: set[bytes] = set()
        self._bytes = 0
        self._forgotten = 0  # of the entries: they go when they come up, or are too many

    def __len__(self) -> int:
        return len(self._entries) - self._forgotten + len(self._lasts)

    @property
    def size(self) -> int:
        """Of what is kept, in bytes as on the wire."""
        return self._bytes

    def add(self, parcel: Parcel, now: float, *, own: bool = False) -> None:
        """Keep it, unless one of its numbers is kept already, or it alone is too much; the oldest go to make room.

        The last one of an `own` chain is never too much.
        """
        if own:
            self._own.add(parcel.chain)
        if own or len(parcel.data) <= self._most_bytes:
            self._put(_Entry(parcel, now))
        self.expire(now)

    def between(self, chain: bytes, first: int, last: int) -> list[Parcel]:
        """The parcels that have one of these numbers, in order."""
        shelf = self._shelves.get(chain)
        return shelf.between(first, last) if shelf is not None else []

    def head(self, chain: bytes, since: float | None = None) -> tuple[int, int] | None:
        """The first and the last number that is kept of a chain, or that came at the time `since` or later; None where none is.

        Between them some may be missing.
        """
        shelf = self._shelves.get(chain)
        return shelf.head(since) if shelf is not None else None

    def recent(self, chain: bytes, since: float) -> int | None:
        """The first number of what came then or later, but for a last one that may go as soon as the next comes."""
        head, last = self.head(chain, since), self._lasts.get(chain)
        return head[0] if head is not None and (last is None or last.parcel.first != head[0]) else None

    def forget(self, chain: bytes) -> None:
        """Keep nothing more of a chain."""
        shelf = self._shelves.pop(chain, None)
        if shelf is None:
            return
        self._own.discard(chain)
        last = self._lasts.pop(chain, None)
        for entry in shelf.entries[shelf.start :]:
            self._bytes -= len(entry.parcel.data)
            if entry is not last:
                entry.forgotten = True
                self._forgotten += 1
        if self._forgotten > len(self._entries) // 2:
            self._entries = deque(entry for entry in self._entries if not entry.forgotten)
            self._forgotten = 0

    def expire(self, now: float) -> None:
        """Let go of what is over the bounds; `add` does this for itself."""
        oldest = now - self._seconds
        while self._entries and self._entries[0].added_at < oldest:
            entry = self._entries.popleft()
            if entry.forgotten:
                self._forgotten -= 1
            elif self._is_last(entry):
                self._lasts[entry.parcel.chain] = entry
            else:
                self._drop(entry)
        while self._bytes > self._most_bytes and (least := self._least()) is not None:
            self._drop(least)

    def _least(self) -> _Entry | None:
        """What goes first to make room, which is taken out here."""
        for chain in self._lasts:
            if chain not in self._own:
                return self._lasts.pop(chain)
        while self._entries:
            entry = self._entries.popleft()
            if entry.forgotten:
                self._forgotten -= 1
            elif entry.parcel.chain not in self._own or not self._is_last(entry):
                return entry
            else:
                self._lasts[entry.parcel.chain] = entry
        return None

    def _is_last(self, entry: _Entry) -> bool:
        return self._shelves[entry.parcel.chain].entries[-1] is entry

    def _drop(self, entry: _Entry) -> None:
        self._bytes -= len(entry.parcel.data)
        shelf = self._shelves[entry.parcel.chain]
        shelf.drop(entry)
        if not len(shelf):
            del self._shelves[entry.parcel.chain]

    def _put(self, entry: _Entry) -> None:
        shelf = self._shelves.get(entry.parcel.chain)
        if shelf is None:
            shelf = self._shelves[entry.parcel.chain] = _Shelf()
        if shelf.put(entry):
            self._entries.append(entry)
            self._bytes += len(entry.parcel.data)
            before = self._lasts.get(entry.parcel.chain)
            if before is not None and not self._is_last(before):
                self._drop(self._lasts.pop(entry.parcel.chain))
