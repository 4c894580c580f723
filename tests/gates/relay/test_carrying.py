"""Streams that other processes have as well: what leaves, what comes, and who is told when."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.carriers import FakeCarrier, Overlay
from support.stepped import item
from support.streams import kept, opened, running, until

from triplewire.broker.config import StreamConfig
from triplewire.broker.errors import Forbidden, Overloaded, StoreError
from triplewire.broker.wire.gap_items import Missing, missing_of
from triplewire.broker.wire.items import STREAM_FINISHED, Item, command_item
from triplewire.gates.relay.carrying import OverlayFeed
from triplewire.gates.stream import history_file, joined_source
from triplewire.gates.stream.following import Following
from triplewire.gates.stream.stream import open_stream

AGAIN_S = 0.002


def ids(items):
    return [each.event_id for each in items]


@pytest.fixture
async def carrier():
    return FakeCarrier()


@pytest.fixture
async def feed(carrier):
    made = OverlayFeed(opened(), carrier, AGAIN_S)
    yield made
    await made.close()


async def test_what_is_published_leaves_as_the_stream_made_it(feed, carrier):
    """With its Source-Id and a time; what was there and what came back do not."""
    receipt = await feed.publish([item("a"), item("b"), item("a")], "us")
    assert receipt == (2, 1, 0, 2)
    assert carrier.carried == [entry.item for entry in feed.history]
    assert all(each.aggregator_ids == (feed.source_id,) and each.timestamp for each in carrier.carried)
    looped = item("c", aggregator_ids=(feed.source_id,))
    assert await feed.publish([item("b"), looped, item("d")], "us") == (1, 1, 1, 3)
    assert ids(carrier.carried) == ["a", "b", "d"]
    assert feed.counts.carried == 3


async def test_more_items_than_are_kept_leave_all_the_same(carrier):
    """The history is no queue of what leaves."""
    feed = OverlayFeed(opened(history_items=2), carrier)
    names = [f"e{number}" for number in range(50)]
    await feed.publish([item(name) for name in names], "us")
    assert ids(carrier.carried) == names
    await feed.close()


async def test_a_publisher_is_answered_when_its_items_have_left(feed, carrier):
    """And readers here are not held up by that."""
    carrier.hold = asyncio.Event()
    heard = []
    feed.listen(heard.append)
    publishing = asyncio.create_task(feed.publish([item("a")], "us"))
    await until(lambda: heard)
    assert not publishing.done()
    again = asyncio.create_task(feed.publish([item("a")], "us"))  # as one whose connection broke
    await asyncio.sleep(0.01)
    assert not again.done()
    carrier.hold.set()
    assert (await publishing).taken == (await again).duplicates == 1
    assert ids(carrier.carried) == ["a"]


async def test_nothing_is_taken_where_nothing_can_be_carried(feed, carrier):
    """The publisher hears why."""
    carrier.refuses = Forbidden("the tracker gave no certificate")
    with pytest.raises(Forbidden, match="certificate"):
        await feed.publish([item("a")], "us")
    assert kept(feed) == []
    carrier.refuses = None
    assert (await feed.publish([item("a")], "us")).taken == 1


async def test_what_the_stream_refuses_does_not_leave(feed, carrier):
    """All or none."""
    with pytest.raises(Forbidden):
        await feed.publish([item("a"), command_item(STREAM_FINISHED, "end")], "us")
    assert carrier.carried == kept(feed) == []


async def test_what_was_taken_and_could_not_leave_leaves_later(feed, carrier):
    """Its publisher is told so; nothing more is taken meanwhile; who sends it again is answered when it has left."""
    carrier.fails = [Overloaded("the disk is full")] + [Overloaded("still")] * 4
    with pytest.raises(Overloaded, match="disk is full"):
        await feed.publish([item("a"), item("b")], "us")
    assert (kept(feed), feed.behind) == (["a", "b"], 2)
    with pytest.raises(Overloaded, match="2 items of events have not left"):
        await feed.publish([item("a"), item("c")], "us")
    assert kept(feed) == ["a", "b"]
    await until(lambda: not feed.behind)
    assert (await feed.publish([item("a"), item("c")], "us")) == (1, 1, 0, 3)
    assert ids(carrier.carried) == ["a", "b", "c"]


async def test_what_leaves_later_makes_this_a_publisher_again(feed, carrier):
    """A carrier may have forgotten that it was one, while a store was slow."""
    forgets, publish, ready = True, carrier.publish, carrier.ready

    async def forgetful(stream, items):
        if forgets:
            raise Overloaded("who publishes?")
        await publish(stream, items)

    async def reminded(stream):
        nonlocal forgets
        await ready(stream)
        forgets = bool(not feed.behind)

    carrier.publish, carrier.ready = forgetful, reminded
    with pytest.raises(Overloaded, match="who publishes"):
        await feed.publish([item("a")], "us")
    await until(lambda: not feed.behind)
    assert ids(carrier.carried) == ["a"]


async def test_an_error_of_the_carrier_s_own_loses_nothing(feed, carrier, caplog):
    """Whatever it raises."""
    carrier.fails = [ValueError("a bug")]
    with pytest.raises(Exception, match="was taken, and could not leave"):
        await feed.publish([item("a")], "us")
    await until(lambda: not feed.behind)
    assert ids(carrier.carried) == ["a"]
    assert "a bug" in caplog.text


async def test_a_publisher_that_gives_up_loses_nothing(feed, carrier):
    """What was taken leaves, whoever waits for it."""
    carrier.hold = asyncio.Event()
    publishing = asyncio.create_task(feed.publish([item("a")], "us"))
    await until(lambda: kept(feed))
    publishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await publishing
    carrier.hold.set()
    await until(lambda: feed.counts.carried)
    assert ids(carrier.carried) == ["a"]


async def test_what_another_process_kept_may_have_left_or_not(tmp_path, carrier):
    """So it leaves once more, when its publisher sends it again; once."""
    loop = asyncio.get_running_loop()
    config = StreamConfig(keep=True)
    before = open_stream("events", config, loop, folder=tmp_path)
    before.take([item("a"), item("b")], "us")
    before.close()
    feed = OverlayFeed(open_stream("events", config, loop, folder=tmp_path), carrier)
    assert await feed.publish([item("a"), item("c")], "us") == (1, 1, 0, 3)
    assert sorted(ids(carrier.carried)) == ["a", "c"]
    assert (await feed.publish([item("a"), item("c")], "us")).duplicates == 2
    assert len(carrier.carried) == 2
    feed.history.close()
    await feed.close()


async def test_items_of_others_are_taken_and_not_carried_back(feed, carrier):
    """With all they have, and this stream's id; what is here already is not taken again."""
    theirs = [item("a", aggregator_ids=("far",), timestamp="2026-01-01T00:00:00Z"), item("b")]
    await feed.take(theirs, "sensor-1")
    await feed.publish([item("c"), item("a")], "us")
    await feed.take([item("c"), item("d")], "")
    assert kept(feed) == ["a", "b", "c", "d"]
    assert next(iter(feed.history)).item.aggregator_ids == ("far", feed.source_id)
    assert ids(carrier.carried) == ["c"]
    assert feed.counts.came == 4


