"""Worker processes on one port: every item once and in order, whoever dies."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from triplewire.broker.config import LimitsConfig, StreamConfig, StreamGateConfig
from triplewire.broker.errors import Unauthorized
from triplewire.broker.rights import Access
from triplewire.broker.security.authority import Nobody
from triplewire.gates.stream.stream import open_stream
from triplewire.gates.stream.workers import Workers

from .serving import Port, item, until


@asynccontextmanager
async def working(count=2, *, stream=None, authority=None, gate=None, limits=None, **more):
    """So many workers, and the stream `events` here; `port.server` are the workers."""
    loop = asyncio.get_running_loop()
    events = open_stream("events", StreamConfig(**(stream or {})), loop)
    feeds = {"events": events}
    config = StreamGateConfig(**({"port": 0, "workers": count} | (gate or {})))
    workers = Workers(feeds, authority or Nobody(), LimitsConfig(**(limits or {})), config, "WARNING", **more)
    port = Port(workers, events, (await workers.start())[0])
    port.feeds = feeds
    try:
        yield port
    finally:
        for client in port.clients:
            await client.close()
        events.close()
        await workers.close()


async def test_all_workers_tell_all_items():
    """Forty consumers on two processes, plain and compressed, by batches and at once; items come in through any."""
    async with working() as port:
        await port.publish("before")
        paths = ["stream", "compressed", "priority", "stream?last-seen=x"]
        consumers = [(path, await port.follow(f"/events/{path}")) for path in paths * 10]
        await until(lambda: port.server.consumers == 40)
        assert all(worker.stats.consumers for worker in port.server._workers.values())
        for number in range(20):
            assert await port.post([item(number)]) == 200
        for path, consumer in consumers:
            expected = [str(number) for number in range(20)]
            if "last-seen" in path:
                expected = ["before", *expected]
            assert await consumer.ids(len(expected)) == expected
            assert consumer.nothing_more()


async def test_the_directory_knows_the_trackers():
    """As the broker's own."""
    trackers = ["http://t.example:8003"]
    async with working(1, stream={"overlay": True}, trackers=trackers) as port:
        client = await port.request("GET", "/streams", "Accept: application/ld+json")
        (told,) = json.loads(await client.body())["dcat:dataset"]
        assert told["tw:tracker"] == [{"@id": "http://t.example:8003/#events"}]


async def test_a_feed_hears_how_many_follow_it_anywhere():
    """And that the copies do, as long as there are workers."""
    async with working() as port:
        changes = [1]  # when they began
        port.stream.followed = changes.append
        clients = [await port.follow("/events/stream") for _ in range(6)]
        await until(lambda: sum(changes) == 7)
        for client in clients[:4]:
            await client.close()
        await until(lambda: sum(changes) == 3)
    assert sum(changes) == 0


async def test_a_worker_that_dies_is_replaced_and_nothing_is_lost():
    """Its consumers come back with what they saw last, those of the others notice nothing."""
    async with working() as port:
        seen = {}
        consumers = {index: await port.follow("/events/compressed?last-seen=none") for index in range(12)}
        await port.publish(*range(5))
        for index, consumer in consumers.items():
            seen[index] = await consumer.ids(5)
        victim = port.server.pids[0]
        os.kill(victim, signal.SIGKILL)
        await port.publish(*range(5, 8))
        came_back = 0
        for index in range(12):
            while len(seen[index]) < 8:
                try:
                    seen[index] += await consumers[index].ids(1)
                except (asyncio.IncompleteReadError, ConnectionError, ValueError):
                    came_back += 1
                    consumers[index] = await _back(port, seen[index][-1])
            assert seen[index] == [str(number) for number in range(8)]
        assert 0 < came_back < 12
        await until(lambda: len(port.server._workers) == 2)
        await asyncio.gather(*(worker.ready for worker in port.server._workers.values()))
        assert victim not in port.server.pids
        assert port.server.replaced == 1


class Steady:
    """A consumer that comes back whenever it is cut, with what it saw last."""

    def __init__(self, port, access):
        self.port = port
        self.access = access
        self.seen = []
        self.cuts = 0

    async def follow(self, count):
        """Until it has so many items."""
        while len(self.seen) < count:
            try:
                path = f"/events/{self.access}?last-seen={self.seen[-1] if self.seen else 'none'}"
                client = await self.port.follow(path)
                while len(self.seen) < count:
                    self.seen += await client.ids(1)
            except (asyncio.IncompleteReadError, ConnectionError, ValueError):
                self.cuts += 1
                await asyncio.sleep(0.02)


async def test_consumers_that_come_back_see_each_item_once_and_in_order():
    """While workers are killed again and again, and items go on."""
    async with working() as port:
        consumers = [Steady(port, ("stream", "compressed", "priority")[n % 3]) for n in range(24)]
        following = [asyncio.create_task(consumer.follow(150)) for consumer in consumers]
        for number in range(150):
            await port.publish(number)
            await asyncio.sleep(0.02)
            if number % 40 == 20:
                os.kill(port.server.pids[number % len(port.server.pids)], signal.SIGKILL)
        async with asyncio.timeout(20):
            await asyncio.gather(*following)
        for consumer in consumers:
            assert consumer.seen == [str(number) for number in range(150)]
        assert sum(consumer.cuts for consumer in consumers) >= 3


