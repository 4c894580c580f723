"""Any publishers, loads and readers: each item in one batch, in order, in time; who comes back misses nothing."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from support.stepped import Reader, SteppedLoop, ids, item, stream_of

from triplewire.gates.stream.feed import join, join_now

TICK_S = 0.001  # of a rounding of moments


@given(
    least=st.sampled_from([0.0, 0.05, 0.5]),
    wider=st.sampled_from([0.0, 0.2, 1.0]),
    steps=st.lists(st.tuples(st.integers(0, 4), st.floats(0.0, 0.6), st.floats(0.0, 2.0)), max_size=40),
)
def test_each_item_leaves_once_in_order_and_in_time(least, wider, steps):
    """Whatever comes when, and whatever the server says of its load."""
    loop = SteppedLoop()
    most = least + wider
    stream = stream_of(loop, window_s=least, window_most_s=most)
    reader = Reader(stream, loop)
    taken = {}
    for count, pause, took in steps:
        for _ in range(count):
            stream.take([item(f"e{len(taken) + 1}")], "us")
            taken[len(taken) + 1] = loop.time()
        stream.took(took)
        loop.advance(pause)
    loop.advance(most + TICK_S)
    numbers = [entry.number for batch in reader.batches for entry in batch.entries]
    assert numbers == list(range(1, len(taken) + 1))
    assert all(reader.times[number] - taken[number] <= most + TICK_S for number in taken)
    moments = [reader.times[batch.first] for batch in reader.batches]
    assert all(later - earlier >= least - TICK_S for earlier, later in pairwise(moments))


class Returning:
    """A client that comes and goes, with what it saw last; `now` is one of /priority."""

    def __init__(self, stream, *, now):
        self.stream, self.now = stream, now
        self.seen = []
        self.end = None

    @property
    def items(self):
        """What it has seen, without signs of life."""
        return [event_id for event_id in self.seen if event_id.startswith("item")]

    def come(self):
        if self.end is None:
            last_seen = self.seen[-1] if self.seen else "none"
            first, self.position = (join_now if self.now else join)(self.stream, last_seen, None)
            listen = self.stream.listen_now if self.now else self.stream.listen
            self.end = listen(self.hear)
            self.seen += ids(first)

    def hear(self, batch):
        self.seen += ids(batch.after(self.position))

    def go(self):
        if self.end is not None:
            self.end()
            self.end = None


class Readers(RuleBasedStateMachine):
    """Two of each kind, over a history that holds all: what each has seen is a beginning of what was taken."""

    @initialize(window=st.sampled_from([0.0, 0.3, 2.0]))
    def begin(self, window):
        self.loop = SteppedLoop()
        self.stream = stream_of(self.loop, window_s=window, window_most_s=2.0, silence_s=10.0)
        self.readers = [Returning(self.stream, now=now) for now in (False, False, True, True)]
        self.taken = []

    @rule(count=st.integers(1, 3), again=st.booleans())
    def publish(self, count, again):
        fresh = [f"item {len(self.taken) + 1 + number}" for number in range(count)]
        old = self.taken[-1:] if again else []
        self.stream.take([item(event_id) for event_id in (*old, *fresh)], "us")
        self.taken += fresh

    @rule(seconds=st.sampled_from([0.0, 0.1, 0.5, 6.0]), took=st.sampled_from([0.0, 0.1, 3.0]))
    def wait(self, seconds, took):
        self.stream.took(took)
        self.loop.advance(seconds)

    @rule()
    def step(self):
        self.loop.step()

    @rule(number=st.integers(0, 3))
    def come(self, number):
        self.readers[number].come()

    @rule(number=st.integers(0, 3))
    def go(self, number):
        self.readers[number].go()

    @rule(here=st.integers(0, 3), there=st.integers(0, 3))
    def go_on_elsewhere(self, here, there):
        """A client takes up at another URI where it was; a sign of life may be what it saw last."""
        first, second = self.readers[here], self.readers[there]
        first.go()
        second.go()
        second.seen = list(first.seen)
        second.come()

    @invariant()
    def nobody_misses_anything_or_hears_it_twice(self):
        for reader in self.readers:
            assert reader.items == self.taken[: len(reader.items)]

    def teardown(self):
        if hasattr(self, "stream"):
            self.loop.advance(3)
            for reader in self.readers:
                reader.come()
            self.loop.advance(3)
            self.stream.close()
            self.nobody_misses_anything_or_hears_it_twice()
            assert {len(reader.items) for reader in self.readers} == {len(self.taken)}


TestReaders = Readers.TestCase
TestReaders.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
