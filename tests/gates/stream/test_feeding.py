"""From a stream into the store."""

from __future__ import annotations

import asyncio

import pytest
from support.scheduling import Running
from support.stepped import item
from support.streams import kept, opened, running, until

from triplewire.broker.errors import EngineError, Overloaded
from triplewire.broker.model import Updated
from triplewire.gates.stream.feeding import MOST_BEHIND, StoredFeed

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
        assert not feed.history.knows("late")
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