async def _back(port, last_seen):
    while True:
        try:
            return await port.follow(f"/events/compressed?last-seen={last_seen}")
        except (asyncio.IncompleteReadError, ConnectionError):
            await asyncio.sleep(0.05)


async def test_a_worker_that_hangs_is_replaced(monkeypatch):
    """It says nothing any more."""
    monkeypatch.setattr("triplewire.gates.stream.worker_process.SILENT_S", 1.5)
    async with working(1) as port:
        (victim,) = port.server.pids
        os.kill(victim, signal.SIGSTOP)
        await until(lambda: port.server.pids not in ([], [victim]), 8)
        assert await _published(port)


async def _published(port):
    while True:
        try:
            return await port.post([item("again")]) == 200
        except (asyncio.IncompleteReadError, ConnectionError):
            await asyncio.sleep(0.05)


async def test_errors_come_through():
    """What is wrong with a request, and what the main process says of it."""
    async with working(1) as port:
        assert await port.post(b"nonsense") == 400
        assert await port.post([item(1)], "/none/publish") == 404
        command = b"Event-Id: c\r\nSource-Id: s\r\nSyntax: ztreamy-command\r\nBody-Length: 15\r\n\r\nStream-Finished"
        assert await port.post(command) == 403
        assert (await port.request("GET", "/streams", "Accept: application/ld+json")).status == 200


async def test_streams_come_and_go():
    """Workers are told at once."""
    async with working(1) as port:
        other = open_stream("other", StreamConfig(), asyncio.get_running_loop())
        port.feeds["other"] = other
        port.server.refresh()
        consumer = await port.follow("/other/stream")
        assert await port.post([item(1)], "/other/publish") == 200
        assert await consumer.ids(1) == ["1"]
        other.close()
        assert await consumer.chunk() == b""
        assert (await port.request("GET", "/other/stream")).status == 404


class Office:
    """An authority that can change its mind."""

    def __init__(self):
        self.good = {"t1", "t2"}
        self.asked = 0
        self.changed = []

    def known(self, token):  # noqa: ARG002 - an authority's own form
        return None

    async def access(self, token):
        self.asked += 1
        if token not in self.good:
            raise Unauthorized("the token was revoked", code="invalid_token")
        return Access(token)

    def still(self, access):
        return access

    def listen(self, changed):
        self.changed.append(changed)
        return lambda: self.changed.remove(changed)


async def test_tokens_are_judged_by_the_main_process():
    """Once each; and again when something was revoked: who follows by such a token is let go."""
    office = Office()
    async with working(1, authority=office) as port:
        first = await port.follow("/events/stream", "Authorization: Bearer t1")
        second = await port.follow("/events/stream", "Authorization: Bearer t2")
        await port.follow("/events/stream", "Authorization: Bearer t2")
        assert office.asked == 2
        refused = await port.request("GET", "/events/stream", "Authorization: Bearer t3")
        assert refused.status == 401
        assert "www-authenticate" in refused.headers
        office.good.discard("t1")
        for changed in office.changed:
            changed()
        assert await first.chunk() == b""
        await port.publish(1)
        assert await second.ids(1) == ["1"]
        assert (await port.request("GET", "/events/stream", "Authorization: Bearer t1")).status == 401


async def test_the_limit_on_consumers_is_that_of_all():
    """Each worker has its share of it."""
    async with working(1, gate={"consumers": 2}) as port:
        for _ in range(2):
            await port.follow()
        assert (await port.request("GET", "/events/stream")).status == 503
        assert port.server._each.consumers == 2


MAIN = """
import asyncio, sys
from triplewire.broker.config import LimitsConfig, StreamGateConfig
from triplewire.broker.security.authority import Nobody
from triplewire.gates.stream.workers import Workers

async def main():
    workers = Workers({}, Nobody(), LimitsConfig(), StreamGateConfig(port=0, workers=2), "WARNING")
    await workers.start()
    print(*workers.pids, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_workers_end_with_the_main_process():
    """However it ends: nobody is left who has the port."""
    main = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-c", MAIN, stdout=asyncio.subprocess.PIPE
    )
    pids = [int(pid) for pid in (await asyncio.wait_for(main.stdout.readline(), 20)).split()]
    assert len(pids) == 2
    main.kill()
    await main.wait()
    await until(lambda: not any(map(_is_alive, pids)))


def _is_alive(pid):
    try:
        return b"stream.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return False


async def test_the_end_ends_everything():
    """Responses are ended as they should be, and no process is left."""
    async with working() as port:
        consumers = [await port.follow() for _ in range(6)]
        pids = port.server.pids
        await port.server.close()
        for consumer in consumers:
            assert await consumer.chunk() == b""
        for pid in pids:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)
