"""A consumer that is moved from relay to relay gets what a list says: each item once, in each publisher's order.

The relays are real histories that take the items of each publisher at their own delay, the clock is turned by hand.
"""

from __future__ import annotations

import random
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from triplewire.broker.config import StreamConfig
from triplewire.broker.errors import ConnectionLost
from triplewire.broker.wire.items import Item, encode_item
from triplewire.clients.flows import Call, Reply, Wait
from triplewire.clients.streams.following import Following, Read, Told
from triplewire.clients.streams.remembered import MARGIN_S
from triplewire.clients.streams.settings import StreamSettings
from triplewire.gates.stream.entry import Entry
from triplewire.gates.stream.history import History
from triplewire.gates.stream.stream import timestamp

TRACKER = "http://tracker/consume/events/compressed"
# Of two items, each can be so much later at one relay than at the other: together not more than the consumer's margin.
MOST_DELAY_S = MARGIN_S / 2 - 0.01


class Relay:
    """Takes each publisher's items in their order, so many seconds after they were published; what is `late` then."""

    def __init__(self, url, items, delays, *, dropped=(), late=None, most=100_000):  # noqa: PLR0913
        self.url = url
        late = late or {}
        coming = sorted(
            (max(at + delays[publisher], late.get(n, 0.0)), n)
            for n, (at, publisher) in enumerate(items)
            if n not in dropped
        )
        self.coming = [(at, items[n][1], n) for at, n in coming]
        # What a publisher says of when it was is in every other item
        self._stamps = [None if n % 2 else timestamp(at) for n, (at, _) in enumerate(items)]
        self.now = 0.0
        self.history = History("events", StreamConfig(history_items=most), lambda: self.now)
        self._next = 0
        self._numbers = count(1)

    def take(self, now):
        """All that comes up to this moment; the items with when they came."""
        taken = []
        while self._next < len(self.coming) and self.coming[self._next][0] <= now:
            at, publisher, number = self.coming[self._next]
            self.now = at
            item = Item(f"e{number}", f"p{publisher}", "text/plain", timestamp=self._stamps[number])
            self.history.add([Entry(next(self._numbers), item, at)])
            taken.append((at, item))
            self._next += 1
        self.now = now
        return taken


class World:
    """A consumer, and what it does from one moment to another."""

    def __init__(self, relays, follower):
        self.relays, self.follower = relays, follower
        self.now = 0.0
        self.got = []
        self.replayed = []  # how many items each connection began with
        self._live = None

    def run(self, begin, moves):
        """Follow from `begin` on, each relay of `moves` up to its moment.

        Where a move has a third part, it is made at that moment only, and the relay dies when it has sent so many of the
        items that it begins with.
        """
        self.now = begin
        flow = self.follower.flow()
        step = next(flow)
        for name, until, *cut in moves:
            if cut:
                self.now = max(self.now, until)
            step = self._open(flow, step, name, *cut)
            relay = self.relays[name]
            for at, item in relay.take(until):
                self.now = at
                step = self._give(flow, step, [item])
            self.now = max(self.now, until)
            step = flow.throw(ConnectionLost("the relay is dead"))
        flow.close()

    def _open(self, flow, step, name, cut=None):
        while isinstance(step, Wait):
            self.now += step.seconds
            step = next(flow)
        assert isinstance(step, Call)
        relay = self.relays[name]
        step = flow.send(Reply(307, {"location": relay.url}))
        given = dict(step.params)
        relay.take(self.now)
        history = relay.history
        overlap_s = float(given.get("overlap", 0))
        away_s = float(given["away"]) if "away" in given else None
        first = history.replay(given.get("last-seen"), overlap_s=overlap_s, away_s=away_s).entries
        covered = history.covered_s(given["last-seen"], overlap_s) if "overlap" in given else None
        step = flow.send(Reply(200, {"triplewire-overlap": f"{covered:.3f}"} if covered is not None else {}))
        self.replayed.append(len(first))
        return self._give(flow, step, [entry.item for entry in first[:cut]])

    def _give(self, flow, step, items):
        assert isinstance(step, Read)
        if not items:
            return step
        step = flow.send(b"".join(map(encode_item, items)))
        if isinstance(step, tuple):
            self.got += step
            step = next(flow)
        return step


PUBLISHERS = 3
FULL = 400  # items in 40 s
items_of = st.lists(
    st.tuples(st.floats(0.0, 40.0), st.integers(0, PUBLISHERS - 1)), min_size=1, max_size=120
).map(sorted)
delays_of = st.lists(st.floats(0.0, MOST_DELAY_S), min_size=PUBLISHERS, max_size=PUBLISHERS)


