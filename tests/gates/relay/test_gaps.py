"""When to ask: gaps by the time at which they are due, in memory that is bounded by what is open."""

from __future__ import annotations

from random import Random

import pytest
from support.chained import CHAIN

from triplewire.gates.relay.gaps import Gap, Schedule
from triplewire.gates.relay.ordered import Chain


def gap(due, first=2, last=3):
    """One of a chain, proven."""
    return Gap(Chain(CHAIN, 0.0), first, last, due, proven=True)


def schedule(tries=5):
    """With a p99 of 100 ms."""
    return Schedule(Random(1), tries, 100.0)


def test_the_first_that_is_due_comes_first():
    """Each at its time, and not before."""
    times = schedule()
    gaps = [gap(due) for due in (3.0, 1.0, 2.0)]
    for each in gaps:
        times.put(each)

    assert times.next() == 1.0
    assert times.pop(0.9) is None
    assert [times.pop(3.0) for _ in range(4)] == [gaps[1], gaps[2], gaps[0], None]


def test_one_that_is_due_later_than_before_need_not_be_put_again():
    """It is looked at when it comes up."""
    times, later = schedule(), gap(1.0)
    times.put(later)
    later.due = 5.0

    assert times.next() == 5.0
    assert times.pop(4.9) is None
    assert times.pop(5.0) is later


def test_one_that_is_due_earlier_is_put_again():
    """And given once at that time."""
    times, sooner = schedule(), gap(5.0)
    times.put(sooner)
    sooner.due = 1.0
    times.put(sooner)

    assert times.pop(1.0) is sooner
    sooner.due = 9.0
    times.put(sooner)
    assert times.pop(8.0) is None
    assert times.pop(9.0) is sooner


def test_what_is_closed_or_lost_is_not_due():
    """It goes when it comes up."""
    times = schedule()
    closed, lost = gap(1.0), gap(2.0)
    times.put(closed)
    times.put(lost)
    closed.close()
    lost.lost = True

    assert times.next() is None
    assert times.pop(10.0) is None


def test_gaps_that_were_filled_do_not_pile_up():
    """However many there were, long before they would be due."""
    times = schedule()
    still = gap(50.0)
    times.put(still)
    for _ in range(20_000):
        filled = gap(100.0)
        times.put(filled)
        filled.close()

    assert len(times._heap) <= 1_024
    assert times.next() == 50.0


@pytest.mark.parametrize("tries", [1, 5, 10_000])
def test_waits_grow_up_to_a_bound(tries):
    """Whatever is set."""
    times = schedule(tries)

    waits = [times.again(tried, 0.0) for tried in range(1, tries + 1)]

    assert max(waits) <= 11.0
    assert 0.3 <= waits[0] <= 0.33 or tries == 1
    assert waits[-1] >= 5.0
    assert times.patience_s + sum(waits) <= times.longest_s


def test_what_is_behind_a_part_that_came():
    """Has been asked for as often, and of the same."""
    whole = gap(1.0, 2, 9)
    whole.tried, whole.absent, whole.asked = 2, {"a"}, 8

    rest = whole.behind(6)
    whole.absent.clear()

    assert (rest.first, rest.last, rest.tried, rest.absent, rest.asked, rest.proven) == (
        6,
        9,
        2,
        {"a"},
        8,
        True,
    )
