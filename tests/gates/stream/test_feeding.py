"""From a stream into the store."""

from __future__ import annotations

import asyncio
import math
import random
import threading
import time

import httpx
import pytest
from support.running import RunningBroker
from support.scheduling import Running
from support.stepped import item
from support.streams import kept, opened, running, until

from triplewire.broker.config import StreamConfig
from triplewire.broker.errors import EngineError, Overloaded
from triplewire.broker.model import Updated
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import encode_item
from triplewire.gates.stream.feeding import MOST_BEHIND, StoredFeed
from triplewire.gates.stream.stored_mark import StoredMark
from triplewire.gates.stream.stream import open_stream

GRAPH = "urn:graph"


class Writes:
    """A store that notes what it is told, is held up while `gate` is not set, and fails as it is told."""

    def __init__(self):
        self.texts = []
        self.failures = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def submit(self, request, *, bulk=False):  # noqa: ARG002
        await self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        self.texts.append(request)
        return Updated()


def stored(writes, **settings):
    return StoredFeed(opened(**settings), GRAPH, writes, 100)


async def test_what_items_say_is_in_the_graph():
    """In a real store, in every RDF syntax; blank nodes of two items are two; others are in the stream only."""
    broker = Running()
    feed = stored(broker.scheduler)
    try:
        async with running(feed.run()):
            await feed.publish(
                [
                    item("e1", b"<urn:a> <urn:p> 1 . _:x <urn:p> 2 ."),
                    item("e2", b'_:x <urn:p> "3" .', syntax="application/n-triples; charset=utf-8"),
                    item("e3", b'{"@id": "urn:b", "urn:p": 4}', syntax="application/ld+json"),
                    item("e4", b"hello", syntax="text/plain"),
                    item("e5", b"<urn:a> <urn:p>"),
                ],
                "us",
            )
            await until(lambda: feed.stored == 3 and not feed.behind)
        rows = await broker.whole(f"SELECT ?s ?o {{ GRAPH <{GRAPH}> {{ ?s <urn:p> ?o }} }}")
        assert len(rows) == 4
        assert len({row[0] for row in rows}) == 4
        assert (feed.failed, len(feed.history)) == (1, 5)
    finally:
        await broker.scheduler.close()


async def test_many_items_are_one_update():
    """In their order."""
    writes = Writes()
    feed = stored(writes)
    await feed.publish([item(f"e{n}", b"<urn:a> <urn:p> %d ." % n) for n in range(150)], "us")
    async with running(feed.run()):
        await until(lambda: not feed.behind)
    assert (len(writes.texts), feed.stored) == (2, 150)
    assert [line.split()[2][:3] for line in writes.texts[1].triples.splitlines()][:2] == ['"10', '"10']
    assert {(write.graph, write.edit.name) for write in writes.texts} == {(GRAPH, "MERGE")}


async def test_a_publisher_that_is_faster_is_refused():
    """With 503, once so many wait; nothing of it is in the stream; later it goes on."""
    writes = Writes()
    writes.gate.clear()
    feed = stored(writes, history_items=3000)
    async with running(feed.run()):
        await feed.publish([item(f"e{n}") for n in range(MOST_BEHIND)], "us")
        with pytest.raises(Overloaded, match="wait to be stored") as refused:
            await feed.publish([item("late")], "us")
        assert refused.value.status == 503
        assert feed.history.entry("late") is None
        writes.gate.set()
        await until(lambda: not feed.behind)
        await feed.publish([item("late")], "us")
        await until(lambda: feed.stored == MOST_BEHIND + 1)


async def test_the_bound_is_within_what_is_kept():
    """So that nothing is let go of before it is stored."""
    writes = Writes()
    writes.gate.clear()
    feed = stored(writes, history_items=10)
    async with running(feed.run()):
        for number in range(5):
            await feed.publish([item(f"e{number}")], "us")
        with pytest.raises(Overloaded):
            await feed.publish([item("e5")], "us")


@pytest.mark.parametrize(
    "bounds",
    [{"history_items": 50}, {"history_bytes": 2_000}, {"history_bytes": 10}, {"history_s": 0.001}],
)
async def test_what_is_not_stored_yet_is_not_let_go_of(bounds):
    """One body can have more than is kept, or a store take long: who was answered is stored; then the bounds count."""
    writes = Writes()
    writes.gate.clear()
    feed = stored(writes, **bounds)
    async with running(feed.run()):
        await feed.publish([item(f"e{n}", b"<urn:a> <urn:p> %d ." % n) for n in range(500)], "us")
        await asyncio.sleep(0.01)
        assert len(feed.history) == 500
        writes.gate.set()
        await until(lambda: not feed.behind)
    told = [int(line.split('"')[1]) for write in writes.texts for line in write.triples.splitlines()]
    assert told == list(range(500))
    assert (feed.stored, feed.missed) == (500, 0)
    assert len(feed.history) <= 50
    assert not feed.history.is_over


