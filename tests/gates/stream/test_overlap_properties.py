"""A replay with an overlap is what a list would say that is walked back, whatever came when."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.stepped import ids, item

from triplewire.broker.config import StreamConfig
from triplewire.broker.wire.items import TEST_CONNECTION, command_item
from triplewire.gates.stream.entry import Entry
from triplewire.gates.stream.history import History

STEPS = st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=40)
SET_BACK = st.lists(st.tuples(st.integers(-60, 60), st.booleans()), max_size=40)


class Walked:
    """The same by a plain list: all that came, and what is kept of it."""

    def __init__(self, steps, most):
        self.history = History("events", StreamConfig(history_items=most), lambda: 1e6)
        self.all = []
        now = 1000.0
        for number, (later, is_sign) in enumerate(steps, 1):
            now += later / 10
            made = command_item(TEST_CONNECTION, f"e{number}") if is_sign else item(f"e{number}")
            self.all.append(Entry(number, made, now))
            self.history.add(self.all[-1:])
        self.kept = [entry for entry in self.all if entry.item.command is None][-most:]

    def replay(self, entry, overlap_s):
        """What is kept from the first entry on behind which, up to this one, none is older than the overlap."""
        begin = sum(kept.number <= entry.number for kept in self.kept)
        while begin and self.kept[begin - 1].taken_at >= entry.taken_at - overlap_s:
            begin -= 1
        return ids(self.kept[begin:])


@given(STEPS, st.integers(1, 40), st.integers(0, 100))
def test_as_walked_back(steps, most, tenths):
    """From each item that is known, and from each sign of life that is."""
    walked = Walked(steps, most)
    overlap_s = tenths / 10
    for entry in walked.all:
        event_id = entry.item.event_id
        if walked.history.place(event_id) is None:
            assert ids(walked.history.replay(event_id, overlap_s=overlap_s)) == ids(walked.kept)
            assert walked.history.covered_s(event_id, overlap_s) is None
            continue
        expected = walked.replay(entry, overlap_s) if overlap_s else ids(walked.history.after(event_id))
        assert ids(walked.history.replay(event_id, overlap_s=overlap_s)) == expected
        assert 0 <= walked.history.covered_s(event_id, overlap_s) <= overlap_s


@given(SET_BACK, st.integers(1, 40), st.integers(1, 100))
def test_a_clock_that_is_set_back_loses_nothing(steps, most, tenths):
    """At least what the list says comes, and all that is behind it."""
    walked = Walked(steps, most)
    for entry in walked.all:
        if walked.history.place(entry.item.event_id) is not None:
            found = ids(walked.history.replay(entry.item.event_id, overlap_s=tenths / 10))
            expected = walked.replay(entry, tenths / 10)
            assert found[len(found) - len(expected) :] == expected
