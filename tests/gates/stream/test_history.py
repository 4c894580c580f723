"""What is kept for those that come back: bounds, last-seen, and replays that many share."""

from __future__ import annotations

import pytest
from support.stepped import ids, item

from triplewire.broker.config import StreamConfig
from triplewire.broker.wire.gap_items import Missing, gap_item
from triplewire.broker.wire.items import TEST_CONNECTION, command_item, encode_item
from triplewire.gates.stream.entry import Entry
from triplewire.gates.stream.history import History


class Clock:
    """Seconds since 1970, set by hand."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def history_of(count, clock=None, *, each_s=0.0, **settings):
    """With the items e1, e2, ... of that many, after each of which so much time passes."""
    clock = clock or Clock()
    history = History("events", StreamConfig(**settings), clock)
    for number in range(1, count + 1):
        history.add([Entry(number, item(f"e{number}"), clock.now)])
        clock.now += each_s
    return history


@pytest.mark.parametrize(
    ("event_id", "limit", "expected"),
    [
        ("e2", None, ["e3", "e4", "e5"]),
        ("e5", None, []),
        ("unknown", None, ["e1", "e2", "e3", "e4", "e5"]),
        ("e2", 2, ["e4", "e5"]),
        ("e2", 10, ["e3", "e4", "e5"]),
        ("unknown", 2, ["e4", "e5"]),
        (None, 2, ["e4", "e5"]),
        (None, 0, []),
        ("e2", 0, []),
        (None, None, []),
    ],
)
def test_what_somebody_missed(event_id, limit, expected):
    """As facts 1.4 have it: an unknown id stands for everything, a limit takes the newest."""
    assert ids(history_of(5).after(event_id, limit)) == expected


def test_only_up_to_a_number():
    """The newest of those, where there is a limit, too."""
    history = history_of(5)
    assert ids(history.after("e1", upto=3)) == ["e2", "e3"]
    assert ids(history.after(None, 1, upto=3)) == ["e3"]
    assert ids(history.after("e4", upto=3)) == []


def test_an_overlap_begins_before_the_item():
    """So many seconds; where that is unknown it is everything all the same, and a limit takes the newest."""
    clock = Clock()
    history = history_of(5, clock, each_s=10.0)
    assert ids(history.replay("e4", overlap_s=0.0)) == ["e5"]
    assert ids(history.replay("e4", overlap_s=9.0)) == ["e4", "e5"]
    assert ids(history.replay("e4", overlap_s=10.0)) == ["e3", "e4", "e5"]
    assert ids(history.replay("e4", overlap_s=1e9)) == ["e1", "e2", "e3", "e4", "e5"]
    assert ids(history.replay("e4", 1, overlap_s=20.0)) == ["e5"]
    assert ids(history.replay("e4", overlap_s=20.0, upto=4)) == ["e2", "e3", "e4"]
    assert len(history.replay("none", overlap_s=1.0)) == 5


def test_how_much_of_an_overlap_is_kept():
    """All of it, where something older is; else as far as the oldest, and nothing where the item is unknown."""
    clock = Clock()
    history = history_of(5, clock, each_s=10.0, history_items=3)
    assert history.covered_s("e4", 5.0) == 5.0
    assert history.covered_s("e5", 60.0) == 20.0
    assert history.covered_s("e3", 60.0) == 0.0
    assert history.covered_s("e1", 60.0) is None


def test_an_overlap_before_a_sign_of_life():
    """Which has a time, and is not there."""
    clock = Clock()
    history = history_of(2, clock)
    clock.now += 5.0
    history.add([Entry(3, command_item(TEST_CONNECTION, "t"), clock.now), Entry(4, item("e4"), clock.now)])
    assert ids(history.replay("t", overlap_s=4.0)) == ["e4"]
    assert ids(history.replay("t", overlap_s=5.0)) == ["e1", "e2", "e4"]
    assert history.covered_s("t", 4.0) == 4.0


def test_what_came_after_a_number():
    """And whether something before it is not kept any more."""
    history = history_of(5, history_items=3)
    assert ids(history.since(4)) == ["e5"]
    assert ids(history.since(0)) == ["e3", "e4", "e5"]
    assert ids(history.since(2, upto=4)) == ["e3", "e4"]
    assert (history.first, history.last) == (3, 5)


def test_bounded_by_the_count():
    """The oldest goes; its id is unknown then."""
    history = history_of(10, history_items=4)
    assert ids(history) == ["e7", "e8", "e9", "e10"]
    assert history.entry("e6") is None
    assert history.entry("e7")
    assert history.place("e7") == 7
    assert ids(history.after("e6")) == ids(history)


def test_bounded_by_the_bytes():
    """As on the wire."""
    size = len(encode_item(item("e1")))
    history = history_of(9, history_bytes=3 * size)
    assert ids(history) == ["e7", "e8", "e9"]
    assert history.bytes == 3 * size


def test_an_item_larger_than_the_bound_is_not_kept():
    """The bound holds whatever comes, and what was there has gone."""
    history = history_of(3, history_bytes=300)
    history.add([Entry(4, item("large", b"x" * 1000), 0.0)])
    assert len(history) == 0
    assert history.bytes == 0
    assert (history.first, history.last) == (5, 4)


def test_bounded_by_the_age():
    """Also where nothing new comes."""
    clock = Clock()
    history = history_of(2, clock, history_s=60.0)
    clock.now += 59.0
    history.add([Entry(3, item("e3"), clock.now)])
    assert ids(history.after("e0")) == ["e1", "e2", "e3"]
    clock.now += 2.0
    assert ids(history.after("e0")) == ["e3"]
    assert history.first == 3


def test_no_bound_of_age():
    """History of any age, unless told otherwise."""
    clock = Clock()
    history = history_of(2, clock)
    clock.now += 1e9
    assert ids(history.after("e0")) == ["e1", "e2"]


def test_signs_of_life_are_not_kept():
    """They have a number all the same (facts 1.2), and those that follow are found."""
    history = history_of(2)
    history.add([Entry(3, command_item(TEST_CONNECTION, "t"), 0.0), Entry(4, item("e4"), 0.0)])
    assert history.entry("t") is None
    assert ids(history.after("e2")) == ["e4"]
    assert ids(history.since(3)) == ["e4"]
    assert history.last == 4


def test_who_saw_a_sign_of_life_last_comes_back_there():
    """It would get the whole history otherwise; of very old ones nothing is known any more."""
    history = history_of(2)
    history.add([Entry(3, command_item(TEST_CONNECTION, "t3"), 0.0), Entry(4, item("e4"), 0.0)])
    assert ids(history.after("t3")) == ["e4"]
    for number in range(5, 1005):
        history.add([Entry(number, command_item(TEST_CONNECTION, f"t{number}"), 0.0)])
    assert ids(history.after("t1004")) == []
    assert ids(history.after("t604")) == []
    assert ids(history.after("t3")) == ["e1", "e2", "e4"]
    assert len(history._signs) < 600


def test_all_who_come_back_at_the_same_moment_share_a_replay():
    """Weakness 14: it is made and encoded once, however many there are, and whatever unknown id they bring."""
    history = history_of(2000)
    replays = {id(history.replay(f"gone-{number}")) for number in range(1000)}
    assert len(replays) == 1
    assert history.replay("gone").plain is history.replay("lost").plain
    history.add([Entry(2001, item("e2001"), 0.0)])
    assert history.replay("gone").last == 2001


def test_replays_that_are_shared_are_few():
    """What was asked for longest ago is let go of: each can be as large as the history."""
    history = history_of(100)
    first = history.replay("e1")
    for number in range(2, 50):
        history.replay(f"e{number}")
    assert history.replay("e1") is not first
    assert history.replay("e1") is history.replay("e1")


def test_a_replay_is_let_go_of_when_another_item_comes_or_goes():
    """Nobody asks for it again."""
    clock = Clock()
    history = history_of(3, clock, history_s=10.0)
    history.replay("e1")
    history.add([Entry(4, item("e4"), clock.now + 5)])
    assert history._replays == {}
    history.replay("e1")
    clock.now += 11
    history.expire()
    assert history._replays == {}


def test_an_id_that_is_there_twice():
    """It stands for the newer one, also when the older one goes: nobody who adds is trusted to see to it."""
    history = history_of(2, history_items=2)
    history.add([Entry(3, item("e1"), 0.0)])
    history.add([Entry(4, item("e4"), 0.0)])
    assert history.place("e1") == 3
    assert ids(history.after("e1")) == ["e4"]


def test_it_goes_on_where_another_ended():
    """After a restart, or as a copy, within the bounds once it is used; numbers go on where nothing is kept, too."""
    copy = History("events", StreamConfig(history_items=3))
    copy.restore([*history_of(5)], 7)
    assert ids(copy.after("none")) == ids(copy) == ["e3", "e4", "e5"]
    assert copy.last == 7
    empty = History("events", StreamConfig())
    empty.restore([], 9)
    assert (empty.first, empty.last) == (10, 9)


def test_how_many_where_nothing_is_said():
    """More of a stream that other relays have."""
    assert StreamConfig().kept_items == 2048
    assert StreamConfig(overlay=True).kept_items == 32_768
    assert StreamConfig(overlay=True, history_items=7).kept_items == 7
    assert len(history_of(3000)) == 2048


def test_what_is_held_stays_over_the_bounds():
    """Of count, bytes and age, after a restart too; when it is free again it goes."""
    clock = Clock()
    size = len(encode_item(item("e1")))
    for bound in ({"history_items": 2}, {"history_bytes": 2 * size}, {"history_s": 1.0}):
        for restored in (False, True):
            history, free = History("events", StreamConfig(**bound), clock), [1]
            history.free_upto = lambda free=free: free[0]
            entries = [Entry(number, item(f"e{number}"), clock.now - 10) for number in range(1, 6)]
            history.restore(entries, 5) if restored else history.add(entries)
            assert ids(history.after("none")) == ["e2", "e3", "e4", "e5"]
            assert (history.gone, history.is_over) == (1, "history_s" not in bound)
            free[0] = 5
            assert ids(history.after("none")) == ([] if "history_s" in bound else ["e4", "e5"])
            assert not history.is_over


def test_the_last_that_went_is_known():
    """A number that has no entry was a sign of life, or did not pass a filter, where nothing has gone."""
    history = history_of(0, history_items=2)
    history.add([Entry(3, item("e3"), 0.0), Entry(7, item("e7"), 0.0)])
    assert history.gone == 0
    history.add([Entry(8, item("e8"), 0.0)])
    assert (history.gone, history.first) == (3, 7)


def test_an_item_by_its_id():
    """The newest, where there are two."""
    history = history_of(5, history_items=3)
    history.add([Entry(9, item("e4", b"other"), 0.0)])
    found = history.entry("e4")
    assert (found.number, found.item.body) == (9, b"other")
    assert history.entry("e1") is None


def test_the_newest_and_how_many_came_lately():
    """Without a look at all."""
    clock = Clock()
    history = history_of(6, clock, each_s=10.0, history_items=4)
    assert ids(history.newest(2)) == ["e5", "e6"]
    assert ids(history.newest(100)) == ["e3", "e4", "e5", "e6"]
    assert [history.count_since(clock.now - past_s) for past_s in (5, 10, 11, 25, 1000)] == [0, 0, 1, 2, 4]


def test_another_relay_s_sign_of_life():
    """It names the item before it, be that what it may; a marker may not be there."""
    there, here = history_of(3), history_of(3)
    there.add([Entry(4, gap_item(Missing("ab", "", 1, 2), "s"), 0.0)])
    sign = there.sign_id()
    assert sign != there.sign_id()
    assert (there.place(sign), here.place(sign)) == (3, 3)
    here.add([Entry(4, item("alive:e9:x"), 0.0), Entry(5, item("e5"), 0.0)])
    assert ids(here.after(sign)) == ["alive:e9:x", "e5"]
    assert here.covered_s(sign, 5.0) == 0.0, "it is known"
    there.add([Entry(5, item("alive:e9:x"), 0.0)])
    assert ids(here.after(there.sign_id())) == ["e5"]
    assert here.place(history_of(0).sign_id()) is here.place("alive:e3") is here.place("alive:") is None


def test_who_was_away_for_a_while_is_given_nothing_older():
    """Where its item is not known, as by a relay that has old ones; an overlap comes on top, and what is known counts."""
    clock = Clock()
    history = history_of(5, clock, each_s=10.0)
    assert ids(history.replay("x", away_s=20.0)) == ["e4", "e5"]
    assert ids(history.replay("x", away_s=20.0, overlap_s=10.0)) == ["e3", "e4", "e5"]
    assert ids(history.replay("x", 1, away_s=20.0)) == ["e5"]
    assert ids(history.replay("x", away_s=20.0, upto=4)) == ["e4"]
    assert ids(history.replay("x", away_s=1e9)) == ["e1", "e2", "e3", "e4", "e5"]
    assert ids(history.replay("x", away_s=9.0)) == []
    assert ids(history.replay("e2", away_s=9.0)) == ["e3", "e4", "e5"]
    assert ids(history.replay(None, 3, away_s=9.0)) == ["e3", "e4", "e5"]


def test_what_has_gone_is_let_go_of():
    """Memory is that of what is kept, within a factor of two."""
    history = history_of(10_000, history_items=10)
    assert len(history) == 10
    assert len(history._entries) <= 21
    assert len(history._places) == 10


def test_who_asks_for_a_part_gets_the_oldest_and_then_the_rest():
    """An overlap is not counted, or nobody would get any further; all who ask for the same have the same object."""
    clock = Clock()
    history = history_of(7, clock, each_s=1.0)
    assert ids(history.replay("x", most=3)) == ["e1", "e2", "e3"]
    assert history.replay("x", most=3) is history.replay("x", most=3)
    assert ids(history.replay("e3", most=3)) == ["e4", "e5", "e6"]
    assert ids(history.replay("e6", most=3)) == ["e7"]
    assert ids(history.replay("e7", most=3)) == []
    assert ids(history.replay("e3", most=2, overlap_s=2.0)) == ["e1", "e2", "e3", "e4", "e5"]
    assert ids(history.replay("x", most=2, away_s=3.0)) == ["e5", "e6"]
    assert ids(history.replay("e3", most=3, upto=5)) == ["e4", "e5"]
    assert ids(history_of(0).replay("x", most=3)) == []
