"""What was had, and where to begin at another relay."""

import math

import pytest

from triplewire.broker.overlay_config import RelayConfig
from triplewire.clients.streams.remembered import MARGIN_S, SETTLED_S, Beginning, Remembered, elapsed_s
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
        made.came()
        made.add(f"e{number}")
    return made


def begins(had, overlap_s=10.0):
    """Behind which item, and how much before it."""
    return had.beginning(overlap_s)[:2]


def test_time_goes_on():
    """Also where the machine sleeps, on Linux; it does not go back."""
    before = elapsed_s()
    assert before <= elapsed_s()


def test_only_so_many_are_remembered():
    """The oldest are forgotten."""
    had = remembered(range(5), most=3)
    assert [f"e{n}" in had for n in range(5)] == [False, False, True, True, True]


def test_long_ids_cost_no_more_than_so_many_do():
    """Their publisher chooses them; fewer of them are remembered then, and known to be."""
    clock = Clock()
    had = Remembered(4, clock)
    had.opened()
    for number in range(4):
        heard(had, clock, 10.0 + number, f"{number}" * 500, "p")
    assert [f"{number}" * 500 in had for number in range(4)] == [False, False, True, True]
    assert had.beginning(10.0).event_id == "2" * 500
    for number in range(9):
        heard(had, clock, 20.0 + number, f"e{number}", "p")
    assert [f"e{number}" in had for number in range(9)] == [False] * 5 + [True] * 4
    heard(had, clock, 30.0, "x" * 5000, "p")
    assert had.beginning(10.0) is None


def test_where_nothing_was_had_there_is_nowhere_to_begin():
    """Also where a process before this one had something."""
    assert remembered([]).beginning(10.0) is None
    assert remembered([], before=["a", "b"]).beginning(10.0) is None
    assert remembered([1.0], most=0).beginning(10.0) is None


def test_it_begins_a_while_before_the_last():
    """Behind one that others have by now, and the whole overlap before that."""
    had = remembered([each / 10 for each in range(1000)])
    assert had.beginning(10.0) == Beginning(f"e{999 - int(SETTLED_S * 10)}", 10.0, 1099.9 - SETTLED_S)


def test_a_quiet_stream():
    """The one before the last is old enough."""
    assert begins(remembered([50.0, 500.0, 500.5])) == ("e0", 10.0)


def test_it_does_not_begin_before_the_first_connection():
    """What came before is not known here; a margin keeps away from there."""
    had = remembered([each / 10 for each in range(1, 81)])
    event_id, overlap_s = begins(had)
    assert event_id == "e59"
    assert overlap_s == pytest.approx(8.0 - MARGIN_S - SETTLED_S)
    # so soon that there is no margin: half of what is known
    event_id, overlap_s = begins(remembered([0.1, 0.2, 0.3, 0.4]))
    assert (event_id, overlap_s) == ("e2", pytest.approx(0.1))
    assert begins(remembered([0.1])) == ("e0", pytest.approx(0.05))


def test_it_does_not_begin_before_what_is_remembered():
    """A stream that is too fast for that has a shorter overlap."""
    had = remembered([each / 100 for each in range(10_000)], most=500)
    event_id, overlap_s = begins(had)
    known_s = 4.99 + 0.01  # since the last that was forgotten
    assert event_id == "e9874"
    assert overlap_s == pytest.approx(known_s - MARGIN_S - known_s / 4)


def test_what_was_had_before_counts_as_old():
    """It is in no way younger than what this process had."""
    had = remembered([0.4], before=["a", "b"])
    assert "a" in had
    assert begins(had) == ("b", 0.0)


def test_a_marker_is_no_place_to_go_on_from():
    """Other relays may have what it says is missing; nor is it told twice."""
    had = remembered([10.0, 20.0])
    had.add_marker("gap")
    assert "gap" in had
    assert had.beginning(10.0).event_id == "e0"
    for number in range(2048):
        had.add_marker(f"gap{number}")
    assert "gap" not in had


def test_the_defaults_fit_the_fastest_stream_that_was_measured():
    """653 items a second, for as long as the overlap or what a relay gets when it joins, and what is before that."""
    settings = StreamSettings()
    longest_s = max(settings.overlap_s, RelayConfig().backfill_s)
    assert settings.remembered_ids / 653 > longest_s + SETTLED_S + MARGIN_S
    had = remembered([each / 653 for each in range(80_000)], most=settings.remembered_ids)
    assert had.beginning(settings.overlap_s).overlap_s == settings.overlap_s


def heard(had, clock, at, event_id, origin, *, late_s=math.inf):  # noqa: PLR0913
    clock.now = 1000.0 + at
    had.came()
    had.add(event_id, origin, late_s)


def test_one_origin_that_was_silent_makes_it_begin_earlier():
    """By ten seconds at a time, and not for one that has been silent for a minute, which has nothing to say."""
    clock = Clock()
    had = Remembered(1000, clock)
    had.opened()
    heard(had, clock, 5.0, "gone", "x")
    heard(had, clock, 60.0, "slow", "p")
    for number in range(300):
        heard(had, clock, 60.0 + number / 10, f"q{number}", "q")
    assert begins(had) == ("q279", 40.0)
    assert had.silent(1060.1) == {"p"}, "who is silent for good is no longer known"
    heard(had, clock, 90.0, "back", "p")
    assert begins(had) == ("q280", 10.0)
    assert had.silent(1080.0) == set()


