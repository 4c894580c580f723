"""When a batch is due: at once after silence, a period apart under load."""

from __future__ import annotations

import math
import random

import pytest

from triplewire.gates.stream.window import HALF_LIFE_S, REST, Window


def test_the_first_item_is_due_at_once():
    """And so is one after silence."""
    window = Window(0.5, 1.0)
    assert window.due(5.0) == -math.inf
    window.sent(10.0, 1)
    assert window.due(10.2) == 10.5
    assert window.due(99.0) == 10.5


def test_where_items_come_close_the_first_waits_for_the_others():
    """For the least period, and until the last batch is out; a batch of one item ends that."""
    window = Window(0.5, 1.0)
    window.sent(10.0, 3)
    assert window.due(10.1) == 10.6
    assert window.due(12.0) == 12.5
    window.took(0.4)
    assert window.due(10.1) == 10.8
    window.sent(12.5, 1)
    assert window.due(14.0) < 14.0


@pytest.mark.parametrize(("rate", "most"), [(4, 1.5), (40, 2.0)])
def test_it_has_fewer_batches_than_a_clock(rate, most):
    """Whose ticks of 0.5 s have 1.73 and 2 a second; nobody waits longer than 0.5 s."""
    rng = random.Random(1)
    window, now, batches, waiting, due = Window(0.5, 0.5), 0.0, 0, 0, math.inf
    for _ in range(20_000):
        now += rng.expovariate(rate)
        if now >= due:
            window.sent(due, waiting)
            batches, waiting = batches + 1, 0
        if not waiting:
            due = max(now, window.due(now))
            assert due <= now + 0.5
        waiting += 1
    assert batches / now < most


def test_without_a_least_a_stream_that_is_not_busy_has_no_window():
    """The next batch may leave when the last one has."""
    window = Window(0.0, 1.0)
    window.sent(10.0, 1)
    assert window.due(10.1) == 10.0
    assert window.period_s == 0.0


def test_a_write_that_takes_long_makes_the_period_longer():
    """At once, as the next batch would come too early otherwise."""
    window = Window(0.0, 1.0)
    window.sent(10.0, 1)
    window.took(0.1)
    assert window.due(10.1) == 10.0 + REST * 0.1


def test_never_longer_than_the_most():
    """Whatever the load."""
    window = Window(0.1, 1.0)
    window.sent(10.0, 1)
    window.took(60.0)
    assert window.period_s == 1.0


@pytest.mark.parametrize(("least", "most"), [(0.0, 0.0), (0.5, 0.0), (0.5, 0.5)])
def test_a_window_that_is_set_stays_as_it_is(least, most):
    """No load changes it; with neither there is none."""
    window = Window(least, most)
    window.sent(1.0, 1)
    window.took(60.0)
    window.sent(2.0, 1)
    assert window.period_s == least


def test_it_shrinks_when_the_load_goes():
    """By half each second, down to the least."""
    window = Window(0.01, 1.0)
    window.sent(0.0, 1)
    window.took(0.2)
    window.sent(1.0, 1)
    assert window.period_s == REST * 0.2
    window.sent(1.0 + HALF_LIFE_S, 1)
    assert window.period_s == pytest.approx(REST * 0.1)
    window.sent(1.0 + 10 * HALF_LIFE_S, 1)
    assert window.period_s == 0.01


def test_the_slowest_of_several_processes_counts():
    """In whatever order they report."""
    window = Window(0.0, 1.0)
    window.sent(0.0, 1)
    for seconds in (0.01, 0.2, 0.03):
        window.took(seconds)
    assert window.period_s == REST * 0.2
