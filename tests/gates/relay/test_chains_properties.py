"""Any losses, repetitions and detours: each item once and in order, or told by one marker, and nobody waits too long."""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import count
from random import Random

from hypothesis import event, given, settings
from hypothesis import strategies as st
from support.chained import chain_of, unsigned

from triplewire.gates.relay.chains import GapMarker, Sequencer, SequencerLimits

P99_MS = 100.0
ROUNDING_S = 1e-6


@dataclass(frozen=True)
class Weather:
    """How bad it is; all chances from 0 to 1, all delays in seconds."""

    seed: int
    chains: int
    parcels: int
    largest: int  # items in a parcel
    copies: int  # of each parcel over different links
    loses: float  # a copy on its way
    longest_s: float  # a copy is on its way
    peers: int
    keeps: float  # a neighbour gets a parcel and has it
    deaf: float  # an answer, or a question, is lost
    says_absent: bool  # else a neighbour that has nothing is silent
    tells_heads: float  # a neighbour speaks up behind a parcel
    lies: bool  # one of them tells of what there is not
    begins: bool  # it is said from where on a chain is wanted
    want_items: int
    held_parcels: int


WEATHERS = st.builds(
    Weather,
    seed=st.integers(0, 2**32),
    chains=st.integers(1, 3),
    parcels=st.integers(1, 25),
    largest=st.integers(1, 4),
    copies=st.integers(1, 3),
    loses=st.sampled_from([0.0, 0.1, 0.5, 0.9]),
    longest_s=st.sampled_from([0.0, 0.05, 0.2, 3.0]),
    peers=st.integers(0, 3),
    keeps=st.sampled_from([0.0, 0.5, 1.0]),
    deaf=st.sampled_from([0.0, 0.3, 1.0]),
    says_absent=st.booleans(),
    tells_heads=st.sampled_from([0.0, 0.2, 1.0]),
    lies=st.booleans(),
    begins=st.booleans(),
    want_items=st.sampled_from([1, 3, 1_000]),
    held_parcels=st.sampled_from([3, 1_000]),
)


@dataclass
class Told:
    """What came out of one chain, and the naive rules for it: a set of what has come, and where the order is."""

    come: set[int] = field(default_factory=set)
    delivered: set[int] = field(default_factory=set)
    marked: set[int] = field(default_factory=set)
    next: int | None = None
    moved_at: float = 0.0

    def take(self, delivery, now):
        """In order, each once, and a marker only for what has not come."""
        last = delivery.last if isinstance(delivery, GapMarker) else delivery.parcel.last
        assert self.next is None or delivery.first == self.next
        assert delivery.first <= last
        numbers = set(range(delivery.first, last + 1))
        if isinstance(delivery, GapMarker):
            assert not numbers & self.come
            self.marked |= numbers
        else:
            assert delivery.parcel.first <= delivery.first
            assert numbers <= self.come
            self.delivered |= numbers
        self.next = last + 1
        self.moved_at = now

    def waits(self):
        """Whether something has come that is not delivered yet."""
        return bool(self.come) and self.next is not None and max(self.come) >= self.next


