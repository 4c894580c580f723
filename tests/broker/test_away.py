"""Lost connections in the order of their loss, by a clock that the test turns."""

from __future__ import annotations

from collections import Counter

from triplewire.broker.away import Away
from triplewire.broker.config import LimitsConfig
from triplewire.broker.model import BindingsDelta


class Clock:
    """The part of an event loop that is needed: it calls what is due when told what time it is."""

    def __init__(self):
        self.now = 0.0
        self.due = []

    def time(self):
        return self.now

    def call_at(self, when, function):
        entry = [when, function]
        self.due.append(entry)
        entry_cancel = lambda: self.due.remove(entry)  # noqa: E731
        return type("Handle", (), {"cancel": staticmethod(entry_cancel)})

    def turn(self, now):
        self.now = now
        while ready := [entry for entry in self.due if entry[0] <= now]:
            self.due.remove(ready[0])
            ready[0][1]()


class Inbox:
    """Hands over what it is asked for."""

    def hand_over(self, spuid, sequence):
        return BindingsDelta((spuid, str(sequence)), Counter(), Counter())


def away_with(**limits):
    clock, ended = Clock(), []
    return Away(LimitsConfig(**limits), clock, ended.append), clock, ended


def lose(away, subscriber, *spuids):
    for spuid in spuids:
        away.own(spuid, subscriber)
    inbox = Inbox()
    away.wait_for(subscriber, inbox, frozenset(spuids))
    return inbox


def test_each_is_waited_for_as_long():
    """One timer for all, which is for the oldest."""
    away, clock, ended = away_with(resume_s=10)
    for subscriber in range(1, 4):
        clock.turn(subscriber)
        lose(away, subscriber, f"s{subscriber}")
        assert len(clock.due) == 1
    clock.turn(10.9)
    assert (ended, away.subscriptions) == ([], 3)
    clock.turn(12)
    assert (ended, away.subscriptions, len(away)) == ([1, 2], 1, 1)
    assert [away.owner(f"s{number}") for number in range(1, 4)] == [None, None, 3]
    clock.turn(99)
    assert ended == [1, 2, 3]
    assert clock.due == []


def test_the_oldest_go_first():
    """Whole connections, until what is left is within limits.resumable."""
    away, _, ended = away_with(resumable=4)
    lose(away, 1, "a", "b")
    lose(away, 2, "c")
    lose(away, 3, "d", "e")
    assert (ended, away.subscriptions) == ([1], 3)
    lose(away, 4, *"fghij")
    assert (ended, away.subscriptions, away._owners, away._owned) == ([1, 2, 3, 4], 0, {}, {})


def test_one_that_is_asked_for_is_kept():
    """Beyond its time and beyond the limit, until its turn has come."""
    away, clock, ended = away_with(resume_s=10, resumable=1)
    inbox = lose(away, 1, "a")
    away.hold(1)
    away.hold(1)
    lose(away, 2, "b")
    clock.turn(1000)
    assert (ended, away.inbox(1)) == ([2], inbox)
    away.release(1)
    clock.turn(2000)
    assert away.inbox(1) is inbox
    away.release(1)
    clock.turn(3000)
    assert (ended, away._asked) == ([2, 1], Counter())


def test_what_is_handed_over_is_gone():
    """With the last, the connection too; then nobody need be told to end it."""
    away, clock, ended = away_with(resume_s=10)
    lose(away, 1, "a", "b")
    assert away.hand_over("a", 7).vars == ("a", "7")
    assert away.hand_over("a", 7) is None
    assert (away.owner("a"), away.subscriptions, len(away)) == (None, 1, 1)
    away.ended("b")
    assert (away.subscriptions, len(away), away._owned) == (0, 0, {})
    clock.turn(99)
    assert ended == []


def test_an_open_connection_that_ends_is_forgotten():
    """With all that it held; nothing is counted as away."""
    away, _, ended = away_with()
    away.own("a", 1)
    away.own("b", 1)
    away.own("c", 2)
    away.forget(1)
    away.forget(9)
    assert [away.owner(spuid) for spuid in "abc"] == [None, None, 2]
    assert (away.subscriptions, ended) == (0, [])


def test_what_its_client_does_not_know_is_not_waited_for():
    """First results that never left."""
    away, _, _ = away_with()
    away.own("unknown", 1)
    lose(away, 1, "a")
    assert (away.owner("unknown"), away.owner("a"), away.subscriptions) == (None, 1, 1)


def test_after_the_end_no_timer_is_left():
    """The broker is shutting down."""
    away, clock, _ = away_with()
    lose(away, 1, "a")
    away.close()
    assert (clock.due, len(away)) == ([], 0)


def test_another_client_owns_nothing():
    """Who knows the id of a subscription does not have it."""
    away, _, _ = away_with()
    away.own("a", 1, "lamp")
    assert (away.owner("a", "lamp"), away.owner("a", "thief"), away.owner("a")) == (1, None, None)
