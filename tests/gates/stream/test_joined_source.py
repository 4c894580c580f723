"""Streams made of streams."""

from __future__ import annotations

import asyncio
import errno
import os
import sys
import time
import types

import pytest
from support.stepped import item
from support.streams import kept, opened, running, until

from triplewire.broker.config import LimitsConfig, StreamConfig
from triplewire.broker.errors import ConfigError, Overloaded, StoreError
from triplewire.broker.wire.gap_items import ANY_CHAIN, Missing, gap_item, missing_of
from triplewire.gates.stream import history_file, joined_source
from triplewire.gates.stream.joined_source import JoinedSource, passing_of, published
from triplewire.gates.stream.stream import open_stream

LIMITS = LimitsConfig()


def passing(**settings):
    return passing_of("f", StreamConfig(kind="filter", of=("events",), **settings), LIMITS)


async def test_a_join_takes_the_items_of_several():
    """From now on, each stream's in its order, at once whatever their windows; it adds its own id."""
    one, other = (opened(name, window_s=30.0, window_most_s=30.0) for name in "ab")
    joined = opened("both")
    one.take([item("old")], "us")
    async with running(JoinedSource(joined, [one, other], passing()).run()):
        one.take([item("a1"), item("a2")], "us")
        other.take([item("b1")], "us")
        await until(lambda: len(joined.history) == 3)
        one.take([item("a3")], "us")
        await until(lambda: len(joined.history) == 4)
    ids = kept(joined)
    assert [each for each in ids if each[0] == "a"] == ["a1", "a2", "a3"]
    last = joined.history.after("a2")[-1].item
    assert last.aggregator_ids == (one.source_id, joined.source_id)


async def test_what_is_in_two_of_them_comes_once():
    """By its id."""
    one, other, joined = opened("a"), opened("b"), opened("both")
    async with running(JoinedSource(joined, [one, other], passing()).run()):
        one.take([item("same")], "us")
        other.take([item("same")], "us")
        other.take([item("end")], "us")
        await until(lambda: "end" in kept(joined) and "same" in kept(joined))
    assert sorted(kept(joined)) == ["end", "same"]


async def test_a_ring_comes_to_rest():
    """An item that has been here is not taken again."""
    one, other = opened("a", history_items=1), opened("b", history_items=1)
    there, back = JoinedSource(other, [one], passing()), JoinedSource(one, [other], passing())
    async with running(there.run()), running(back.run()):
        for number in range(3):
            one.take([item(f"e{number}")], "us")
            await until(lambda number=number: f"e{number}" in kept(other))
            await asyncio.sleep(0.01)
    assert (one.counts.taken, other.counts.taken) == (3, 3)


async def test_a_filter_passes_some():
    """As in URLs, and by a function that remembers."""
    module = types.ModuleType("filters_for_a_test")

    class EachSourceOnce:
        def __init__(self):
            self.seen = set()

        def __call__(self, each):
            new = each.source_id not in self.seen
            self.seen.add(each.source_id)
            return new

    module.once = EachSourceOnce
    sys.modules[module.__name__] = module
    try:
        chosen = passing(only=("event-type=alarm", "event-type=fire"), python="filters_for_a_test:once")
    finally:
        del sys.modules[module.__name__]
    events, alarms = opened(), opened("alarms")
    async with running(JoinedSource(alarms, [events], chosen).run()):
        events.take(
            [
                item("e1", source_id="a"),
                item("e2", source_id="a", event_type="alarm"),
                item("e3", source_id="a", event_type="fire"),
                item("e4", source_id="b", event_type="fire"),
            ],
            "us",
        )
        await until(lambda: "e4" in kept(alarms))
    assert kept(alarms) == ["e2", "e4"]


def test_a_function_that_fails_passes_nothing():
    """And the stream goes on; a figure tells."""
    chosen = passing(only=("source=src-1",))
    chosen._own = lambda _: 1 / 0
    assert chosen.passes(item("e1")) is False
    assert chosen.passes(item("e1", source_id="other")) is False
    assert chosen.failures == 1


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"only": ("alarm",)}, "streams.f.only: expected kind=value"),
        ({"only": ("colour=red",)}, "streams.f.only: .* has what is no filter"),
        ({"only": ("source=",)}, "streams.f.only: .* has what is no filter"),
        ({"only": ("source=a", "colour=red")}, "streams.f.only: .* has what is no filter"),
        ({"only": ("triple=x",)}, "streams.f.only: triple must be"),
        ({"python": "no_such_module:x"}, "streams.f.python = 'no_such_module:x'"),
        ({"python": "json:no_such_name"}, "streams.f.python"),
        ({"python": "json"}, "streams.f.python"),
        ({"python": "builtins:dict"}, "can't be called"),
    ],
)
def test_what_is_wrong_in_the_settings_is_told(settings, told):
    """With its path, at the start."""
    with pytest.raises(ConfigError, match=told):
        passing(**settings)


