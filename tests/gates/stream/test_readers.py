"""There is one fan-out of each kind for a feed, while somebody reads it."""

from __future__ import annotations

import pytest

from triplewire.broker.config import LimitsConfig, StreamGateConfig
from triplewire.broker.errors import Overloaded
from triplewire.gates.stream.lapses import Lapses
from triplewire.gates.stream.readers import Readers
from triplewire.gates.stream.selection import Selections

from .serving import serving, until
from .test_lapses import Judge


async def test_they_come_and_go_with_their_readers():
    """Three kinds; those of one kind share one, and when the last leaves it goes."""
    async with serving() as port:
        readers = port.server._readers
        one, other = await port.follow(), await port.follow("/events/compressed")
        await until(lambda: readers.consumers == 2)
        assert len(readers) == 1
        assert (readers.lanes, readers.skipped_in_all) == (2, 0)
        now = await port.follow("/events/priority")
        poll = await port.connect()
        await poll.ask("GET", "/events/long-polling")
        await until(lambda: len(readers) == 3)
        for client in (now, poll, one):
            await client.close()
        await until(lambda: readers.consumers == 1 and len(readers) == 1)
        await other.close()
        await until(lambda: not len(readers))
        assert readers.lanes == 0
        assert readers.consumers == 0


async def test_a_feed_hears_how_many_follow_it():
    """By filters, too, and as long as they do; one that polls is told even where it need not wait."""
    async with serving(select=Selections(StreamGateConfig(), LimitsConfig()).of) as port:
        changes = []
        port.stream.followed = changes.append
        paths = ["stream", "stream", "priority", "stream?event-type=alarm"]
        clients = [await port.follow(f"/events/{path}") for path in paths]
        poll = await port.connect()
        await poll.ask("GET", "/events/long-polling")
        await until(lambda: sum(changes) == 5)
        await port.publish("a")
        assert await poll.head() == 200
        assert sum(changes) == 4
        changes.clear()
        await port.request("GET", "/events/long-polling?past-events-limit=9")
        assert changes == [1, -1]
        for client in clients:
            await client.close()
        await until(lambda: sum(changes) == -4)


def test_as_many_as_may_follow():
    """One more is refused, and that is counted."""
    readers = Readers(StreamGateConfig(consumers=1), Lapses(Judge()))
    readers.check()
    readers.consumers = 1
    with pytest.raises(Overloaded, match=r"stream\.consumers"):
        readers.check()
    assert readers.shed == 1