async def test_items_of_others_that_would_end_a_consumer_are_left_out(feed):
    """No node vouches for what another lets through."""
    bad = Item("bad", "s", "application/json", b"{")
    await feed.take([item("a"), bad, command_item(STREAM_FINISHED, "end"), item("b")], "sensor-1")
    assert kept(feed) == ["a", "b"]
    assert feed.counts.unfit == 1


async def test_a_slow_store_holds_up_what_comes(carrier):
    """Until it has caught up."""
    inner = opened()
    refusals = iter([Overloaded("behind"), Overloaded("behind")])
    publish = inner.publish

    async def slow(items, publisher):
        for error in refusals:
            raise error
        return await publish(items, publisher)

    inner.publish = slow
    feed = OverlayFeed(inner, carrier)
    await asyncio.wait_for(feed.take([item("a")], "them"), 5)
    assert kept(feed) == ["a"]
    await feed.close()


async def test_a_disk_that_is_full_holds_up_what_comes(tmp_path, carrier, monkeypatch):
    """Nothing is left out: who gives it waits, so its place in the chain stays, and what comes meanwhile is asked for later."""
    inner = open_stream("events", StreamConfig(keep=True), asyncio.get_running_loop(), folder=tmp_path)
    feed = OverlayFeed(inner, carrier)
    append = history_file.HistoryFile.append

    def full(*_):
        raise StoreError("there is no room")

    monkeypatch.setattr(joined_source, "_AGAIN_KEEPING_S", 0.001)
    monkeypatch.setattr(history_file.HistoryFile, "append", full)
    taking = asyncio.create_task(feed.take([item("a"), item("b")], "them"))
    await until(lambda: inner.history.trouble)
    with pytest.raises(StoreError):
        await feed.publish([item("mine")], "us")
    assert not taking.done()
    monkeypatch.setattr(history_file.HistoryFile, "append", append)
    await asyncio.wait_for(taking, 5)
    assert (kept(feed), inner.history.trouble) == (["a", "b"], "")
    inner.close()
    await feed.close()


