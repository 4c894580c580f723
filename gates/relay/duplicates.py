"""Which items of which chains have been here: a node passes each on once, whichever of its links it came over first.

What is known of a chain is the greatest number seen, and an ordered list of gaps below it that may still hold unseen numbers;
all else counts as seen.  What comes in order costs no search, and a chain without losses nothing but one number.

Chains are made by whoever calls, with the first number of each: only for those that are certified, or strangers could push
out the chains that are alive.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from operator import itemgetter
from typing import TypeAlias

Range: TypeAlias = tuple[int, int]  # from the first to the last number, both of them in it

_last = itemgetter(1)
_first = itemgetter(0)


class _Seen:
    """Of one chain: seen are all numbers up to `newest` but those in `gaps`, which are in order and apart from each other."""

    __slots__ = ("gaps", "newest", "started", "used_at")

    def __init__(self, newest: int, now: float, *, started: bool) -> None:
        self.newest = newest
        self.gaps: list[Range] = []
        self.started = (
            started  # a parcel came, or came once; before that, `newest` is only what somebody said
        )
        self.used_at = now

    def unseen(self, first: int, last: int) -> list[Range]:
        """What of the range was not here."""
        found: list[Range] = []
        if first <= self.newest and self.gaps:
            at = bisect_left(self.gaps, first, key=_last)
            while at < len(self.gaps) and self.gaps[at][0] <= last:
                begin, end = self.gaps[at]
                found.append((max(begin, first), min(end, last)))
                at += 1
        if last > self.newest:
            found.append((max(first, self.newest + 1), last))
        return found

    def mark(self, first: int, last: int) -> int:
        """The range has been here; how many gaps there are more, or fewer where it is negative."""
        before = len(self.gaps)
        if first <= self.newest and self.gaps:
            self._close(first, last)
        if last > self.newest:
            if first > self.newest + 1:
                self.gaps.append((self.newest + 1, first - 1))
            self.newest = last
        return len(self.gaps) - before

    def _close(self, first: int, last: int) -> None:
        begin = bisect_left(self.gaps, first, key=_last)
        end = bisect_right(self.gaps, last, lo=begin, key=_first)
        if begin < end:
            left: list[Range] = []
            if self.gaps[begin][0] < first:
                left.append((self.gaps[begin][0], first - 1))
            if self.gaps[end - 1][1] > last:
                left.append((last + 1, self.gaps[end - 1][1]))
            self.gaps[begin:end] = left


class Duplicates:
    """What was seen of at most `chains` chains, with `gaps` gaps in all of them together.

    A chain that has been idle for `idle_s` goes; where there are too many, the one that has been idle longest.  What stays
    of it is its greatest number, for as many chains again: what is sent once more later is not new.  Where there are too
    many gaps, those of the chain that has most count as seen, the lowest first.

    All times are of one clock that never goes back, in seconds.
    """

    def __init__(self, chains: int = 10_000, gaps: int = 10_000, idle_s: float = 600.0) -> None:
        self._most_chains = chains
        self._most_gaps = gaps
        self._idle_s = idle_s
        self._chains: OrderedDict[bytes, _Seen] = OrderedDict()  # the one that was idle longest first
        self._gone: OrderedDict[bytes, int] = OrderedDict()  # the greatest numbers of chains that went
        self._gaps = 0

    def begin(self, chain: bytes, after: int, now: float) -> None:
        """Of a chain that nothing has come of, what comes after the number `after` will be new.

        Without this, nothing before its first parcel is.  As `after` is what somebody says, and the first parcel is signed,
        that still counts where it has a lower number.  Nothing happens where the chain is known.
        """
        seen = self._chains.get(chain)
        if seen is None:
            if chain not in self._gone:
                self._add(chain, _Seen(after, now, started=False), now)
        elif not seen.started:
            seen.newest = min(seen.newest, after)

    def seen(self, chain: bytes, first: int, last: int) -> bool:
        """Whether all these have been here; nothing is changed, as the parcel that says so may be forged."""
        return not self.unseen(chain, first, last)

    def unseen(self, chain: bytes, first: int, last: int) -> list[Range]:
        """Which of the numbers have not been here, as ranges in order; nothing is changed."""
        seen = self._chains.get(chain)
        if seen is not None:
            return [(first, last)] if not seen.started else seen.unseen(first, last)
        newest = self._gone.get(chain, 0)
        return [(max(first, newest + 1), last)] if last > newest else []

    def new(self, chain: bytes, first: int, last: int, now: float) -> list[Range]:
        """The same, and all of them have been here from now on: for parcels whose signature is good."""
        seen = self._chains.get(chain)
        if seen is None:
            newest = self._gone.pop(chain, None)
            seen = _Seen(first - 1 if newest is None else newest, now, started=newest is not None)
            self._add(chain, seen, now)
        else:
            seen.used_at = now
            self._chains.move_to_end(chain)
        if not seen.started:
            seen.started = True
            seen.newest = min(seen.newest, first - 1)
        if first == seen.newest + 1:
            seen.newest = last
            return [(first, last)]
        found = seen.unseen(first, last)
        if found:
            self._gaps += seen.mark(first, last)
            if self._gaps > self._most_gaps:
                self._let_go_of_gaps()
        return found

    def expire(self, now: float) -> None:
        """Let go of chains that have been idle for too long, which else happens as other chains come."""
        while self._chains:
            chain, seen = next(iter(self._chains.items()))
            if len(self._chains) <= self._most_chains and seen.used_at + self._idle_s > now:
                return
            self._let_go(chain, seen)

    def _add(self, chain: bytes, seen: _Seen, now: float) -> None:
        self._chains[chain] = seen
        self.expire(now)

    def _let_go(self, chain: bytes, seen: _Seen) -> None:
        del self._chains[chain]
        self._gaps -= len(seen.gaps)
        if seen.started:
            self._gone[chain] = seen.newest
            if len(self._gone) > self._most_chains:
                self._gone.popitem(last=False)

    def _let_go_of_gaps(self) -> None:
        most = max(self._chains.values(), key=lambda seen: len(seen.gaps))
        # Some at once: this looks at all chains.
        some = max(len(most.gaps) // 8, self._gaps - self._most_gaps)
        del most.gaps[:some]
        self._gaps -= some
