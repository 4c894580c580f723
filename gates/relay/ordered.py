"""One chain in order: what has come too early is held back, what is missing is known, and both leave in their turn."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from triplewire.broker.wire.items import Item

    from .gaps import Gap
    from .parcels import Parcel

_first = attrgetter("first")
_last = attrgetter("last")


@dataclass(frozen=True, slots=True)
class Piece:
    """A parcel from its item with the number `first` on: all of it, but where it overlaps with what was delivered before."""

    parcel: Parcel
    first: int

    def of(self, items: list[Item]) -> list[Item]:
        """Of all items of the parcel those that are to be delivered."""
        return items[self.first - self.parcel.first :]


@dataclass(frozen=True, slots=True)
class GapMarker:
    """The items `first` to `last` of the chain are not to be had.

    Where that is not `certain`, there may be such items, and what comes of them later is given all the same.  Without a chain
    it is about all that was published between two times, in seconds since 1970.
    """

    chain: bytes
    first: int
    last: int
    certain: bool = True


Delivery: TypeAlias = Piece | GapMarker


class Chain:
    """Delivered is all before `next`; from there to `newest` each number is held back, or in one of the `gaps`.

    Nothing of that counts until the chain has started, with its first parcel.  `claims` are what others say that they have,
    by their names: from the oldest number to the newest.  What they have beyond `newest` is the `tail`.  What they have before
    the `floor` is too old to be wanted where the chain has not started; `was` is where it stood before everything was left.
    """

    __slots__ = (
        "begun",
        "claims",
        "floor",
        "gaps",
        "held",
        "held_bytes",
        "name",
        "newest",
        "next",
        "started",
        "tail",
        "used_at",
        "was",
    )

    def __init__(self, name: bytes, now: float) -> None:
        self.name = name
        self.used_at = now
        self.started = False
        self.begun: int | None = None  # what comes after this is wanted
        self.floor: int | None = None
        self.was: int | None = None
        self.next = 1
        self.newest = 0
        self.held: list[Parcel] = []
        self.held_bytes = 0
        self.gaps: list[Gap] = []
        self.tail: Gap | None = None
        self.claims: dict[str, tuple[int, int]] = {}

    def wanted_from(self, oldest: int, recent: int) -> int:
        """From where on what somebody has from `oldest` on is wanted here, of which what comes before `recent` is old."""
        if self.started or self.begun is not None:
            return oldest
        if self.was is not None:
            return max(oldest, self.was)
        self.floor = recent if self.floor is None else min(self.floor, recent)
        return max(oldest, self.floor)

    def begin(self, after: int) -> None:
        """What comes after this number is wanted, and nothing else that others say they have."""
        self.begun = after if self.begun is None else min(self.begun, after)
        self.newest = self.begun

    def start(self, first: int) -> None:
        """With the item of this number, or before it where that is wanted, or others have what stands there."""
        if self.begun is not None:
            first = min(first, self.begun + 1)
        elif self.claims:
            first = min(first, *(oldest for oldest, _ in self.claims.values()))
        self.go_on(max(first, self.was or first))

    def go_on(self, number: int) -> None:
        """The item of this number is the next one to be delivered."""
        self.started = True
        self.next = number
        self.newest = number - 1

    def holders(self, first: int, last: int) -> frozenset[str]:
        """Who says that it has some of these."""
        return frozenset(
            name for name, (oldest, newest) in self.claims.items() if max(oldest, first) <= min(newest, last)
        )

    def disclaim(self, name: str, first: int, last: int) -> bool:
        """One that claimed to have some of these has none of them; whether it did."""
        claim = self.claims.get(name)
        if claim is None or claim[0] > last or claim[1] < first:
            return False
        oldest, newest = (last + 1, claim[1]) if claim[0] >= first else (claim[0], first - 1)
        if oldest <= newest:
            self.claims[name] = (oldest, newest)
        else:
            del self.claims[name]
        return True

    def beyond(self) -> tuple[int, int] | None:
        """From where to where others have more than what came; None where they have not."""
        beyond = [claim for claim in self.claims.values() if claim[0] <= claim[1] > self.newest]
        if not beyond:
            return None
        oldest = min(claim[0] for claim in beyond)
        return max(self.newest + 1, oldest), max(claim[1] for claim in beyond)

    def gaps_in(self, first: int, last: int) -> list[Gap]:
        """Those that have some of these numbers, in order."""
        at = bisect_left(self.gaps, first, key=_last)
        found = []
        while at < len(self.gaps) and self.gaps[at].first <= last:
            found.append(self.gaps[at])
            at += 1
        return found

    def fill(self, first: int, last: int) -> tuple[bool, Gap | None]:
        """Whether any of these was missing, which it is not any more; and what a gap in whose middle they are has behind them."""
        found = self.gaps_in(first, last)
        for gap in found:
            if gap.first < first and gap.last > last:
                rest = self._behind(gap, last + 1)
                gap.last = first - 1
                return True, rest
            if gap.last > last:
                gap.first = last + 1
            elif gap.first < first:
                gap.last = first - 1
            else:
                self.gaps.remove(gap)
                gap.close()
        return bool(found), None

    def cut(self, at: int) -> Gap | None:
        """The gap that has this number and the one before it is two from now on, and this is the second."""
        found = self.gaps_in(at, at)
        if not found or found[0].first == at:
            return None
        rest = self._behind(found[0], at)
        found[0].last = at - 1
        return rest

    def hold(self, parcel: Parcel) -> None:
        """Until what is missing before it is there, or given up."""
        insort(self.held, parcel, key=_first)
        self.held_bytes += len(parcel.data)

    def release(self) -> list[Delivery]:
        """What can be delivered now."""
        out: list[Delivery] = []
        taken = marked = 0
        while True:
            if taken < len(self.held) and self.held[taken].first <= self.next:
                parcel = self.held[taken]
                taken += 1
                self.held_bytes -= len(parcel.data)
                if parcel.last >= self.next:
                    out.append(Piece(parcel, self.next))
                    self.next = parcel.last + 1
            elif marked < len(self.gaps) and self.gaps[marked].lost and self.gaps[marked].first == self.next:
                gap = self.gaps[marked]
                marked += 1
                first = gap.first
                if out and isinstance(out[-1], GapMarker):
                    first = out.pop().first
                out.append(GapMarker(self.name, first, gap.last))
                self.next = gap.last + 1
            else:
                break
        del self.held[:taken]
        del self.gaps[:marked]
        return out

    def _behind(self, gap: Gap, first: int) -> Gap:
        rest = gap.behind(first)
        insort(self.gaps, rest, key=_first)
        return rest