async def test_where_nothing_is_taken_the_stream_is_not_there(tmp_path, carrier, monkeypatch):
    """Who follows goes to another, as with a full disk all that comes is lost here in the end; for a moment it may wait."""
    loop = asyncio.get_running_loop()
    inner = open_stream("events", StreamConfig(keep=True), loop, folder=tmp_path)
    feed = OverlayFeed(inner, carrier, taken_in_s=5.0)
    clock, now = loop.time, 0.0
    monkeypatch.setattr(loop, "time", lambda: clock() + now)
    append = history_file.HistoryFile.append

    def full(*_):
        raise StoreError("there is no room")

    monkeypatch.setattr(joined_source, "_AGAIN_KEEPING_S", 0.001)
    monkeypatch.setattr(history_file.HistoryFile, "append", full)
    taking = asyncio.create_task(feed.take([item("a")], "them"))
    await until(lambda: inner.history.trouble)
    assert feed.is_there()
    now += 6.0
    assert not feed.is_there()
    monkeypatch.setattr(history_file.HistoryFile, "append", append)
    await taking
    assert feed.is_there()
    with monkeypatch.context() as broken:
        broken.setattr(history_file.HistoryFile, "append", full)
        with pytest.raises(StoreError):
            await feed.publish([item("mine")], "us")
    now += 6.0
    assert inner.history.trouble
    assert feed.is_there(), "nothing that came waits"
    inner.close()
    await feed.close()


async def test_a_gap_is_an_item_of_its_own(feed, carrier):
    """In its place, once, with the same id at every node; it is not carried."""
    await feed.take([item("a")], "sensor-1")
    await feed.missing("00112233445566ff", "sensor-1", 4, 9)
    await feed.missing("00112233445566ff", "sensor-1", 4, 9)
    await feed.take([item("b")], "sensor-1")
    marker = [entry.item for entry in feed.history][1]
    assert kept(feed) == ["a", marker.event_id, "b"]
    assert missing_of(marker) == Missing("00112233445566ff", "sensor-1", 4, 9)
    assert marker.source_id == feed.source_id
    assert carrier.carried == []


async def test_who_follows_is_counted(feed, carrier):
    """Each change is told, as long as the stream is carried; what reads it in this process is one of them."""
    feed.followed(1)
    feed.followed(1)
    feed.followed(-2)

    async def read():
        async for _ in Following(feed, 0).batches(10):
            pass

    async with running(read()):
        assert feed.followers == 1
    assert [count for _, count in carrier.told] == [1, 2, 0, 1, 0]
    await feed.close()
    feed.followed(-1)
    assert len(carrier.told) == 5
    assert carrier.dropped == ["events"]


async def test_the_end_of_a_stream_waits_for_what_leaves(carrier):
    """What was taken in the last step, too."""
    inner = opened()
    feed = OverlayFeed(inner, carrier)
    publishing = asyncio.create_task(feed.publish([item("a")], "us"))
    await until(lambda: kept(feed))
    inner.close()
    await feed.close()
    assert ids(carrier.carried) == ["a"]
    assert (await publishing).taken == 1


FAULTS = st.sampled_from([None, None, None, "refused", "lost", "abandoned"])
ROUNDS = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), FAULTS), min_size=1, max_size=4), max_size=6
)


@given(rounds=ROUNDS, history=st.sampled_from([100, 2048]))
@settings(max_examples=60)
def test_whatever_fails_each_item_comes_to_all_once(rounds, history):
    """Publishers at three nodes at the same time, who send again what was not answered: nothing is lost, nothing twice."""
    asyncio.run(_all_once(rounds, history))


async def _all_once(rounds, history):
    overlay = Overlay()
    carriers = [overlay.node() for _ in range(3)]
    feeds = [OverlayFeed(opened(history_items=history), each, AGAIN_S) for each in carriers]
    heard = [[] for _ in feeds]
    for feed, ears in zip(feeds, heard, strict=True):
        feed.listen(lambda batch, ears=ears: ears.extend(ids(entry.item for entry in batch.entries)))
    sent = {node: [] for node in range(3)}
    faulty = set()
    for each in rounds:
        tasks = []
        for node, count, fault in each:
            begin = sum(map(len, sent.values()))
            names = [f"e{begin + number}" for number in range(count)]
            sent[node] += names
            if fault is not None:
                faulty.add(node)
            tasks.append(_publish_with(fault, carriers[node], feeds[node], names))
        await asyncio.gather(*tasks)
    await until(lambda: not any(feed.behind for feed in feeds))
    await asyncio.sleep(AGAIN_S)
    everything = {name for names in sent.values() for name in names}
    for ears in heard:
        assert set(ears) == everything
        assert len(ears) == len(everything)
        for node in set(sent) - faulty:
            assert [name for name in ears if name in sent[node]] == sent[node]
    for feed in feeds:
        await feed.close()


async def _publish_with(fault, carrier, feed, names):
    """As a publisher that goes on until it is answered."""
    items = [item(name) for name in names]
    if fault == "refused":
        carrier.refuses = Overloaded("no tracker")
    elif fault == "lost":
        carrier.fails.append(Overloaded("lost"))
    elif fault == "abandoned":
        publishing = asyncio.create_task(feed.publish(items, "us"))
        await asyncio.sleep(0)
        publishing.cancel()
        await asyncio.gather(publishing, return_exceptions=True)
    while True:
        try:
            await feed.publish(items, "us")
        except Overloaded:
            carrier.refuses = None
            await asyncio.sleep(AGAIN_S)
        else:
            return
