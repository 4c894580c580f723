"""What is missing of a chain, and when to ask for it: no search goes through these, they are in order where they are kept."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

    from .ordered import Chain

_PATIENCE: Final = (
    3  # times the delay that only one in a hundred parcels exceeds: what comes at all has come by then
)
_LEAST_P99_MS: Final = 50.0
_MOST_P99_MS: Final = 3_000.0
_BACKOFF: Final = 1.5
_MOST_WAIT_S: Final = 10.0
_LAST_WAIT_S: Final = 5.0  # at least, after the last time: an answer may wait behind much else that is sent
_MOST_POWER: Final = 32
_SPREAD: Final = 0.1  # of each wait, at random: neighbours that miss the same do not ask at the same moment
_LEAST_COMPACTED: Final = 1_024


@dataclass(frozen=True, slots=True)
class Want:
    """The items `first` to `last` of a chain are to be asked for, of one neighbour.

    `tried` is how often it was asked for before, without an answer in time.  `holders` say that they have some of them;
    `absent` said, since it was asked for in this round, that they have none.  Where it is not `proven` that there are such items,
    only holders are to be asked.
    """

    chain: bytes
    first: int
    last: int
    tried: int
    holders: frozenset[str]
    absent: frozenset[str]
    proven: bool


class Gap:
    """The numbers `first` to `last` of a chain, which have not come.

    `proven` says that a later parcel has come, which is signed, so that there are such items; else only heads say so.
    """

    __slots__ = ("absent", "asked", "chain", "due", "first", "last", "lost", "proven", "tried")

    def __init__(self, chain: Chain, first: int, last: int, due: float, *, proven: bool) -> None:
        self.chain = chain
        self.first = first
        self.last = last
        self.proven = proven
        self.due = due  # when to ask, or when to give up
        self.tried = 0
        self.asked = 0  # up to which number, the last time
        self.absent: set[str] = set()  # those that said in this round that they have not got it
        self.lost = False  # given up: its marker waits for its place

    @property
    def open(self) -> bool:
        """Whether it is still to be asked for."""
        return self.first <= self.last and not self.lost

    def want(self, most: int) -> Want:
        """The first `most` of it, which have been asked for from now on."""
        self.asked = min(self.last, self.first + most - 1)
        holders = self.chain.holders(self.first, self.asked) - self.absent
        tried = max(self.tried - 1, 0)
        return Want(
            self.chain.name, self.first, self.asked, tried, holders, frozenset(self.absent), self.proven
        )

    def close(self) -> None:
        """It is filled, or there is no such gap."""
        self.last = self.first - 1

    def behind(self, first: int) -> Gap:
        """What is left of it from `first` on, when something has come in its middle."""
        rest = Gap(self.chain, first, self.last, self.due, proven=self.proven)
        rest.tried, rest.asked, rest.lost = self.tried, self.asked, self.lost
        rest.absent = set(self.absent)
        return rest


class Schedule:
    """Gaps by the time at which they are due.

    A gap is asked for `tries` times, each wait half as long again as the one before, and then given up, 5 s after the last time at the soonest.  Times are of one
    clock that never goes back, in seconds.
    """

    def __init__(self, rng: Random, tries: int, p99_ms: float) -> None:
        self._rng = rng
        self.tries = tries
        self.p99_ms = p99_ms
        # Each open gap is here at the time when it is due or earlier; what has been closed goes when it comes up.
        self._heap: list[tuple[float, int, Gap]] = []
        self._serial = count()
        self._compact_at = _LEAST_COMPACTED

    @property
    def patience_s(self) -> float:
        """How long to wait for what nobody is known to have, before asking for it."""
        return _PATIENCE * min(max(self.p99_ms, _LEAST_P99_MS), _MOST_P99_MS) / 1000

    @property
    def longest_s(self) -> float:
        """From when a gap is seen to when it is given up, if nothing of it comes."""
        waits = sum(self._wait(tried) for tried in range(1, self.tries + 1))
        return self.patience_s + (1 + _SPREAD) * waits

    def soon(self, now: float) -> float:
        """When to ask for what somebody has."""
        return now + self._rng.uniform(0, _SPREAD * self.patience_s)

    def again(self, tried: int, now: float) -> float:
        """When to ask again what has been asked for `tried` times."""
        return now + self._wait(tried) * self._rng.uniform(1, 1 + _SPREAD)

    def put(self, gap: Gap) -> None:
        """A new gap, or one that is due earlier than before."""
        heapq.heappush(self._heap, (gap.due, next(self._serial), gap))
        if len(self._heap) > self._compact_at:
            self._compact()

    def pop(self, now: float) -> Gap | None:
        """One that is due, which has to be put again if it is to be due again; None where there is none."""
        due = self.next()
        if due is None or due > now:
            return None
        return heapq.heappop(self._heap)[2]

    def next(self) -> float | None:
        """When the next one is due; None where nothing is missing."""
        while self._heap:
            due, _, gap = self._heap[0]
            if not gap.open:
                heapq.heappop(self._heap)
            elif gap.due > due:
                heapq.heapreplace(self._heap, (gap.due, next(self._serial), gap))
            else:
                return due
        return None

    def _wait(self, tried: int) -> float:
        wait_s = min(self.patience_s * _BACKOFF ** min(tried - 1, _MOST_POWER), _MOST_WAIT_S)
        return wait_s if tried < self.tries else max(wait_s, _LAST_WAIT_S)

    def _compact(self) -> None:
        self._heap = [entry for entry in self._heap if entry[2].open]
        heapq.heapify(self._heap)
        self._compact_at = max(_LEAST_COMPACTED, 2 * len(self._heap))
