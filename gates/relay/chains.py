"""The items of a stream in the order of their chains, each once; what is missing is asked for, and told where it is nowhere.

A gap is seen when a later parcel comes, or when a neighbour says that it has more (heads).  Where a neighbour has what is
missing it is asked for at once; else it is mostly still on its way, and is asked for after three times the delay that only one
parcel in a hundred exceeds.  What was asked for in vain is asked for again, of somebody else, and given up at last: a marker
stands in its place, and what waited behind it goes on.  No chain waits for another.

Heads are not signed.  So what only they tell of is asked only of those who said so (`Want.proven`), and is forgotten without
a marker when it does not come: a neighbour that lies could else make everybody pass over what is yet to come.  A later parcel
proves that there was something, as it is signed.

Whom to ask is the business of whoever calls; and so is dropping what has been here before (duplicates.py), and any clock.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from .counted import Counted
from .gaps import Gap, Schedule, Want
from .ordered import Chain, Delivery, GapMarker, Piece

if TYPE_CHECKING:
    from random import Random

    from .parcels import Parcel

__all__ = ["Delivery", "GapMarker", "Piece", "Sequencer", "SequencerLimits", "Want"]

_MOST_PEERS: Final = 32  # whose words about one chain are kept
_UNASKED_S: Final = 10.0  # how long words count of somebody who can't be asked (yet)


@dataclass(frozen=True, slots=True)
class SequencerLimits:
    """How often what is missing is asked for, how many items at a time, how much may wait behind it, and how many chains are known."""

    tries: int = 5
    want_items: int = 1_000
    held_parcels: int = 10_000
    held_bytes: int = 16 * 1024 * 1024
    chains: int = 10_000
    idle_s: float = 600.0


SEQUENCER_LIMITS: Final = SequencerLimits()


class Sequencer:
    """The chains of one stream.

    A chain that has been idle for too long goes when another comes, or the one that was idle longest where there are too
    many, with markers for what it still missed.  Its place stays known, for as many chains again.  Where too much waits behind
    gaps, the chain that holds back most gives up its oldest one early.

    `p99_ms` is the delay that one parcel in a hundred exceeds, from its publisher to here; 50 to 3,000 are believed.

    All times are of one clock that never goes back, in seconds.
    """

    def __init__(
        self,
        rng: Random,
        limits: SequencerLimits = SEQUENCER_LIMITS,
        *,
        p99_ms: float = 200.0,
        counted: Counted | None = None,
    ) -> None:
        self.asked = 0  # wants that were given
        self.gaps = 0  # that were seen
        self.counted = counted if counted is not None else Counted()
        self._limits = limits
        self._schedule = Schedule(rng, limits.tries, p99_ms)
        self._chains: OrderedDict[bytes, Chain] = OrderedDict()  # the one that was idle longest first
        self._gone: OrderedDict[bytes, int] = OrderedDict()  # the next numbers of chains that went
        self._left: dict[bytes, int] = {}  # and of those that were there before `leave`
        self._stalled: dict[bytes, Chain] = {}  # those that hold something back
        self._held_parcels = 0
        self._held_bytes = 0
        self._asks: dict[Gap, None] = {}  # in order, each once
        self._out: list[Delivery] = []
        self._now = 0.0

    def __len__(self) -> int:
        return len(self._chains)

    @property
    def held_parcels(self) -> int:
        """How many are held back."""
        return self._held_parcels

    @property
    def held_bytes(self) -> int:
        """Of what is held back."""
        return self._held_bytes

    @property
    def p99_ms(self) -> float:
        """As it was given last, by whoever knows better now."""
        return self._schedule.p99_ms

    @p99_ms.setter
    def p99_ms(self, value: float) -> None:
        self._schedule.p99_ms = value

    @property
    def longest_s(self) -> float:
        """How long a gap holds back what is behind it, if nothing of it comes."""
        return self._schedule.longest_s

    def position(self, chain: bytes) -> int | None:
        """The number of the item of this chain that is delivered next; None before its first parcel."""
        known = self._chains.get(chain)
        if known is not None:
            return known.next if known.started else None
        return self._gone.get(chain)

    def begin(self, chain: bytes, after: int, now: float) -> None:
        """Of a chain of which nothing has come, all after the number `after` is wanted, and nothing before it.

        Without this, what neighbours have (heads) says where it begins, and else its first parcel.  A parcel that has a
        lower number than all this is delivered: it is signed.  Nothing happens where something of the chain has come.
        """
        self._now = now
        known = self._chains.get(chain) or self._make(chain, now)
        if not known.started:
            known.begin(after)
            self._reclaim(known, now)

    def heads(  # noqa: PLR0913, PLR0917 - a chain, who, what and when
        self, chain: bytes, oldest: int, newest: int, peer: str, now: float, recent: int = 1
    ) -> None:
        """A neighbour has items of the chain from `oldest` to `newest`, or most of them.

        Where it has none, `oldest` is newest + 1, the number that comes next.  Of a chain that never was here, what comes
        before `recent` is too old to be wanted.
        """
        self._now = now
        known = self._chains.get(chain)
        if known is None:
            if newest < self._gone.get(chain, 0):
                return
            known = self._make(chain, now)
        if known.started and newest < known.next:
            known.claims.pop(peer, None)
        elif peer in known.claims or len(known.claims) < _MOST_PEERS:
            oldest = known.wanted_from(oldest, max(oldest, recent))
            known.claims[peer] = (oldest, newest)
            self._cut(known, oldest, now)
            for gap in known.gaps_in(oldest, newest):
                if gap.open and not gap.asked:
                    self._sooner(gap, self._schedule.soon(now))
        self._reclaim(known, now)

    def absent(self, chain: bytes, first: int, last: int, peer: str, now: float) -> None:
        """A neighbour that was asked has none of these, or its link has ended: the next one is asked at once."""
        self._now = now
        known = self._chains.get(chain)
        if known is None:
            return
        for gap in known.gaps_in(first, last):
            if gap.open and gap.asked and peer not in gap.absent and len(gap.absent) < _MOST_PEERS:
                gap.absent.add(peer)
                self._asks[gap] = None
        tail = known.tail
        if tail is None or tail.first > last or tail.last < first:
            return
        if known.disclaim(peer, first, last):
            self._reclaim(known, now)
            if tail.open:
                # It counts as a try, as who claims to have what it has not could be asked for ever.
                self._sooner(tail, now)

    def unasked(self, chain: bytes, now: float) -> None:
        """Of those who say that they have more of a chain, nobody can be asked yet: that is no try, and may be soon."""
        known = self._chains.get(chain)
        if known is not None and known.tail is not None:
            known.tail.tried, known.tail.due = self._schedule.tries, now + _UNASKED_S

    def linked(self, peer: str, now: float) -> None:
        """A neighbour can be asked from now on, also for what it spoke of before."""
        self._now = now
        for chain in self._chains.values():
            if chain.tail is not None and peer in chain.claims:
                chain.tail.tried = 0
                self._sooner(chain.tail, self._schedule.soon(now))

    def unlinked(self, peer: str, now: float) -> None:
        """It can't be asked any more, and what it said counts no longer, but for where a chain begins."""
        self._now = now
        for chain in self._chains.values():
            if chain.started and chain.claims.pop(peer, None) is not None:
                self._reclaim(chain, now)

    def arrived(self, parcel: Parcel, now: float) -> list[Delivery]:
        """What can be delivered, now that this parcel is here; of other chains too, where too much was held back."""
        self._now = now
        chain = self._chains.get(parcel.chain)
        if chain is None:
            chain = self._make(parcel.chain, now)
        else:
            chain.used_at = now
            self._chains.move_to_end(parcel.chain)
        if not chain.started:
            self._start(chain, parcel.first)
        if parcel.last < chain.next:
            self.counted.late += parcel.count
        else:
            self._take(chain, parcel, now)
        return self._delivered()

    def misses(self, chain: bytes, first: int, last: int) -> bool:
        """Whether one of these is known to be missing, or is beyond all that came of a chain that has started."""
        known = self._chains.get(chain)
        return (
            known is not None and known.started and (last > known.newest or bool(known.gaps_in(first, last)))
        )

    def passed(self, chain: bytes, first: int, last: int, now: float) -> None:
        """These were there, signed, and are no more: what has not come of them by now is a gap like any other."""
        self._now = now
        known = self._chains.get(chain) or self._make(chain, now)
        if not known.started:
            self._start(known, first)
        if last > known.newest:
            known.gaps.append(self._missing(known, known.newest + 1, last, now))
            known.newest = last
            self.gaps += 1
            self._reclaim(known, now)

    def given_up(self, now: float) -> list[Delivery]:
        """What can be delivered, as by this time nobody waits for what is missing before it."""
        self._advance(now)
        return self._delivered()

    def wants(self, now: float) -> list[Want]:
        """What is to be asked for by this time; each is given once, and again when it is due again."""
        self._advance(now)
        asks, self._asks = self._asks, {}
        found = [gap.want(self._limits.want_items) for gap in asks if gap.open]
        self.asked += len(found)
        return found

    def due(self) -> float | None:
        """When `wants` or `given_up` have something next; None while nothing is missing."""
        if self._out or self._asks:
            return self._now
        return self._schedule.next()

    def leave(self) -> None:
        """Nothing comes for a while: each chain goes on with what others have by then, and a marker for what they have not."""
        for chain in list(self._chains.values()):
            for gap in chain.gaps:
                gap.close()
            if chain.tail is not None:
                chain.tail.close()
            self._held_parcels -= len(chain.held)
            self._held_bytes -= chain.held_bytes
            if chain.started or chain.was is not None:
                self._left[chain.name] = chain.next if chain.started else chain.was or 1
        self._left |= self._gone
        self._chains.clear()
        self._gone.clear()
        self._stalled.clear()
        self._asks.clear()
        while len(self._left) > self._limits.chains:
            del self._left[next(iter(self._left))]

    def _start(self, chain: Chain, first: int) -> None:
        chain.start(first)
        if chain.was is not None and chain.was < chain.next:
            self._out.append(self._marker(GapMarker(chain.name, chain.was, chain.next - 1)))

    def _marker(self, marker: GapMarker) -> GapMarker:
        self.counted.markers += 1
        self.counted.lost += marker.last - marker.first + 1
        return marker

    def _take(self, chain: Chain, parcel: Parcel, now: float) -> None:
        fresh = self._extend(chain, parcel, now)
        if chain.gaps:
            fresh = self._fill(chain, parcel, now) or fresh
        if chain.claims:
            self._reclaim(chain, now, came=True)
        if not fresh:
            return
        if parcel.first <= chain.next:
            self._out.append(Piece(parcel, chain.next))
            chain.next = parcel.last + 1
            self._release(chain)
        else:
            chain.hold(parcel)
            self._stalled[chain.name] = chain
            self._held_parcels += 1
            self._held_bytes += len(parcel.data)
            self._give_up_early()

    def _extend(self, chain: Chain, parcel: Parcel, now: float) -> bool:
        """Whether it goes beyond all that came; what is missing before it is a gap from now on."""
        first, last = chain.newest + 1, parcel.first - 1
        if parcel.last < first:
            return False
        chain.newest = parcel.last
        if last < first:
            return True
        # Cut where the others' items begin: what is before that is asked for in vain, the rest is not.
        cuts = {oldest for oldest, _ in chain.claims.values() if first < oldest <= last}
        for begin, after in pairwise((first, *sorted(cuts), last + 1)):
            chain.gaps.append(self._missing(chain, begin, after - 1, now))
            self.gaps += 1
        return True

    def _missing(self, chain: Chain, first: int, last: int, now: float) -> Gap:
        gap = Gap(chain, first, last, now + self._schedule.patience_s, proven=True)
        tail = chain.tail
        if tail is not None and tail.first <= first <= tail.asked:
            # It has been asked for: the answer is waited for.
            gap.asked = min(tail.asked, last)
            gap.due = min(gap.due, tail.due)
        elif chain.holders(first, last):
            gap.due = self._schedule.soon(now)
        self._schedule.put(gap)
        return gap

    def _fill(self, chain: Chain, parcel: Parcel, now: float) -> bool:
        fresh, rest = chain.fill(parcel.first, parcel.last)
        if rest is not None:
            self._schedule.put(rest)
        if fresh:
            for gap in chain.gaps_in(parcel.last + 1, parcel.last + 1):
                self._progress(gap, now)
        return fresh

    def _cut(self, chain: Chain, at: int, now: float) -> None:
        """Somebody's items begin in the middle of a gap: what is behind there is another one."""
        if len(chain.gaps) < len(chain.held) + _MOST_PEERS and (rest := chain.cut(at)) is not None:
            self._schedule.put(rest)
            if rest.first > rest.asked:
                self._progress(rest, now)

    def _progress(self, gap: Gap, now: float) -> None:
        """Its beginning has come: an answer is under way, or has ended and was about a part of it."""
        if not gap.asked or not gap.open:
            return
        if gap.first > gap.asked:
            gap.tried = gap.asked = 0
            gap.absent.clear()
            gap.due = now
            self._schedule.put(gap)
        else:
            gap.due = max(gap.due, self._schedule.again(max(gap.tried, 1), now))

    def _sooner(self, gap: Gap, due: float) -> None:
        if due < gap.due:
            gap.due = due
            self._schedule.put(gap)

    def _reclaim(self, chain: Chain, now: float, *, came: bool = False) -> None:
        """The tail is what others say that they have beyond all that came; `came` where they say the same as before."""
        if chain.started:
            chain.claims = {peer: claim for peer, claim in chain.claims.items() if claim[1] >= chain.next}
        beyond, tail = chain.beyond(), chain.tail
        if beyond is None:
            if tail is not None:
                tail.close()
                chain.tail = None
        elif tail is None:
            chain.tail = Gap(chain, *beyond, self._schedule.soon(now), proven=False)
            self._schedule.put(chain.tail)
        else:
            before, (tail.first, tail.last) = tail.first, beyond
            if came:
                if tail.first > before:
                    self._progress(tail, now)
            elif tail.first != before:
                self._sooner(tail, self._schedule.soon(now))

    def _advance(self, now: float) -> None:
        self._now = now
        while (gap := self._schedule.pop(now)) is not None:
            chain = gap.chain
            if gap.tried < self._schedule.tries:
                gap.tried += 1
                gap.absent.clear()
                gap.due = self._schedule.again(gap.tried, now)
                self._schedule.put(gap)
                self._asks[gap] = None
            elif gap.proven:
                gap.lost = True
                self._release(chain)
            else:
                self.counted.forgotten += 1
                chain.claims = {
                    peer: claim for peer, claim in chain.claims.items() if claim[1] <= chain.newest
                }
                self._reclaim(chain, now)

    def _release(self, chain: Chain) -> None:
        if not chain.gaps and not chain.held:
            return
        parcels, size = len(chain.held), chain.held_bytes
        for delivery in chain.release():
            self._out.append(self._marker(delivery) if isinstance(delivery, GapMarker) else delivery)
        self._held_parcels -= parcels - len(chain.held)
        self._held_bytes -= size - chain.held_bytes
        if not chain.held:
            self._stalled.pop(chain.name, None)

    def _give_up_early(self) -> None:
        while self._held_parcels > self._limits.held_parcels or self._held_bytes > self._limits.held_bytes:
            chain = max(self._stalled.values(), key=self._share)
            chain.gaps[0].lost = True
            self.counted.early += 1
            self._release(chain)

    def _share(self, chain: Chain) -> float:
        return len(chain.held) / self._limits.held_parcels + chain.held_bytes / self._limits.held_bytes

    def _delivered(self) -> list[Delivery]:
        out, self._out = self._out, []
        return out

    def _make(self, name: bytes, now: float) -> Chain:
        chain = self._chains[name] = Chain(name, now)
        place = self._gone.pop(name, None)
        if place is not None:
            chain.go_on(place)
        else:
            chain.was = self._left.pop(name, None)
        while (oldest := next(iter(self._chains.values()))) is not chain:
            if len(self._chains) <= self._limits.chains and oldest.used_at + self._limits.idle_s > now:
                break
            self._let_go(oldest)
        return chain

    def _let_go(self, chain: Chain) -> None:
        for gap in chain.gaps:
            gap.lost = True
        self._release(chain)
        if chain.tail is not None:
            chain.tail.close()
        del self._chains[chain.name]
        if chain.started:
            self._gone[chain.name] = chain.next
            if len(self._gone) > self._limits.chains:
                self._gone.popitem(last=False)
