"""A stream of another server, over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from dataclasses import replace

import pytest
from support.fake_tracker import FakeTracker
from support.stepped import item
from support.streams import kept, opened, running, until

from triplewire.broker.config import LimitsConfig, PathsConfig, StreamConfig, StreamGateConfig
from triplewire.broker.errors import ConfigError
from triplewire.broker.security.authority import Nobody
from triplewire.broker.wire.gap_items import Missing, gap_item, missing_of
from triplewire.broker.wire.items import command_item
from triplewire.gates.stream.entry import Entry
from triplewire.gates.stream.relay import Relay, followed
from triplewire.gates.stream.server import StreamServer
from triplewire.gates.stream.stream import timestamp


@contextlib.asynccontextmanager
async def served(*streams, port=0):
    """A stream port with these streams; its URL."""
    server = StreamServer(
        {stream.name: stream for stream in streams}, Nobody(), LimitsConfig(), StreamGateConfig(port=port)
    )
    (port,) = await server.start()
    try:
        yield f"http://127.0.0.1:{port}", server
    finally:
        await server.close()


def relay_of(url, **settings):
    stream = opened("relay", kind="relay", url=url, **settings)
    return stream, Relay(stream, PathsConfig())


async def test_what_comes_there_comes_here():
    """With its ids, and the ids of both streams behind it; commands, too."""
    there = opened("events")
    async with served(there) as (url, server):
        here, relay = relay_of(f"{url}/events")
        async with running(relay.run()):
            await until(lambda: server.consumers)
            there.take([item("e1", event_type="T")], "us")
            there.take([command_item("Event-Source-Started", "c1"), item("e2")], "us")
            await until(lambda: len(here.history) == 3)
    entries = here.history.after("?")
    assert [entry.item.event_id for entry in entries] == ["e1", "c1", "e2"]
    assert entries[0].item.aggregator_ids == (there.source_id, here.source_id)
    assert (entries[0].item.event_type, entries[0].item.body) == ("T", b"<a> <b> <c> .")
    assert entries[0].item.timestamp == there.history.after("?")[0].item.timestamp


async def test_nothing_is_lost_where_the_connection_is():
    """The other server ends, and is there again with what came meanwhile."""
    there = opened("events")
    async with served(there) as (url, server):
        here, relay = relay_of(f"{url}/events")
        task = asyncio.create_task(relay.run())
        await until(lambda: server.consumers)
        there.take([item("e1"), item("e2")], "us")
        await until(lambda: len(here.history) == 2)
    there.take([item("e3")], "us")
    async with served(there, port=int(url.rpartition(":")[2])) as (_, server):
        await until(lambda: len(here.history) == 3)
        there.take([item("e4")], "us")
        await until(lambda: len(here.history) == 4)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    assert kept(here) == ["e1", "e2", "e3", "e4"]
    assert (relay.gaps, here.counts.duplicates) == (0, 0)
    assert relay.tries == 2


async def test_it_begins_behind_what_it_keeps():
    """As a stream that is kept does after a restart."""
    there = opened("events")
    there.take([item("e1"), item("e2"), item("e3")], "us")
    async with served(there) as (url, _):
        here, relay = relay_of(f"{url}/events")
        here.take([item("e1")], "us")
        async with running(relay.run()):
            await until(lambda: len(here.history) == 3)
    assert kept(here) == ["e1", "e2", "e3"]


async def test_a_marker_of_a_gap_goes_on_to_those_who_follow_here(caplog):
    """It is told here, too; and is nothing to go on behind."""
    there = opened("events")
    async with served(there) as (url, server):
        here, relay = relay_of(f"{url}/events")
        async with running(relay.run()):
            await until(lambda: server.consumers)
            there.take([item("e1"), gap_item(Missing("00ff", "us", 3, 4), "there"), item("e2")], "us")
            await until(lambda: len(here.history) == 3)
    assert kept(here) == ["e1", "gap-00ff-3-4", "e2"]
    assert relay.gaps == 1
    assert "could not get Missing(chain='00ff', publisher='us', first=3, last=4)" in caplog.text


async def test_by_a_tracker_it_begins_earlier():
    """Also after a restart: what it keeps is dropped, and what came in another order is not lost."""
    there = opened("events")
    there.take([item("e0"), item("other"), item("e1")], "us")
    async with served(there) as (url, _):
        with FakeTracker({"r1": url}) as tracker:
            here, relay = relay_of(f"{tracker.url}?source=src-1")
            here.take([item("e0"), item("e1"), gap_item(Missing("00ff", "us", 3, 4), "there")], "us")
            async with running(relay.run()):
                await until(lambda: len(here.history) == 4)
            assert tracker.asked[0] == {"source": "src-1", "overlap": "10", "last-seen": "e0"}
    assert kept(here)[-1] == "other"
    assert (relay.gaps, here.counts.duplicates) == (0, 0), "the last two are known to the consumer itself"


async def test_by_a_tracker_it_begins_no_earlier_than_what_it_keeps():
    """The next relay has all of the last ten seconds, and here so many items are not kept: none is taken twice."""
    now = time.time()
    entries = [Entry(n + 1, item(f"e{n}"), now - 10.0 + n / 100) for n in range(1000)]
    there = opened("events")
    there.history.restore(entries, 1000)
    async with served(there) as (url, _):
        with FakeTracker({"r1": url}) as tracker:
            here, relay = relay_of(tracker.url, history_items=400)
            here.history.add(entries[:998])
            async with running(relay.run()):
                await until(lambda: "e999" in kept(here))
            assert tracker.asked[0] == {"overlap": "2.99", "last-seen": "e996"}
    assert kept(here)[-4:] == ["e996", "e997", "e998", "e999"]
    assert here.counts.taken == 2


async def test_relays_in_a_ring_come_to_rest():
    """An item that is back where it was is dropped, also where it is not kept any more."""
    async with contextlib.AsyncExitStack() as stack:
        # Each needs the other's port before it is there
        one = opened("one", kind="relay", history_items=1)
        url_one, _ = await stack.enter_async_context(served(one))
        two = opened("two", kind="relay", url=f"{url_one}/one", history_items=1)
        url_two, _ = await stack.enter_async_context(served(two))
        object.__setattr__(one.config, "url", f"{url_two}/two")
        for stream in (one, two):
            await stack.enter_async_context(running(Relay(stream, PathsConfig()).run()))
        await asyncio.sleep(0.2)
        for number in range(5):
            one.take([item(f"e{number}")], "us")
        await until(lambda: kept(two) == ["e4"])
        await asyncio.sleep(0.1)
        assert (one.counts.taken, two.counts.taken) == (5, 5)
        assert one.counts.loops == 5


async def test_hops_add_no_window():
    """Two relays behind a stream whose window is long: an item is there at once."""
    first = opened("first", window_s=30.0, window_most_s=30.0)
    async with served(first) as (url, at_first):
        second, one = relay_of(f"{url}/first", window_s=30.0, window_most_s=30.0)
        async with served(second) as (next_url, at_second), running(one.run()):
            third, two = relay_of(f"{next_url}/relay")
            async with running(two.run()):
                await until(lambda: at_first.consumers and at_second.consumers)
                first.take([item("warm")], "us")
                await until(lambda: kept(third) == ["warm"])
                began = time.perf_counter()
                first.take([item("e1")], "us")
                await until(lambda: "e1" in kept(third))
                assert time.perf_counter() - began < 2.0
                assert len(third.history.after("?")[1].item.aggregator_ids) == 3


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/events", "{}/none"])
async def test_a_server_that_is_not_there_is_tried_again(url):
    """Or one that has no such stream; it says why."""
    async with served(opened("events")) as (base, _):
        _, relay = relay_of(url.format(base))
        async with running(relay.run()) as task:
            await until(lambda: relay.trouble)
            assert not task.done()


async def test_a_gap_is_told():
    """Where the other server does not keep what came between."""
    there = opened("events", history_items=2)
    async with served(there) as (url, server):
        here, relay = relay_of(f"{url}/events")
        async with running(relay.run()):
            await until(lambda: server.consumers)
            there.take([item("e1"), item("e2")], "us")
            await until(lambda: len(here.history) == 2)
            for connection in tuple(server._readers.values()):
                connection.cut()
            there.take([item(f"x{number}") for number in range(9)], "us")
            await until(lambda: len(here.history) == 5)
            assert relay.gaps == 1
    marker = here.history.after("e2")[0].item
    assert kept(here) == ["e1", "e2", marker.event_id, "x7", "x8"]
    missing = missing_of(marker)
    assert (missing.chain, missing.publisher) == ("*", "")
    assert missing.first <= time.time() <= missing.last + 60


@pytest.mark.parametrize("waited_s", [0, 600])
async def test_a_gap_is_told_after_a_restart(waited_s):
    """From when the last was published that it keeps, also where that was taken long after."""
    there = opened("events", history_items=2)
    there.take([item(f"x{number}") for number in range(9)], "us")
    async with served(there) as (url, _):
        here, relay = relay_of(f"{url}/events")
        published_at = time.time() - waited_s
        here.take([item("e1"), replace(item("e2"), timestamp=timestamp(published_at))], "us")
        async with running(relay.run()):
            await until(lambda: "x8" in kept(here))
    assert relay.gaps == 1
    assert kept(here)[3:] == ["x7", "x8"]
    missing = missing_of([*here.history][2].item)
    assert missing.first == math.floor(published_at)
    assert missing.last >= time.time() - 60


def test_what_is_no_stream_s_url_is_refused():
    """At the start."""
    with pytest.raises(ConfigError, match=r"streams\.r\.url"):
        followed("r", StreamConfig(kind="relay", url="ftp://x/events"))


@pytest.mark.parametrize(
    "given", ["events", "events/", "events/stream", "events/compressed", "events/priority"]
)
def test_whichever_url_is_given_priority_is_followed(given):
    """Without a window."""
    settings = StreamConfig(kind="relay", url=f"https://x:1/there/{given}")
    assert followed("r", settings) == "https://x:1/there/events/priority"
