"""Clients that mean harm: the others are answered meanwhile as if there were none, and the broker is what it was.

TRIPLEWIRE_HOSTILE_S is how long each attack lasts; from ten seconds on it is the long form: ten times as many sockets,
and percentiles are compared where the short form compares medians, which a busy machine leaves alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from stress.attackers import bomb
from stress.peers import UPDATE, Publisher, Watched
from support.raw import Raw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.running import RunningBroker

pytestmark = [pytest.mark.xdist_group("stress-hostile")]

HOSTILE_S = float(os.environ.get("TRIPLEWIRE_HOSTILE_S", "3"))
IS_LONG = HOSTILE_S >= 10
CONNECTING_S = 30.0
ATTACKERS = str(Path(__file__).with_name("attackers.py"))
# Of each kind: processes, and attackers in each.
ATTACKS = {
    "slowloris": (1, 500),
    "drip": (1, 500),
    "idle": (4, 2500 if IS_LONG else 250),
    "bombs": (1, 4),
    "deep": (1, 6),
    "long": (1, 6),
}
SETTINGS = ("limits.sockets=20000", f"http.header_timeout_s={max(HOSTILE_S * 2, 5)}", "security.attempts=0")
REPLACE = "DELETE {{ <urn:a> <urn:v> ?o }} INSERT {{ <urn:a> <urn:v> {} }} WHERE {{ <urn:a> <urn:v> ?o }}"


@dataclass
class Latency:
    """Seconds, in the order in which they were measured."""

    all: list[float] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        """In milliseconds."""
        return sorted(self.all)[int(len(self.all) * share)] * 1000

    def __str__(self) -> str:
        return f"median {self.percentile(0.5):.1f} ms, p99 {self.percentile(0.99):.1f} ms of {len(self.all)}"


@dataclass
class Measured:
    """What a client sees who asks and tells, one after the other."""

    queries: Latency = field(default_factory=Latency)
    updates: Latency = field(default_factory=Latency)

    def within(self, before: Measured, share: float, factor: float, slack_ms: float) -> bool:
        """Whether both are at most `factor` of what they were."""
        return all(
            now.percentile(share) <= factor * then.percentile(share) + slack_ms
            for now, then in ((self.queries, before.queries), (self.updates, before.updates))
        )


async def measure(client: httpx.AsyncClient, seconds: float) -> Measured:
    """A query and an update, some hundred times a second."""
    found = Measured()
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        started = time.perf_counter()
        answer = await client.get("/query", params={"query": "SELECT ?v { <urn:a> <urn:v> ?v }"})
        found.queries.all.append(time.perf_counter() - started)
        assert answer.status_code == 200, answer.text
        started = time.perf_counter()
        answer = await client.post("/update", content=REPLACE.format(len(found.updates.all)), headers=UPDATE)
        found.updates.all.append(time.perf_counter() - started)
        assert answer.status_code == 200, answer.text
        await asyncio.sleep(0.002)
    return found


@contextmanager
def attacking(broker: RunningBroker, kind: str, seconds: float) -> Iterator[list[dict[str, Any]]]:
    """The attackers are at it inside; what they were answered is known afterwards."""
    processes, count = ATTACKS[kind]
    command = [sys.executable, "-P", ATTACKERS, kind, broker.http, broker.ws, str(count), str(seconds)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    answered: list[dict[str, Any]] = []
    try:
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield answered
        for process in running:
            out, _ = process.communicate(timeout=seconds + CONNECTING_S)
            assert process.returncode == 0
            answered.append(json.loads(out))
    finally:
        for process in running:
            process.kill()
            process.communicate()


@pytest.mark.parametrize("kind", ATTACKS)
async def test_others_are_answered_as_if_nobody_meant_harm(
    start: Callable[..., RunningBroker], kind: str
) -> None:
    """Their latency stays, memory is bounded, and all that the attackers held is free again."""
    if ATTACKS[kind][1] + 500 > resource.getrlimit(resource.RLIMIT_NOFILE)[0]:
        pytest.skip("a process may not open so many files here")
    broker = start(*SETTINGS)
    watched = Watched(broker)
    async with (
        Publisher(broker) as publisher,
        httpx.AsyncClient(base_url=broker.http, trust_env=False) as client,
    ):
        await publisher.update("INSERT DATA { <urn:a> <urn:v> 0 }")
        await measure(client, 1)  # warm
        before = await measure(client, min(HOSTILE_S, 10))
        rss, descriptors = watched.rss, watched.descriptors
        with attacking(broker, kind, HOSTILE_S + (CONNECTING_S / 3 if kind == "idle" else 2)) as answered:
            during = await measure(client, HOSTILE_S)
            grown = watched.rss - rss
        print(
            f"{kind}: queries {before.queries} -> {during.queries}; updates {before.updates} -> {during.updates}; "
            f"rss +{grown / 1e6:.0f} MB; attackers were answered {answered}"
        )
        assert during.within(before, 0.5, 2, 10), "medians"
        if IS_LONG:
            assert during.within(before, 0.99, 2, 20), "p99"
        assert grown < 400_000_000
        await publisher.holds(status="ok", sockets=0)
        await watched.comes_back_to(descriptors + 5)


def peak_of(broker: RunningBroker) -> int:
    """The most memory that its process ever had, in bytes."""
    status = Path(f"/proc/{broker.process.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) * 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system tells no peak of memory")
@pytest.mark.parametrize("path", ["/update", "/query", "/rdf-graph-store?default"])
def test_a_bomb_of_a_gigabyte_costs_little(start: Callable[..., RunningBroker], path: str) -> None:
    """413 after limits.body_bytes of it: less than 100 MB, less than two seconds."""
    broker = start()
    media = {"/update": "application/sparql-update", "/query": "application/sparql-query"}.get(
        path, "text/turtle"
    )
    sent = bomb()
    before = peak_of(broker)
    started = time.monotonic()
    with Raw(broker.http) as raw:
        raw.send(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Type: {media}\r\n")
        raw.send(f"Content-Length: {len(sent)}\r\n\r\n", sent)
        status, _, body = raw.response("POST")
    seconds, grown = time.monotonic() - started, peak_of(broker) - before

    print(f"{path}: {seconds:.2f} s, {grown / 1e6:.0f} MB")
    assert (status, json.loads(body)["error"]) == (413, "too_large")
    assert seconds < 2
    assert grown < 100_000_000