def test_it_never_begins_more_than_a_minute_earlier_for_that():
    """No server would."""
    clock = Clock()
    had = Remembered(1000, clock)
    had.opened()
    heard(had, clock, 100.0, "slow", "p")
    for number in range(60):
        heard(had, clock, 100.0 + number, f"q{number}", "q")
    assert begins(had)[1] == 60.0
    assert begins(had, overlap_s=90.0)[1] == 90.0, "but where its user wants it to"


def test_the_origins_that_are_known_are_bounded():
    """Items can name any; the one that was heard of last stays."""
    clock = Clock()
    had = Remembered(10, clock)
    had.opened()
    heard(had, clock, 1.0, "slow", "p")
    for number in range(5000):
        heard(had, clock, 1.0, f"e{number}", f"o{number}")
    assert len(had.silent(2000.0)) == 1024
    assert "p" not in had.silent(2000.0)


def test_how_long_ago_it_was_had():
    """From when it was published, as long before it came as it says; not from when it had been dealt with."""
    clock = Clock()
    had = Remembered(1000, clock)
    had.opened()
    clock.now += 5.0
    had.came()
    clock.now += 100.0
    had.add("e", "p", 3.0)
    assert had.age_s() == 103.0
    assert had.beginning(10.0).at == 1005.0
    clock.now += 7.0
    assert had.age_s() == 110.0


def test_what_comes_may_be_as_old_as_what_the_connection_goes_on_behind():
    """However long after that it comes, unless it says that it is younger; and no older than the first connection."""
    clock = Clock()
    had = Remembered(1000, clock)
    had.opened()
    heard(had, clock, 10.0, "a", "p")
    assert had.age_s() == 10.0
    assert had.age_s(had.beginning(5.0)) == 10.0 - 5.0, "and the overlap"
    clock.now = 1310.0
    had.opened(had.age_s())
    heard(had, clock, 900.0, "b", "p", late_s=2.0)
    assert had.age_s() == 2.0
    clock.now = 1910.0
    had.opened(had.age_s())
    heard(had, clock, 990.0, "c", "p")
    assert had.age_s() == 92.0
    heard(had, clock, 991.0, "d", "p", late_s=500.0)
    assert had.age_s() == 93.0
    heard(had, clock, 992.0, "e", "p", late_s=1.0)
    assert had.age_s() == 1.0


def test_how_old_it_may_be_is_bounded_by_what_is_known_here():
    """What was forgotten would come again, but where it says that it is older."""
    clock = Clock()
    had = Remembered(2, clock)
    had.opened()
    heard(had, clock, 10.0, "a", "p")
    clock.now = 1300.0
    had.opened(had.age_s())
    for number in range(10):
        heard(had, clock, 300.0 + number, f"e{number}", "p")
    assert had.age_s() == 2.0
    beginning = had.beginning(10.0)
    assert had.age_s(beginning) == 2.0 - beginning.overlap_s


@pytest.mark.parametrize(("age_s", "expected"), [(30.0, 35.0), (math.inf, math.inf)])
def test_how_old_it_is_what_a_process_before_this_one_had(age_s, expected):
    """Where nobody knows that, it isn't known of what comes soon after either."""
    clock = Clock()
    had = Remembered(1000, clock, ["a", "b"], age_s)
    clock.now += 5.0
    assert had.age_s() == expected
    had.opened(had.age_s())
    heard(had, clock, 6.0, "c", "p")
    assert had.age_s() == expected + 1.0


def test_what_came_late_is_no_reason_to_begin_before_what_is_known():
    """It came when a connection was opened again, and others had it long before: from then on is counted."""
    clock = Clock()
    had = Remembered(1000, clock)
    had.opened()
    for number in range(1, 9):
        heard(had, clock, number, f"e{number}", "p")
    clock.now = 1030.0
    had.opened(had.age_s())
    heard(had, clock, 30.0, "e9", "p")
    clock.now = 1035.0
    had.opened(had.age_s())
    heard(had, clock, 36.0, "e10", "p")
    assert begins(had) == ("e9", 8.0 - MARGIN_S)
    heard(had, clock, 36.0 + 60.0, "e11", "p")
    heard(had, clock, 36.0 + 70.0, "e12", "p")
    assert begins(had) == ("e11", 10.0)


def test_a_process_that_goes_on_knows_what_came_since():
    """From when the one before had its last item on, where it is known when that was."""
    clock = Clock()
    had = Remembered(1000, clock, ["a", "b"], 50.0)
    had.opened(had.age_s())
    heard(had, clock, 1.0, "c", "p")
    heard(had, clock, 8.0, "d", "p")
    assert begins(had) == ("c", 0.0)
    heard(had, clock, 20.0, "e", "p")
    assert begins(had) == ("d", 8.0 - MARGIN_S)
