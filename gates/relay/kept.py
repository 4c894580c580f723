"""The parcels that a node keeps for neighbours that missed them: the newest of all chains, bounded by bytes and by age."""

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
    __slots__ = ("added_at", "parcel")

    def __init__(self, parcel: Parcel, added_at: float) -> None:
        self.parcel = parcel
        self.added_at = added_at


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
    """The newest parcels of all chains: at most `most_bytes`, as on the wire, and none that is older than `seconds`.

    Times are of one clock that never goes back, in seconds.
    """

    def __init__(self, most_bytes: int, seconds: float) -> None:
        self._most_bytes = most_bytes
        self._seconds = seconds
        self._entries: deque[_Entry] = deque()  # in the order in which they came
        self._shelves: dict[bytes, _Shelf] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def size(self) -> int:
        """Of what is kept, in bytes as on the wire."""
        return self._bytes

    def add(self, parcel: Parcel, now: float) -> None:
        """Keep it, unless one of its numbers is kept already, or it alone is too much; the oldest go to make room."""
        if len(parcel.data) <= self._most_bytes:
            self._put(_Entry(parcel, now))
        self.expire(now)

    def between(self, chain: bytes, first: int, last: int) -> list[Parcel]:
        """The parcels that have one of these numbers, in order."""
        shelf = self._shelves.get(chain)
        return shelf.between(first, last) if shelf is not None else []

    def heads(self, since: float | None = None) -> dict[bytes, tuple[int, int]]:
        """By chain the first and the last number of what is kept, or of what came at the time `since` or later.

        Between them some may be missing.
        """
        found = ((chain, shelf.head(since)) for chain, shelf in self._shelves.items())
        return {chain: head for chain, head in found if head is not None}

    def head(self, chain: bytes) -> tuple[int, int] | None:
        """The first and the last number that is kept of one chain; None where nothing is."""
        shelf = self._shelves.get(chain)
        return shelf.head(None) if shelf is not None else None

    def forget(self, chain: bytes) -> None:
        """Keep nothing more of a chain."""
        shelf = self._shelves.pop(chain, None)
        if shelf is not None:
            self._entries = deque(entry for entry in self._entries if entry.parcel.chain != chain)
            self._bytes -= sum(len(entry.parcel.data) for entry in shelf.entries[shelf.start :])

    def expire(self, now: float) -> None:
        """Let go of what is over the bounds; `add` does this for itself."""
        oldest = now - self._seconds
        while self._entries and (self._bytes > self._most_bytes or self._entries[0].added_at < oldest):
            entry = self._entries.popleft()
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