class World:
    """One node between publishers and neighbours; time is a heap of what happens."""

    def __init__(self, weather):
        self.weather = weather
        self.rng = Random(weather.seed)
        limits = SequencerLimits(want_items=weather.want_items, held_parcels=weather.held_parcels)
        self.into = Sequencer(Random(weather.seed), limits, p99_ms=P99_MS)
        self.now = 0.0
        self.told = defaultdict(Told)
        self.published = {}
        self.kept = [defaultdict(list) for _ in range(weather.peers)]
        self.asks = 0
        self._events = []
        self._steps = count()
        self._serial = count()
        for number in range(weather.chains):
            self._plan(chain_of(number))

    def run(self):
        """Until nothing happens any more."""
        while self._events or self.into.due() is not None:
            due = self.into.due()
            assert next(self._steps) < 20_000  # it comes to an end
            if self._events and (due is None or self._events[0][0] <= due):
                self.now, _, happens = heapq.heappop(self._events)
                happens()
            else:
                self.now = max(self.now, due)
            self._take(self.into.given_up(self.now))
            for want in self.into.wants(self.now):
                self._ask(want)
            self._check()

    def _plan(self, chain):
        weather, first, at = self.weather, 1, 0.0
        if weather.begins:
            self.into.begin(chain, 0, 0.0)
        for _ in range(weather.parcels):
            parcel = unsigned(first, self.rng.randint(1, weather.largest), chain)
            first = parcel.last + 1
            at += self.rng.choice((0.0, 0.01, 0.1))
            for _ in range(weather.copies):
                if self.rng.random() >= weather.loses:
                    self._later(
                        at + self.rng.uniform(0, weather.longest_s), lambda one=parcel: self._come(one)
                    )
            for peer in range(weather.peers):
                if self.rng.random() < weather.keeps:
                    self._later(at, lambda peer=peer, one=parcel: self.kept[peer][chain].append(one))
                if self.rng.random() < weather.tells_heads:
                    self._later(at + self.rng.uniform(0, 0.5), lambda peer=peer: self._tell(peer, chain))
        self.published[chain] = first - 1

    def _later(self, at, happens):
        heapq.heappush(self._events, (at, next(self._serial), happens))

    def _come(self, parcel):
        told = self.told[parcel.chain]
        if told.next is None or parcel.last >= told.next:
            # What comes too late has not come: its place has passed.
            passed = 0 if told.next is None else told.next - 1
            if not told.waits():
                told.moved_at = self.now
            told.come.update(range(max(parcel.first, passed + 1), parcel.last + 1))
        self._take(self.into.arrived(parcel, self.now))
        if told.next is None:
            told.next = self.into.position(parcel.chain)

    def _tell(self, peer, chain):
        if self.weather.lies and peer == 0:
            oldest = self.rng.choice((1, 5, 1_000, 2**60))
            newest = oldest + self.rng.choice((-1, 0, 3, 2**61))
        else:
            kept = self.kept[peer][chain]
            if not kept:
                return
            oldest, newest = min(one.first for one in kept), max(one.last for one in kept)
        self.into.heads(chain, oldest, newest, f"peer {peer}", self.now)

    def _ask(self, want):
        self.asks += 1
        assert want.first > 0
        assert 0 < want.last - want.first + 1 <= self.weather.want_items
        asked = [name for name in sorted(want.holders) if name not in want.absent]
        if not asked and want.proven:
            asked = [
                name for name in map("peer {}".format, range(self.weather.peers)) if name not in want.absent
            ]
        if not asked or self.rng.random() < self.weather.deaf:
            return
        name = self.rng.choice(asked)
        kept = self.kept[int(name.split()[1])][want.chain]
        answer_at = self.now + self.rng.uniform(0, 0.2)
        at = want.first
        for parcel in sorted(kept, key=lambda one: one.first):
            if parcel.last >= want.first:
                if at < parcel.first and at <= want.last:
                    self._lacks(name, want.chain, at, parcel.first - 1, answer_at)
                at = parcel.last + 1
                if parcel.first <= want.last and self.rng.random() >= self.weather.deaf:
                    self._later(answer_at, lambda one=parcel: self._come(one))
        if at <= want.last:
            self._lacks(name, want.chain, at, want.last, answer_at)

    def _lacks(self, name, chain, first, last, at):
        """Said behind what it has, as far as there is nothing."""
        if self.weather.says_absent:
            self._later(at + 0.001, lambda: self.into.absent(chain, first, last, name, self.now))

    def _take(self, deliveries):
        for each in deliveries:
            chain = each.chain if isinstance(each, GapMarker) else each.parcel.chain
            self.told[chain].take(each, self.now)

    def _check(self):
        assert self.into.held_parcels <= self.weather.held_parcels
        for told in self.told.values():
            if told.waits():
                assert self.now - told.moved_at <= self.into.longest_s + ROUNDING_S


def check_end(world):
    """All that has come was delivered, and whatever is before the last of it was delivered or told."""
    for chain, told in world.told.items():
        assert told.delivered == told.come
        assert not told.delivered & told.marked
        if told.come:
            assert told.next == max(told.come) + 1
            everything = told.delivered | told.marked
            assert everything == set(range(min(everything), told.next))
            if world.weather.begins:
                assert min(everything) == 1
        assert max(told.come, default=0) <= world.published[chain]
    assert world.into.held_parcels == world.into.held_bytes == 0
    assert world.into.due() is None
    assert world.into.counted.lost == sum(len(told.marked) for told in world.told.values())


@settings(max_examples=400, deadline=None)
@given(WEATHERS)
def test_each_item_once_or_told(weather):
    """In any weather."""
    world = World(weather)
    world.run()
    check_end(world)
    event(
        f"markers: {bool(world.into.counted.markers)}, asked: {bool(world.asks)}, early: {bool(world.into.counted.early)}"
    )


@settings(max_examples=150, deadline=None)
@given(WEATHERS, st.booleans())
def test_what_a_neighbour_has_is_not_given_up(weather, heads):
    """Where one has everything and answers, all is delivered, whatever was lost before it got here."""
    calm = {
        "peers": max(weather.peers, 2),  # the first may be a liar
        "keeps": 1.0,
        "deaf": 0.0,
        "says_absent": True,
        "begins": True,
        "held_parcels": 1_000,
        "tells_heads": 1.0 if heads else 0.0,
    }
    world = World(Weather(**{**vars(weather), **calm}))
    world.run()
    check_end(world)
    assert world.into.counted.markers == 0
    for chain, last in world.published.items():
        told = world.told[chain]
        assert told.delivered == set(range(1, max(told.come, default=0) + 1))
        if heads and not weather.lies:
            # Heads tell of a tail that was lost as well.
            assert told.delivered == set(range(1, last + 1))


@settings(max_examples=150, deadline=None)
@given(WEATHERS)
def test_where_nothing_is_lost_nothing_is_asked_for(weather):
    """But what heads tell of before it is here."""
    calm = {"loses": 0.0, "longest_s": 0.1, "tells_heads": 0.0, "held_parcels": 1_000, "begins": True}
    world = World(Weather(**{**vars(weather), **calm}))
    world.run()
    check_end(world)
    assert (world.asks, world.into.counted.markers) == (0, 0)
    assert all(
        told.delivered == set(range(1, world.published[chain] + 1)) for chain, told in world.told.items()
    )
