"""Those that are told: all of them, whatever one does."""

from __future__ import annotations

import logging

from triplewire.gates.stream.listeners import Listeners


def test_in_the_order_in_which_they_came():
    """And not those that have gone."""
    told = []
    listeners = Listeners()
    first = listeners.add(lambda what: told.append(("first", what)))
    listeners.add(lambda what: told.append(("second", what)))
    listeners.tell(1)
    first()
    first()
    listeners.tell(2)
    assert told == [("first", 1), ("second", 1), ("second", 2)]
    assert len(listeners) == 1


def test_one_that_goes_meanwhile_makes_no_neighbor_miss_anything():
    """Neither the next one nor the last one."""
    told = []
    listeners = Listeners()
    ends = {}
    for name in "abcd":

        def hear(what, name=name):
            told.append(name)
            if name == "b":
                ends["b"]()
                ends["c"]()

        ends[name] = listeners.add(hear)
    listeners.tell(1)
    assert told == ["a", "b", "d"]


def test_one_that_comes_meanwhile_hears_the_next():
    """It is not told what was before it."""
    told = []
    listeners = Listeners()
    listeners.add(lambda _: len(listeners) < 2 and listeners.add(told.append))
    listeners.tell(1)
    listeners.tell(2)
    assert told == [2]


def test_one_that_fails_harms_no_other(caplog):
    """It is an error of ours, and the log has it."""
    told = []
    listeners = Listeners()
    listeners.add(lambda _: 1 / 0)
    listeners.add(told.append)
    with caplog.at_level(logging.ERROR, logger="triplewire.gates.stream"):
        listeners.tell(1)
    assert told == [1]
    assert "ZeroDivisionError" in caplog.text
