"""What was had, and where to begin at another relay."""

import pytest

from triplewire.broker.overlay_config import RelayConfig
from triplewire.clients.streams.remembered import MARGIN_S, SETTLED_S, Beginning, Remembered
from triplewire.clients.streams.settings import StreamSettings


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def remembered(times, most=1000, before=(), opened=0.0):
    """With the items e0, e1, ... at these seconds after the first connection."""
    clock = Clock()
    made = Remembered(most, clock, before)
    clock.now = 1000.0 + opened
    made.opened()
    for number, at in enumerate(times):
        clock.now = 1000.0 + at
        made.add(f"e{number}")
    return made


def test_only_so_many_are_remembered():
    """The oldest are forgotten."""
    had = remembered(range(5), most=3)
    assert [f"e{n}" in had for n in range(5)] == [False, False, True, True, True]


def test_where_nothing_was_had_there_is_nowhere_to_begin():
    """Also where a process before this one had something."""
    assert remembered([]).beginning(10.0) is None
    assert remembered([], before=["a", "b"]).beginning(10.0) is None
    assert remembered([1.0], most=0).beginning(10.0) is None


def test_it_begins_a_while_before_the_last():
    """Behind one that others have by now, and the whole overlap before that."""
    had = remembered([each / 10 for each in range(1000)])
    assert had.beginning(10.0) == Beginning(f"e{999 - int(SETTLED_S * 10)}", 10.0)


def test_a_quiet_stream():
    """The one before the last is old enough."""
    assert remembered([50.0, 500.0, 500.5]).beginning(10.0) == Beginning("e0", 10.0)


def test_it_does_not_begin_before_the_first_connection():
    """What came before is not known here; a margin keeps away from there."""
    had = remembered([each / 10 for each in range(1, 81)])
    event_id, overlap_s = had.beginning(10.0)
    assert event_id == "e59"
    assert overlap_s == pytest.approx(8.0 - MARGIN_S - SETTLED_S)
    # so soon that there is no margin: half of what is known
    event_id, overlap_s = remembered([0.1, 0.2, 0.3, 0.4]).beginning(10.0)
    assert (event_id, overlap_s) == ("e2", pytest.approx(0.1))
    assert remembered([0.1]).beginning(10.0) == Beginning("e0", pytest.approx(0.05))


def test_it_does_not_begin_before_what_is_remembered():
    """A stream that is too fast for that has a shorter overlap."""
    had = remembered([each / 100 for each in range(10_000)], most=500)
    event_id, overlap_s = had.beginning(10.0)
    known_s = 4.99 + 0.01  # since the last that was forgotten
    assert event_id == "e9874"
    assert overlap_s == pytest.approx(known_s - MARGIN_S - known_s / 4)


def test_what_was_had_before_counts_as_old():
    """It is in no way younger than what this process had."""
    had = remembered([0.4], before=["a", "b"])
    assert "a" in had
    assert had.beginning(10.0) == Beginning("b", 0.0)


def test_a_marker_is_no_place_to_go_on_from():
    """Other relays may have what it says is missing; nor is it told twice."""
    had = remembered([10.0, 20.0])
    had.add_marker("gap")
    assert "gap" in had
    assert had.beginning(10.0).event_id == "e0"
    for number in range(2000):
        had.add_marker(f"gap{number}")
    assert "gap" not in had


def test_the_defaults_fit_the_fastest_stream_that_was_measured():
    """653 items a second, for as long as the overlap or what a relay gets when it joins, and what is before that."""
    settings = StreamSettings()
    longest_s = max(settings.overlap_s, RelayConfig().backfill_s)
    assert settings.remembered_ids / 653 > longest_s + SETTLED_S + MARGIN_S
    had = remembered([each / 653 for each in range(80_000)], most=settings.remembered_ids)
    assert had.beginning(settings.overlap_s).overlap_s == settings.overlap_s
