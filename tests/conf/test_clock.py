"""Times for readings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from triplewire.conf.monitoring.adapter import Clock

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def test_a_reading_has_the_time_when_its_message_arrived():
    """Where no other has it."""
    clock = Clock()
    assert clock.stamp(NOON) == NOON
    assert clock.stamp(NOON + timedelta(seconds=1)) == NOON + timedelta(seconds=1)


@given(st.lists(st.integers(0, 20)))
def test_no_two_readings_have_the_same_time(offsets):
    """Neither in one message, nor in one microsecond, nor after the clock was set back."""
    clock = Clock()
    stamps = [clock.stamp(NOON + timedelta(microseconds=offset)) for offset in offsets]
    assert stamps == sorted(set(stamps))