def world(items, delays, *, remembered=32_768, dropped=(), late=None, most=100_000):  # noqa: PLR0913
    """`late` are items that come to the relay `a` later, `dropped` those that come to no other; each keeps so many."""
    relays = {
        name: Relay(f"http://{name}/events/compressed", items, each, dropped=dropped, most=most)
        for name, each in zip("abc", delays, strict=True)
    }
    relays["a"] = Relay(relays["a"].url, items, delays[0], late=late, most=most)
    gaps = []
    made = {}
    follower = Following(
        [TRACKER],
        StreamSettings(remembered_ids=remembered, backoff_longest_s=0.2),
        told=Told(on_gap=gaps.append),
        rng=random.Random(7),
        clock=lambda: made["world"].now if made else 0.0,
        wall_clock=lambda: made["world"].now if made else 0.0,
    )
    made["world"] = World(relays, follower)
    return made["world"], gaps


def in_order(got):
    by_publisher = {}
    for item in got:
        by_publisher.setdefault(item.source_id, []).append(int(item.event_id[1:]))
    return all(numbers == sorted(numbers) for numbers in by_publisher.values())


@settings(max_examples=100, deadline=None)
@given(
    items_of,
    st.tuples(delays_of, delays_of, delays_of),
    st.floats(0.0, 5.0),
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(0.0, 8.0)), max_size=4),
)
def test_each_item_once_and_none_lost(items, delays, begin, moves):
    """From the first connection on: all that the relay where it began would have given, if it had not died.

    Who had nothing there knows nothing to go on from; who had it in the last moment only, may have it from nowhere else.
    """
    here, gaps = world(items, delays)
    until = begin + 4.0
    plan = [("a", until)]
    for name, seconds in moves:
        until += 0.5 + seconds
        plan.append((name, until))
    here.run(begin, [*plan, ("b", until + 60.0)])

    numbers = [int(item.event_id[1:]) for item in here.got]
    there = {n: at + delays[0][publisher] for n, (at, publisher) in enumerate(items)}
    assert len(numbers) == len(set(numbers))
    if any(begin < at <= begin + 4.0 for at in there.values()):
        assert {n for n, at in there.items() if at > begin} <= set(numbers)
    if any(begin < at <= begin + 3.0 for at in there.values()):
        assert gaps == []
    if min(there.values()) > begin:  # else the moment before it may be given, too, where little came since
        assert in_order(here.got)


@settings(max_examples=40, deadline=None)
@given(st.tuples(delays_of, delays_of, delays_of), st.integers(0, 2**32), st.floats(3.0, 30.0))
def test_a_stream_in_full_flow(delays, seed, moved_at):
    """Ten items a second: all is exact, also what begins in the middle, and nothing is told to be missing."""
    rng = random.Random(seed)
    items = sorted((rng.uniform(0.0, 40.0), rng.randrange(PUBLISHERS)) for _ in range(FULL))
    here, gaps = world(items, delays)
    here.run(1.0, [("a", 1.0 + moved_at), ("b", 20.0 + moved_at), ("a", 120.0)])

    numbers = [int(item.event_id[1:]) for item in here.got]
    expected = {n for n, (at, publisher) in enumerate(items) if at + delays[0][publisher] > 1.0}
    assert len(numbers) == len(set(numbers))
    assert set(numbers) == expected
    assert in_order(here.got)
    assert gaps == []


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(delays_of, delays_of, delays_of),
    st.integers(0, 2**32),
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(0.0, 8.0), st.integers(0, 120)), max_size=5),
)
def test_relays_that_die_while_they_send_what_was_missed(delays, seed, deaths):
    """One after the other, in the middle, with long absences before: what had not come yet comes from another."""
    rng = random.Random(seed)
    items = sorted((rng.uniform(0.0, 60.0), rng.randrange(PUBLISHERS)) for _ in range(FULL))
    here, gaps = world(items, delays)
    plan, until = [("a", 9.0)], 9.0
    for name, seconds, cut in deaths:
        until += seconds
        plan.append((name, until, cut))
    here.run(1.0, [*plan, ("b", 160.0)])

    numbers = [int(item.event_id[1:]) for item in here.got]
    expected = {n for n, (at, publisher) in enumerate(items) if at + delays[0][publisher] > 1.0}
    assert len(numbers) == len(set(numbers))
    assert set(numbers) == expected
    assert in_order(here.got)
    assert gaps == []


