"""How a reader joins: no gap and no duplicate, whatever it has seen and whatever waits."""

from __future__ import annotations

from support.stepped import Reader, SteppedLoop, ids, item, stream_of

from triplewire.gates.stream.feed import Feed, join, join_now


def busy_stream(**settings):
    """Three items have left, two wait in the window."""
    loop = SteppedLoop()
    stream = stream_of(loop, window_s=3.0, window_most_s=3.0, **settings)
    stream.take([item("e1"), item("e2"), item("e3")], "us")
    loop.settle()
    stream.take([item("e4"), item("e5")], "us")
    loop.settle()
    assert (stream.sent, stream.history.last) == (3, 5)
    return loop, stream


def heard_after_joining(last_seen, limit=None):
    """What a reader gets that joins in the middle of a window: first, then in batches."""
    loop, stream = busy_stream()
    reader = Reader(stream, loop)
    first, position = join(stream, last_seen, limit)
    stream.take([item("e6")], "us")
    loop.advance(10)
    return ids(first), [ids(batch.after(position)) for batch in reader.batches]


def test_a_stream_is_a_feed():
    """What serves connections needs nothing else."""
    stream: Feed = stream_of(SteppedLoop())
    assert stream.name == "events"


def test_who_asks_for_nothing_hears_what_leaves_from_now_on():
    """The next batch is whole, so that all can be sent the same bytes."""
    assert heard_after_joining(None) == ([], [["e4", "e5", "e6"]])


def test_who_has_seen_something_gets_what_it_missed():
    """And what waits comes in its batch, once."""
    assert heard_after_joining("e1") == (["e2", "e3"], [["e4", "e5", "e6"]])
    assert heard_after_joining("unknown") == (["e1", "e2", "e3"], [["e4", "e5", "e6"]])
    assert heard_after_joining(None, 1) == (["e3"], [["e4", "e5", "e6"]])


def test_who_has_seen_what_still_waits_does_not_get_it_again():
    """A reader of /priority that goes on at /stream."""
    assert heard_after_joining("e4") == ([], [["e5", "e6"]])
    assert heard_after_joining("e3", 0) == ([], [["e4", "e5", "e6"]])


def test_priority_does_not_lose_what_waits():
    """Weakness 6: Ztreamy's relays lose what is in the window when they come back."""
    loop, stream = busy_stream()
    first, position = join_now(stream, "e2", None)
    reader = Reader(stream, loop)
    stream.take([item("e6")], "us")
    loop.settle()
    assert ids(first) == ["e3", "e4", "e5"]
    assert [ids(batch.after(position)) for batch in reader.now] == [["e6"]]


def test_priority_joined_in_the_step_in_which_something_was_taken():
    """What is on its way to those that listen already is not sent twice."""
    loop, stream = busy_stream()
    reader = Reader(stream, loop)
    stream.take([item("e6")], "us")
    first, position = join_now(stream, "e5", None)
    stream.take([item("e7")], "us")
    loop.settle()
    assert ids(first) == ["e6"]
    assert [ids(batch.after(position)) for batch in reader.now] == [["e7"]]