async def test_what_is_held_is_bounded():
    """By the bytes as well: while the stream is over its bounds a publisher is refused, however few items wait."""
    writes = Writes()
    writes.gate.clear()
    feed = stored(writes, history_bytes=10_000)
    large = b"<urn:a> <urn:p> <urn:%s> ." % (b"x" * 6_000)
    async with running(feed.run()):
        for number in range(2):
            await feed.publish([item(f"e{number}", large)], "us")
        with pytest.raises(Overloaded, match="2 items of events wait to be stored"):
            await feed.publish([item("e2", large)], "us")
        writes.gate.set()
        await until(lambda: not feed.behind)
        await feed.publish([item("e2", large)], "us")
        await until(lambda: feed.stored == 3)


async def test_what_was_let_go_of_all_the_same_is_told():
    """By a figure; it goes on with what is there."""
    writes = Writes()
    feed = stored(writes, history_items=2)
    feed.history.free_upto = lambda: math.inf
    await feed.publish([item(f"e{n}", b"<urn:a> <urn:p> %d ." % n) for n in range(5)], "us")
    async with running(feed.run()):
        await until(lambda: not feed.behind)
    assert (feed.missed, feed.stored) == (3, 2)


async def test_a_store_that_is_busy_is_asked_again():
    """What fails for another reason is tried one by one, counted and passed over."""
    writes = Writes()
    feed = stored(writes)
    writes.failures = [Overloaded("later"), EngineError("no"), EngineError("not the first")]
    await feed.publish([item("e1", b"<urn:a> <urn:p> 1 ."), item("e2", b"<urn:a> <urn:p> 2 .")], "us")
    async with running(feed.run()):
        await until(lambda: not feed.behind)
    assert (feed.stored, feed.failed, len(writes.texts)) == (1, 1, 1)
    assert kept(feed) == ["e1", "e2"]


async def test_a_large_item_is_read_beside_the_loop():
    """And is stored like any other."""
    writes = Writes()
    feed = stored(writes)
    body = b"".join(b"<urn:a> <urn:p> %d .\n" % number for number in range(2000))
    await feed.publish([item("e1", body)], "us")
    async with running(feed.run()):
        await until(lambda: feed.stored == 1)
    assert writes.texts[0].triples.count("\n") == 2000


async def test_it_ends_with_the_stream():
    """When all is stored."""
    writes = Writes()
    feed = stored(writes)
    task = asyncio.create_task(feed.run())
    await feed.publish([item("e1")], "us")
    feed._feed.close()
    await asyncio.wait_for(task, 5)
    assert feed.stored == 1


class Kept:
    """A kept stream that is stored, as the hub makes it, in a folder; it can be begun again."""

    def __init__(self, folder, writes, **settings):
        config = StreamConfig(keep=True, **settings)
        self.stream = open_stream("events", config, asyncio.get_running_loop(), folder=folder, silence_s=0)
        last = self.stream.history.last
        self.mark = StoredMark(folder / "events.stored", f"{self.stream.source_id} {GRAPH}", last)
        self.feed = StoredFeed(self.stream, GRAPH, writes, 100, self.mark)

    async def stores(self, count):
        """Run until that many items were stored, and no more wait."""
        async with running(self.feed.run()):
            await until(lambda: self.feed.stored == count and not self.feed.behind)

    def die(self):
        """Its files are as they were, nothing is stored any more."""
        self.stream.history.close()
        self.mark.close()


def body(number):
    """An item with a node of its own."""
    return b"<urn:%d> <urn:p> [ <urn:v> %d ] ." % (number, number)


async def test_what_waited_is_stored_at_the_next_start(tmp_path):
    """Where the stream is kept; once, in order, and not again at the start after that."""
    writes = Writes()
    before = Kept(tmp_path, writes)
    await before.feed.publish([item("e1", body(1))], "us")
    await before.stores(1)
    async with running(before.feed.run()):
        writes.gate.clear()
        await before.feed.publish([item(f"e{n}", body(n)) for n in (2, 3)], "us")
        await asyncio.sleep(0.01)
    before.die()
    for stored_then in (2, 0):
        after = Kept(tmp_path, writes)
        writes.gate.set()
        assert after.feed.behind == stored_then
        await after.stores(stored_then)
        after.die()
    assert [write.triples.count("<urn:p>") for write in writes.texts] == [1, 2]


