"""Streams of instructions: the newest state and no other, one stream a node, and an end for each."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest
from support.simulated_nodes import World, a_status

from triplewire.broker.errors import Conflict, NotFound, ShuttingDown
from triplewire.broker.rights import OPEN
from triplewire.gates.relay.listeners import Listeners
from triplewire.gates.relay.statuses import Instructions, StatusLimits


class Listening:
    """One request, whose client reads when the test says so."""

    def __init__(self, stream):
        self.sent = []
        self.arrived = asyncio.Event()
        self.reads = asyncio.Event()
        self.reads.set()
        self.hangs_up = asyncio.Event()
        self.aborted = False
        scope = {"type": "http", "extensions": {"triplewire.abort": self.abort}}
        self.task = asyncio.create_task(stream(scope, self.receive, self.send))

    def abort(self):
        self.aborted = True

    async def receive(self):
        await self.hangs_up.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        await self.reads.wait()
        self.sent.append(message)
        self.arrived.set()

    async def until(self, count):
        """So many messages have come."""
        async with asyncio.timeout(5):
            while len(self.sent) < count:
                self.arrived.clear()
                await self.arrived.wait()

    def bodies(self):
        return [message["body"] for message in self.sent if message["type"] == "http.response.body"]

    def instructions(self):
        return [
            Instructions.read(body.removeprefix(b"data: ").strip(), StatusLimits())
            for body in self.bodies()
            if body.startswith(b"data: ")
        ]


class Served:
    def __init__(self, **settings):
        self.world = World()
        self.world.join("a")
        self.listeners = Listeners(
            self.world.tracking, lambda: self.world.now, **{"keep_alive_s": 60.0, "send_s": 60.0, **settings}
        )
        self.opened = []

    def open(self, node="a", instance="1"):
        self.opened.append(Listening(self.listeners.open(node, instance)))
        return self.opened[-1]


@asynccontextmanager
async def served(**settings):
    found = Served(**settings)
    try:
        yield found
    finally:
        for listening in found.opened:
            listening.task.cancel()
        await asyncio.gather(*(listening.task for listening in found.opened), return_exceptions=True)


async def test_what_holds_now_comes_first_and_then_what_changes():
    """As events of one line each."""
    async with served() as tracker:
        listening = tracker.open()
        await listening.until(2)
        headers = dict(listening.sent[0]["headers"])
        assert headers[b"content-type"] == b"text/event-stream; charset=utf-8"
        tracker.world.join("b")
        tracker.listeners.wake(["a", "nobody"])
        await listening.until(3)
        found = listening.instructions()
        assert [[one.node for one in each.streams["S"].neighbours] for each in found] == [[], ["b"]]
        assert all(body.endswith(b"\n\n") and body.count(b"\n") == 2 for body in listening.bodies())


async def test_who_does_not_read_has_one_state_waiting():
    """The newest, however many there were."""
    async with served() as tracker:
        listening = tracker.open()
        await listening.until(2)
        listening.reads.clear()
        for name in "bcde":
            tracker.world.join(name)
            tracker.listeners.wake(["a"])
            await asyncio.sleep(0)
        listening.reads.set()
        await listening.until(3)
        for _ in range(20):
            await asyncio.sleep(0)
        found = listening.instructions()
        assert len(found) <= 3
        assert {one.node for one in found[-1].streams["S"].neighbours} == {"b", "c", "d", "e"}


async def test_who_hangs_up_listens_no_more():
    """And is gone, if it does not come back."""
    async with served() as tracker:
        listening = tracker.open()
        await listening.until(2)
        assert len(tracker.listeners) == 1
        listening.hangs_up.set()
        async with asyncio.timeout(5):
            await listening.task
        assert len(tracker.listeners) == 0
        assert tracker.world.tracking.nodes.get("a").listening == 0
        tracker.world.step()
        for _ in range(4):
            tracker.world.step(tracker.world.config.gone_s / 4)
        assert tracker.world.tracking.nodes.get("a") is None


async def test_a_newer_stream_takes_the_place_of_the_older():
    """A node that has lost its connection and does not know yet has two for a moment, and is not gone."""
    async with served() as tracker:
        first = tracker.open()
        await first.until(2)
        second = tracker.open()
        await second.until(2)
        async with asyncio.timeout(5):
            await first.task
        assert first.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
        for _ in range(4):
            tracker.world.step(tracker.world.config.gone_s / 4)
        assert tracker.world.tracking.nodes.get("a").listening == 1
        tracker.world.join("b")
        tracker.listeners.wake(["a"])
        await second.until(3)
        assert len(tracker.listeners) == 1


async def test_the_stream_of_a_node_that_is_gone_ends():
    """So that it tells its status again; also where another process has its name."""
    async with served() as tracker:
        listening = tracker.open()
        await listening.until(2)
        tracker.world.tracking.remove("a", tracker.world.now)
        tracker.listeners.wake(["a"])
        async with asyncio.timeout(5):
            await listening.task
        tracker.world.join("a")
        listening = tracker.open()
        await listening.until(2)
        tracker.world.tracking.remove("a", tracker.world.now)
        tracker.world.tracking.status(a_status("a", "2"), OPEN, tracker.world.now)
        tracker.listeners.wake(["a"])
        async with asyncio.timeout(5):
            await listening.task
        assert tracker.world.tracking.nodes.get("a").listening == 0


async def test_a_sign_of_life():
    """Where nothing changes for long."""
    async with served(keep_alive_s=0.01) as tracker:
        listening = tracker.open()
        await listening.until(5)
        assert len(listening.instructions()) == 1
        assert set(listening.bodies()[1:]) == {b": still here\n\n"}


async def test_who_never_reads_is_cut():
    """After send_s."""
    async with served(send_s=0.02) as tracker:
        listening = tracker.open()
        await listening.until(2)
        listening.reads.clear()
        tracker.listeners.wake(["a"])
        async with asyncio.timeout(5):
            await listening.task
        assert listening.aborted
        assert len(tracker.listeners) == 0


async def test_all_end_with_the_tracker():
    """And none begins."""
    async with served() as tracker:
        listening = tracker.open()
        await listening.until(2)
        tracker.listeners.close()
        async with asyncio.timeout(5):
            await listening.task
        with pytest.raises(ShuttingDown):
            tracker.listeners.open("a", "1")


async def test_only_a_node_that_has_told_its_status():
    """As the process that it was."""
    async with served() as tracker:
        with pytest.raises(NotFound):
            tracker.listeners.open("b", "1")
        with pytest.raises(Conflict):
            tracker.listeners.open("a", "2")
        assert len(tracker.listeners) == 0


async def test_a_stream_ends_with_its_node_also_where_the_node_is_back():
    """The same process at another address: it opens another one, and is alive as long as that is open."""
    async with served() as tracker:
        listening = tracker.open()
        await listening.until(2)
        tracker.world.tracking.remove("a", tracker.world.now)
        tracker.world.join("a")
        tracker.listeners.wake(["a"])
        await asyncio.wait_for(listening.task, 5)
        other = tracker.open()
        await other.until(2)
        assert tracker.world.tracking.nodes.get("a").listening == 1
        other.hangs_up.set()
        await asyncio.wait_for(other.task, 5)
        assert tracker.world.tracking.nodes.get("a").listening == 0
        nodes, now = tracker.world.tracking.nodes, tracker.world.now
        assert [nodes.gone(now + past_s) for past_s in (0.0, 0.5, 1.0, 1.5, 2.0)][-1] == ["a"]
