"""One subscription in an outbox."""

from __future__ import annotations

from collections import Counter

import pytest
from pyoxigraph import Literal

from triplewire.broker.model import BindingsDelta, Notification
from triplewire.gates.line import ROW_BYTES, Line, Pending, rows_of

VARS = ("x",)


def delta(added=(), removed=()):
    return BindingsDelta(VARS, Counter((Literal(n),) for n in added), Counter((Literal(n),) for n in removed))


def told(sequence, change=None):
    return Notification("s", "a", sequence, change or delta([sequence]))


def test_rows_are_counted_once_each():
    """However often a row came: that is what it takes in memory."""
    assert rows_of(delta([1, 1, 2], [3])) == 3


def test_one_change_stays_the_same_object():
    """So that what it was encoded to is still shared; more of them are a new one."""
    first = delta([1])
    pending = Pending(told(1, first))
    assert pending.delta() is first
    assert pending.size == 2 * ROW_BYTES
    pending.add(delta([2], [1]))
    assert pending.delta() == delta([2])
    assert pending.size == 2 * ROW_BYTES
    assert first == delta([1])
    pending.add(delta([], [2]))
    assert not pending.delta()
    assert pending.size == ROW_BYTES


def test_numbers_rise_by_one():
    """Whatever the core's are; one that is right already is not made again."""
    line = Line(told(5), resumable=True)
    first = told(5)
    assert line.numbered(first) is first
    assert [line.numbered(told(number)).sequence for number in (9, 12)] == [6, 7]


@pytest.mark.parametrize(("sequence", "change"), [(4, delta([5, 6, 7])), (5, delta([6, 7])), (6, delta([7]))])
def test_what_came_after_a_number(sequence, change):
    """The log, up to the last that left, and what was missed since."""
    line = Line(told(3), resumable=True)
    for number in (3, 4, 5, 6):
        line.numbered(told(number))
        if number > 4:
            line.log.append(delta([number]))
    assert line.miss(delta([7, 8])) == 2
    assert line.miss(delta([], [8])) == -1

    assert [number for number in range(10) if line.reaches(number)] == [4, 5, 6]
    assert line.after(sequence) == change


def test_what_was_to_leave_before_the_first_gives_the_number():
    """And is an answer, where it is the first results."""
    line = Line(told(3), resumable=False)
    line.precede(told(1))
    line.precede(told(2))
    assert (line.sequence, line.begun) == (0, True)
    line.precede(told(0))

    assert (line.sequence, line.begun) == (-1, False)


def test_a_sealed_change_can_be_shared():
    """Until more is added."""
    pending = Pending(told(1))
    pending.add(delta([7]))
    sealed = pending.seal()
    assert pending.delta() is sealed
    pending.add(delta([8]))

    assert pending.delta() == delta([1, 7, 8])
    assert sealed == delta([1, 7])