async def test_what_waited_over_the_bounds_is_stored_at_the_next_start(tmp_path):
    """The history is read before it is known what waits, and lets nothing of it go."""
    writes = Writes()
    before = Kept(tmp_path, writes, history_items=10)
    await before.feed.publish([item("e0", body(0))], "us")
    await before.stores(1)
    await before.feed.publish([item(f"e{n}", body(n)) for n in range(1, 100)], "us")
    before.die()
    after = Kept(tmp_path, writes, history_items=10)
    assert after.feed.behind == 99
    await after.stores(99)
    assert (after.feed.missed, len(after.stream.history)) == (0, 10)
    after.die()


async def test_what_was_stored_and_not_marked_is_there_once(tmp_path):
    """The store has it, the mark has not: storing it again changes nothing, blank nodes and all."""
    broker = Running()
    try:
        for _ in range(3):
            kept_one = Kept(tmp_path, broker.scheduler)
            if not kept_one.stream.history.last:
                await kept_one.feed.publish([item(f"e{n}", body(n)) for n in range(5)], "us")
            await kept_one.stores(5)
            kept_one.die()
            (tmp_path / "events.stored").unlink()
        rows = await broker.whole(f"SELECT ?s ?v {{ GRAPH <{GRAPH}> {{ ?s <urn:p> [ <urn:v> ?v ] }} }}")
        assert len(rows) == 5
    finally:
        await broker.scheduler.close()


async def test_what_a_busy_store_did_not_take_in_the_end_is_not_marked(tmp_path):
    """The broker ends, the store has no time: it is stored at the next start."""
    writes = Writes()
    writes.failures = [Overloaded("later")] * 1000
    before = Kept(tmp_path, writes)
    await before.feed.publish([item("e1", body(1))], "us")
    task = asyncio.create_task(before.feed.run())
    await asyncio.sleep(0.01)
    before.stream.close()
    await asyncio.wait_for(task, 5)
    assert (before.feed.stored, before.feed.behind) == (0, 1)
    writes.failures = []
    after = Kept(tmp_path, writes)
    await after.stores(1)
    after.die()


def published(broker, first):
    """Publish numbered items one after the other until the broker is killed, at a random moment."""
    killer = threading.Timer(random.Random(first).uniform(0.2, 0.6), broker.kill)
    killer.start()
    number = first
    with httpx.Client(trust_env=False) as client:
        try:
            while True:
                items = b"".join(encode_item(item(str(n), body(n))) for n in range(number, number + 5))
                headers = {"Content-Type": "application/ztreamy-event"}
                answer = client.post(f"{broker.streams}/events/publish", content=items, headers=headers)
                if answer.status_code == 503:  # it waits for the store
                    continue
                assert answer.status_code == 200
                number += 5
        except httpx.HTTPError:
            killer.join()
            return number + 5  # the last five may have been taken, or not


def test_kill_9_of_the_broker_loses_nothing_and_stores_nothing_twice(tmp_path):
    """At random moments, between taking and storing among them: the graph says what the stream has, each once."""
    arguments = [
        "--data",
        str(tmp_path),
        *("--set", "streams.events.keep=true"),
        "--set",
        "log.level=WARNING",
    ]
    arguments += [
        *("--set", f"streams.events.store_graph={GRAPH}"),
        "--set",
        "streams.events.history_items=100000",
    ]
    number = 0
    for _ in range(2):
        broker = RunningBroker.start(*arguments, memory=False)
        number = published(broker, number)
    broker = RunningBroker.start(*arguments, memory=False)
    try:
        with httpx.Client(base_url=broker.http, trust_env=False) as client:
            deadline = time.monotonic() + 20
            while (health := client.get("/health").json()["streams"])["store_behind"]:
                assert time.monotonic() < deadline, health
                time.sleep(0.01)
            query = f"SELECT ?s ?v {{ GRAPH <{GRAPH}> {{ ?s <urn:p> ?node . ?node <urn:v> ?v }} }}"
            found = client.get("/query", params={"query": query}).json()["results"]["bindings"]
            limits = {"past-events-limit": 100000, "non-blocking": 1}
            kept_items = client.get(f"{broker.streams}/events/long-polling", params=limits).content
        ids = sorted(int(each.event_id) for each in ItemReader().feed(kept_items))
        assert sorted(int(row["v"]["value"]) for row in found) == ids
        assert len(ids) == len(set(ids)) == health["kept"] > 20
    finally:
        broker.stop()
