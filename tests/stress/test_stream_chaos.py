"""A stream under a storm: a thousand come and go, a hundred never read, workers are killed, publishers cut in mid-item.

Whoever behaves gets every item once, in order, and soon; nobody else's trouble is theirs.  Then all is as it was before.
TRIPLEWIRE_CHAOS_S is how long it lasts; a worker is killed every ten seconds.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
from stress.peers import room_for

from triplewire.broker.errors import ConnectionLost
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import Item
from triplewire.clients.streams import AsyncStreamPublisher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.running import RunningBroker

CHAOS_S = float(os.environ.get("TRIPLEWIRE_CHAOS_S", "30"))
KILL_EVERY_S = 10.0
FOLLOWERS = 24
RATE = 20
HISTORY = 2048
SETTINGS = (
    "stream.workers=2",
    "stream.unread_bytes=65536",  # little, so that those who never read come to it
    "streams.events.window_s=0.1",
    f"streams.events.history_items={HISTORY}",
    "log.level=WARNING",
)
# What a process may have more than before: allocators keep what was needed at once, as the whole history packed for each
# worker that begins anew, and what a thousand connections have fragmented.
ROOM_MB = 16

pytestmark = [
    pytest.mark.xdist_group("stress-streams"),
    pytest.mark.slow,
    pytest.mark.timeout(CHAOS_S + 200),
]


@contextmanager
def program(name: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """One of the programs beside this test."""
    here = Path(__file__)
    command = [sys.executable, "-P", str(here.with_name(name)), *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def begin(process: subprocess.Popen[str]) -> None:
    """Have it do what it is for."""
    assert process.stdin is not None
    process.stdin.write("begin\n")
    process.stdin.flush()


def said(process: subprocess.Popen[str], line: str = "") -> dict[str, Any]:
    """Its last word, after its standard input has ended with `line`."""
    output, _ = process.communicate(line, timeout=60)
    last: dict[str, Any] = json.loads(output.splitlines()[-1])
    return last


class Processes:
    """The broker's processes that have to do with streams."""

    def __init__(self, broker: RunningBroker) -> None:
        self._broker = psutil.Process(broker.process.pid)

    @property
    def workers(self) -> list[psutil.Process]:
        """Those that serve consumers."""
        found = []
        for child in self._broker.children():
            try:
                if "triplewire.gates.stream.worker" in child.cmdline():
                    found.append(child)
            except psutil.Error:  # it has just been killed
                continue
        return found

    def taken(self) -> tuple[list[float], int]:
        """Megabytes of memory that are each one's alone, the main process first; and open files, in all."""
        every = [self._broker, *self.workers]
        memory = [round(each.memory_full_info().uss / 2**20, 1) for each in every]
        return memory, sum(each.num_fds() for each in every)


class Publisher:
    """Publishes numbered items, one at a time, and each until it is taken: some are large."""

    def __init__(self, url: str) -> None:
        self.ids: list[str] = []
        self.again = 0
        self._client = AsyncStreamPublisher(url)
        self._rng = random.Random(6)

    def item(self) -> Item:
        """The next one."""
        self.ids.append(str(len(self.ids)))
        size = 20_000 if self._rng.random() < 0.1 else 500
        return Item(self.ids[-1], "steady", "text/plain", f"{time.time()} ".encode() + b"x" * size)

    async def one(self) -> None:
        """Publish one."""
        item = self.item()
        while True:
            try:
                await self._client.publish(item)
            except ConnectionLost:
                self.again += 1
                await asyncio.sleep(0.05)
            else:
                return

    async def steadily(self, seconds: float) -> None:
        """RATE a second, or as many as the machine gives."""
        began = time.monotonic()
        while (now := time.monotonic() - began) < seconds:
            await self.one()
            await asyncio.sleep(max(0.0, now + 1 / RATE - (time.monotonic() - began)))

    async def close(self) -> None:
        """Hang up."""
        await self._client.close()