def test_the_same_said_twice_is_no_mistake():
    """It is one condition."""
    assert passing(only=("source=a", "source=a")).passes(item("e", source_id="a"))


async def test_what_is_let_go_of_is_told():
    """Where a source is faster than its reader, for longer than it keeps: counted, and by a marker with the times."""
    one, joined = opened("a", history_items=2), opened("b")
    source = JoinedSource(joined, [one], passing(only=("event-type=none", "source=src-1")))
    before = time.time()
    one.take([item(f"e{number}", event_type="none") for number in range(5)], "us")
    async with running(source.run()):
        await until(lambda: len(joined.history) == 3)
        one.take([item("e5", event_type="none")], "us")
        await until(lambda: len(joined.history) == 4)
    marker, *others = (entry.item for entry in joined.history)
    assert ([each.event_id for each in others], source.missed) == (["e3", "e4", "e5"], 3)
    missing = missing_of(marker)
    assert missing.chain == ANY_CHAIN
    assert missing.first <= before <= time.time() <= missing.last + 1
    assert marker.source_id == joined.source_id


async def test_a_marker_of_a_gap_passes():
    """What is missing might have passed."""
    news, some = opened("a"), opened("b")
    marker = gap_item(Missing("ab", "them", 1, 2), news.source_id)
    async with running(JoinedSource(some, [news], passing(only=("source=other",))).run()):
        news.take([item("e1"), marker, item("e2", source_id="other")], "us")
        await until(lambda: "e2" in kept(some))
    assert kept(some) == [marker.event_id, "e2"]


async def test_it_ends_when_its_streams_have():
    """And has passed on the last by then."""
    one, joined = opened("a"), opened("b")
    source = asyncio.create_task(JoinedSource(joined, [one], passing()).run())
    await asyncio.sleep(0)
    one.take([item("e1")], "us")
    one.close()
    await asyncio.wait_for(source, 5)
    assert kept(joined) == ["e1"]


async def test_a_stream_that_is_behind_is_waited_for():
    """And what it refuses is left out, one by one."""
    into, busy = opened(), [3]

    class Behind:
        name, closed = "events", False

        async def publish(self, items, publisher):
            if busy[0]:
                busy[0] -= 1
                raise Overloaded("later")
            return into.take(items, publisher)

    finished = item("e2", b"Stream-Finished", syntax="ztreamy-command")
    await asyncio.wait_for(published(Behind(), [item("e1"), finished, item("e3")], "us"), 5)
    assert kept(into) == ["e1", "e3"]


async def test_a_disk_that_is_full_is_waited_for(tmp_path, monkeypatch, caplog):
    """Nothing is left out of a kept stream, and one line of the log says so."""
    monkeypatch.setattr(joined_source, "_AGAIN_KEEPING_S", 0.001)
    write, left = os.write, [20]

    def full(fd, data):
        left[0] -= 1
        if left[0] > 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(fd, data)

    config = StreamConfig(keep=True)
    into = open_stream("events", config, asyncio.get_running_loop(), folder=tmp_path, silence_s=0.0)
    monkeypatch.setattr(history_file.os, "write", full)
    await asyncio.wait_for(published(into, [item("e1"), item("e2")], "us"), 5)
    assert (kept(into), into.counts.taken, left) == (["e1", "e2"], 2, [0])
    assert caplog.text.count("waits to take items of us") == 1
    into.close()


async def test_who_waits_for_a_disk_ends_with_the_stream(tmp_path, monkeypatch):
    """Whatever becomes of what waits."""
    monkeypatch.setattr(joined_source, "_AGAIN_KEEPING_S", 0.001)
    config = StreamConfig(keep=True)
    into = open_stream("events", config, asyncio.get_running_loop(), folder=tmp_path, silence_s=0.0)
    monkeypatch.setattr(into.history, "_failed", StoreError("the disk failed"))
    waiting = asyncio.create_task(published(into, [item("e1")], "us"))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    into.close()
    await asyncio.wait_for(waiting, 5)
    assert kept(into) == []
