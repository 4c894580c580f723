"""What is kept of a subscription and how it is read, without a broker."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from pyoxigraph import Literal

from triplewire.broker.errors import BrokerRefused
from triplewire.broker.model import BindingsDelta, Notification, Query
from triplewire.clients.live_query import LiveQuery
from triplewire.clients.mcp.errors import ToolRefused
from triplewire.clients.mcp.followed import Followed
from triplewire.clients.mcp.limits import Limits
from triplewire.clients.mcp.rows import size


class Told:
    """A subscription whose notifications the test makes."""

    def __init__(self, **limits):
        self.calls = 0
        self.followed = Followed("n", "SELECT ?v {}", "ws://b/", Limits(**limits), self._called)
        self.live = self.followed.live = LiveQuery(Query("SELECT ?v {}"), None, self.followed)
        self.live.kept.vars = ("v",)

    def change(self, added=(), removed=()):
        rows = (Counter((Literal(text),) for text in texts) for texts in (added, removed))
        delta = self.live.kept.apply(BindingsDelta(("v",), *rows))
        self.followed.on_notification(Notification("spuid", None, 1, delta))

    def read(self, since=None, rows=100):
        return self.followed.read(since, rows)

    def _called(self):
        self.calls += 1


def texts(rows):
    return [row[0].strip('"') for row in rows]


def test_a_reading_has_what_came_since_the_last_and_the_answer():
    """Rows that are there twice are given twice."""
    told = Told()
    told.change(["a", "a"])
    told.change(["b"], ["a"])
    read = told.read()
    assert [(texts(each["added"]), texts(each["removed"])) for each in read["changes"]] == [
        (["a", "a"], []),
        (["b"], ["a"]),
    ]
    assert (texts(read["answer"]["rows"]), read["answer"]["count"]) == (["a", "b"], 2)
    assert (read["since"], read["number"], told.read()["changes"]) == (0, 2, [])
    assert told.calls == 2


def test_who_subscribes_has_read_the_first_answer():
    """And is told of what comes behind it."""
    told = Told()
    told.change(["early"])
    assert told.followed.first(10)["number"] == 1
    told.change(["late"])
    assert [texts(each["added"]) for each in told.read()["changes"]] == [["late"]]


def test_a_reading_from_a_number_moves_nothing():
    """And can be made again."""
    told = Told()
    for text in "abc":
        told.change([text])
    assert [each["number"] for each in told.read(since=1)["changes"]] == [2, 3]
    assert [each["number"] for each in told.read()["changes"]] == [1, 2, 3]
    with pytest.raises(ToolRefused, match="since: expected a number from 0 to 3, not 4"):
        told.read(since=4)


def test_what_is_not_kept_is_a_gap():
    """The present answer is right all the same."""
    told = Told(history_changes=2)
    for text in "abcd":
        told.change([text])
    read = told.read()
    assert (read["gap"]["from"], read["gap"]["to"]) == (1, 2)
    assert [each["number"] for each in read["changes"]] == [3, 4]
    assert read["answer"]["count"] == 4
    assert "gap" not in told.read()


def test_a_change_larger_than_the_history_is_a_gap():
    """It is never turned into text."""
    told = Told(history_rows=2)
    told.change("abc")
    read = told.read()
    assert (read["gap"]["from"], read["gap"]["to"], read["changes"]) == (1, 1, [])
    assert read["number"] == 1


def test_changes_that_do_not_fit_wait_for_the_next_reading():
    """The first is cut where it alone does not fit, and says how many rows it had."""
    told = Told()
    for rows in (["a", "b"], ["c", "d"], "efghi"):
        told.change(rows)
    read = told.read(rows=3)
    assert [each["number"] for each in read["changes"]] == [1]
    assert (read["number"], read["more"]) == (1, "Changes up to 3 are waiting: read again.")
    assert [each["number"] for each in told.read(rows=3)["changes"]] == [2]
    (cut,) = told.read(rows=3)["changes"]
    assert (texts(cut["added"]), cut["note"]) == (["e", "f", "g"], "Cut: 5 rows were added and 0 removed.")
    assert told.read()["changes"] == []


def test_no_reading_is_longer_than_an_answer_may_be():
    """Whatever there is to tell."""
    told = Told(answer_bytes=600)
    for number in range(50):
        told.change([f"{number}" * 20])
    read = told.read()
    assert 100 < size(read["changes"]) <= 301
    assert 100 < size(read["answer"]["rows"]) <= 301
    assert read["answer"]["count"] == 50
    assert "of the 50 rows" in read["answer"]["note"]


def test_a_lost_connection_is_said_and_so_is_what_it_hid():
    """The change behind it is marked, and no other."""
    told = Told()
    told.followed.lost()
    assert told.read()["state"].startswith("connection lost at ")
    told.followed.back()
    assert told.read()["state"] == "live"
    told.change(["a"])
    told.change(["b"])
    first, second = told.read()["changes"]
    assert "connection was lost" in first["after_loss"]
    assert "after_loss" not in second
    assert told.calls == 4


def test_the_end_says_why():
    """Once, and nothing moves it."""
    told = Told()
    told.followed.on_error(BrokerRefused("forbidden", 403, "revoked"))
    told.followed.end("another reason")
    told.followed.lost()
    read = told.read()
    assert (read["state"], "revoked" in read["ended"]) == ("ended", True)


async def test_waiting_ends_with_a_change_an_end_or_the_time():
    """And at once where there is something to read."""
    told = Told()
    await told.followed.wait(None, 0.01)
    waiting = asyncio.create_task(told.followed.wait(None, 20))
    await asyncio.sleep(0)
    told.change(["a"])
    await asyncio.wait_for(waiting, 1)
    await asyncio.wait_for(told.followed.wait(0, 20), 1)
    waiting = asyncio.create_task(told.followed.wait(1, 20))
    await asyncio.sleep(0)
    told.followed.end("over")
    await asyncio.wait_for(waiting, 1)