async def killing(processes: Processes, seconds: float) -> list[float]:
    """Kill a worker every ten seconds, the first after eight; megabytes of the main process before each."""
    rng, began = random.Random(7), time.monotonic()
    memory: list[float] = []
    while (due := 8 + len(memory) * KILL_EVERY_S) < seconds:
        await asyncio.sleep(due - (time.monotonic() - began))
        memory.append(processes.taken()[0][0])
        rng.choice(processes.workers).send_signal(signal.SIGKILL)
    return memory


def kept(url: str) -> list[str]:
    """The ids that the stream keeps."""
    asked = {"past-events-limit": HISTORY, "non-blocking": 1}
    answer = httpx.get(f"{url}/long-polling", params=asked, timeout=20, trust_env=False)
    return [item.event_id for item in ItemReader().feed(answer.content)]


async def health(broker: RunningBroker, timeout_s: float = 30.0, **expected: int) -> dict[str, Any]:
    """What the broker says of its streams, once that is so."""
    deadline = time.monotonic() + timeout_s
    while True:
        async with httpx.AsyncClient(trust_env=False) as client:
            found: dict[str, Any] = (await client.get(f"{broker.http}/health")).json()["streams"]
        if all(found[name] == value for name, value in expected.items()):
            return found
        assert time.monotonic() < deadline, f"expected {expected}: {found}"
        await asyncio.sleep(0.2)


async def test_who_behaves_gets_every_item_once_in_order(start: Callable[..., RunningBroker]) -> None:
    """Whatever others do; and memory and open files return to what they were."""
    room_for(4000)
    broker = start(*SETTINGS)
    processes = Processes(broker)
    url = f"{broker.streams}/events"
    publisher = Publisher(url)
    while len(publisher.ids) < HISTORY + 10:  # what is kept is as much before and after
        await publisher.one()
    await asyncio.sleep(2)
    memory, files = processes.taken()
    first = len(publisher.ids)
    place = urlsplit(broker.streams)
    with (
        program("stream_followers.py", url, FOLLOWERS, publisher.ids[-1]) as following,
        program("stream_storm.py", place.hostname, place.port, 8) as storm,
    ):
        await health(
            broker, consumers=FOLLOWERS
        )  # who can't connect at first is told so, and does not try again
        begin(storm)
        _, during = await asyncio.gather(publisher.steadily(CHAOS_S), killing(processes, CHAOS_S))
        did = await asyncio.to_thread(said, storm)
        await health(
            broker, consumers=FOLLOWERS, workers=2
        )  # what the storm published has been taken by then
        await publisher.one()
        heard = await asyncio.to_thread(said, following, f"{publisher.ids[-1]}\n")
    await publisher.close()
    counts = await health(broker, consumers=0, workers=2)
    await asyncio.sleep(3)
    memory_after, files_after = processes.taken()
    killed, ids = len(during), heard["ids"]
    print(
        f"\n{CHAOS_S:.0f} s: {len(ids)} items to {FOLLOWERS}, {heard['reconnects']} reconnects, {publisher.again} "
        f"published again, {killed} killed, {did}; delay p50 {heard['p50_s'] * 1000:.0f}, p99 "
        f"{heard['p99_s'] * 1000:.0f}, most {heard['most_s'] * 1000:.0f} ms; memory of main and workers "
        f"{memory} before, main {during} meanwhile, {memory_after} MB after; files {files}, {files_after}"
    )
    assert heard["others"] == []
    assert (heard["twice"], heard["gaps"]) == (0, 0)
    assert [each for each in ids if each.isdigit()] == publisher.ids[first:]
    assert kept(url)[-len(ids) :] == ids[-HISTORY:]
    assert not [each for each in ids if each.startswith("half")]
    assert counts["replaced"] == killed == len(range(8, int(CHAOS_S), 10))
    assert heard["reconnects"] >= killed
    assert min(did["left"], did["stuck"], did["cut"]) > 50
    assert heard["p50_s"] < 1
    assert files_after <= files
    assert sum(memory_after) < sum(memory) + len(memory) * ROOM_MB
    half = len(during) // 2
    assert max(during[half:]) < max(during[:half]) + len(memory) * ROOM_MB  # and it does not go on growing