@settings(max_examples=25, deadline=None)
@given(st.tuples(delays_of, delays_of, delays_of), st.integers(0, 2**32), st.integers(60, 250))
def test_a_stream_that_is_too_fast_for_what_is_remembered(delays, seed, remembered):
    """Has a shorter overlap, and still nothing comes twice."""
    rng = random.Random(seed)
    items = sorted((rng.uniform(0.0, 40.0), rng.randrange(PUBLISHERS)) for _ in range(FULL))
    here, gaps = world(items, delays, remembered=remembered)
    here.run(1.0, [("a", 25.0), ("b", 120.0)])

    numbers = [int(item.event_id[1:]) for item in here.got]
    assert len(numbers) == len(set(numbers))
    assert in_order(here.got)
    assert {n for n, (at, publisher) in enumerate(items) if at + delays[0][publisher] > 1.0} <= set(numbers)
    assert gaps == []
    assert here.replayed[1] <= 2 * remembered


@settings(max_examples=25, deadline=None)
@given(st.tuples(delays_of, delays_of, delays_of), st.integers(0, 2**32), st.floats(0.0, 1.5))
def test_what_died_with_a_relay(delays, seed, alone_s):
    """Its last items, which no other relay has: the others' come all the same, and none again."""
    rng = random.Random(seed)
    items = sorted((rng.uniform(0.0, 40.0), rng.randrange(PUBLISHERS)) for _ in range(FULL))
    dropped = {n for n, (at, publisher) in enumerate(items) if publisher == 0 and 25.0 - alone_s < at < 25.0}
    here, gaps = world(items, delays, dropped=dropped)
    here.run(1.0, [("a", 25.0), ("b", 120.0)])

    numbers = [int(item.event_id[1:]) for item in here.got]
    expected = {n for n, (at, publisher) in enumerate(items) if at + delays[0][publisher] > 1.0}
    assert len(numbers) == len(set(numbers))
    assert expected - dropped <= set(numbers)
    assert in_order(here.got)
    assert gaps == []


def stalled(seed, since):
    """Items of which those of the first publisher come to the relay `a` no more after this moment; and which these are."""
    rng = random.Random(seed)
    items = sorted((rng.uniform(0.0, 60.0), rng.randrange(PUBLISHERS)) for _ in range(FULL))
    return items, {n for n, (at, publisher) in enumerate(items) if publisher == 0 and at > since}


@settings(max_examples=25, deadline=None)
@given(st.tuples(delays_of, delays_of, delays_of), st.integers(0, 2**32), st.floats(5.0, 50.0))
def test_a_relay_that_waits_for_one_publisher_dies(delays, seed, since):
    """All others have had its items meanwhile: they come from there, though others' came long since."""
    items, late = stalled(seed, since)
    here, gaps = world(items, delays, late=dict.fromkeys(late, 100.0))
    here.run(1.0, [("a", 55.0), ("b", 120.0)])

    numbers = [int(item.event_id[1:]) for item in here.got]
    expected = {n for n, (at, publisher) in enumerate(items) if at + delays[0][publisher] > 1.0}
    assert len(numbers) == len(set(numbers))
    assert set(numbers) == expected
    assert in_order(here.got)
    assert gaps == []


@settings(max_examples=25, deadline=None)
@given(st.tuples(delays_of, delays_of, delays_of), st.integers(0, 2**32))
def test_what_the_next_relay_no_longer_has_of_such_a_publisher_is_told(delays, seed):
    """Before the first item of it that comes, and of nobody else's."""
    items, late = stalled(seed, 20.0)
    here, gaps = world(items, delays, late=dict.fromkeys(late, 100.0), most=60)
    here.run(1.0, [("a", 55.0), ("b", 120.0)])

    numbers = {int(item.event_id[1:]) for item in here.got}
    assert late - numbers
    assert [gap.first.event_id for gap in gaps] == [f"e{min(late & numbers)}"]


def test_a_relay_with_old_items_does_not_give_them():
    """Where nothing that was had is known there: it was in another part of the stream until now."""
    items = [(float(n), n % PUBLISHERS) for n in range(50)]
    here, gaps = world(items, [[0.0] * PUBLISHERS] * 3, dropped=set(range(20, 45)))
    here.run(30.5, [("a", 42.5), ("b", 120.0)])

    assert [int(item.event_id[1:]) for item in here.got] == [*range(31, 43), *range(45, 50)]
    assert [gap.first.event_id for gap in gaps] == ["e45"]
