"""When a batch is due: at once after silence, a period apart under load."""

from __future__ import annotations

import math

import pytest

from triplewire.gates.stream.window import HALF_LIFE_S, REST, Window


def test_the_first_item_is_due_at_once():
    """And so is one after silence."""
    window = Window(0.5, 1.0)
    assert window.due() == -math.inf
    window.sent(10.0)
    assert window.due() == 10.5


def test_without_a_least_a_stream_that_is_not_busy_has_no_window():
    """The next batch may leave when the last one has."""
    window = Window(0.0, 1.0)
    window.sent(10.0)
    assert window.due() == 10.0
    assert window.period_s == 0.0


def test_a_write_that_takes_long_makes_the_period_longer():
    """At once, as the next batch would come too early otherwise."""
    window = Window(0.0, 1.0)
    window.sent(10.0)
    window.took(0.1)
    assert window.due() == 10.0 + REST * 0.1


def test_never_longer_than_the_most():
    """Whatever the load."""
    window = Window(0.1, 1.0)
    window.sent(10.0)
    window.took(60.0)
    assert window.period_s == 1.0


@pytest.mark.parametrize(("least", "most"), [(0.0, 0.0), (0.5, 0.0), (0.5, 0.5)])
def test_a_window_that_is_set_stays_as_it_is(least, most):
    """No load changes it; with neither there is none."""
    window = Window(least, most)
    window.sent(1.0)
    window.took(60.0)
    window.sent(2.0)
    assert window.period_s == least


def test_it_shrinks_when_the_load_goes():
    """By half each second, down to the least."""
    window = Window(0.01, 1.0)
    window.sent(0.0)
    window.took(0.2)
    window.sent(1.0)
    assert window.period_s == REST * 0.2
    window.sent(1.0 + HALF_LIFE_S)
    assert window.period_s == pytest.approx(REST * 0.1)
    window.sent(1.0 + 10 * HALF_LIFE_S)
    assert window.period_s == 0.01


def test_the_slowest_of_several_processes_counts():
    """In whatever order they report."""
    window = Window(0.0, 1.0)
    window.sent(0.0)
    for seconds in (0.01, 0.2, 0.03):
        window.took(seconds)
    assert window.period_s == REST * 0.2
