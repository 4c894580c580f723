"""Update round trips and notification latency, beside `oxigraph serve` in the same run.

Prints ratios; asserts only that what was measured was right.
"""

from __future__ import annotations

import asyncio
import json
import time

import httpx
import pytest
import websockets
from support.running import RunningBroker, RunningOxigraph

UPDATES = 1000
HEADERS = {"Content-Type": "application/sparql-update"}


def text_of(number: int) -> str:
    return f"INSERT DATA {{ <http://example.org/{number}> <http://example.org/value> {number} }}"


async def seconds(url: str, connections: int) -> float:
    """How long it takes to carry out UPDATES updates over so many connections."""
    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=connections)) as client:
        numbers = iter(range(UPDATES))

        async def work() -> None:
            for number in numbers:
                response = await client.post(url, content=text_of(number), headers=HEADERS)
                assert response.is_success

        await client.post(url, content=text_of(-1), headers=HEADERS)
        started = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(connections)))
        return time.perf_counter() - started


MODES = {
    "memory": ([], False),
    "journal": (["--data", "{data}"], True),
    "journal, fsync always": (["--data", "{data}", "--set=journal.fsync=always"], True),
    "disk": (["--data", "{data}", "--set=store.engine=disk"], True),
}


@pytest.mark.parametrize("connections", [1, 16, 32])
@pytest.mark.parametrize("mode", MODES)
async def test_update_round_trip(connections, mode, tmp_path):
    """Ours in memory : `oxigraph serve` in memory; ours that is kept : `oxigraph serve --location`."""
    arguments, is_kept = MODES[mode]
    arguments = [argument.format(data=tmp_path / "ours") for argument in arguments]
    ours = RunningBroker.start("--set", "log.level=WARNING", *arguments, memory=False)
    theirs = RunningOxigraph.start(str(tmp_path / "theirs") if is_kept else None)
    try:
        pairs = []
        for _ in range(3):
            reference = await seconds(theirs.update, connections)
            pairs.append((await seconds(f"{ours.http}/update", connections), reference))
        best_ours, best_theirs = (min(times) / UPDATES * 1e6 for times in zip(*pairs, strict=True))
        print(
            f"\nupdate round trip, {mode}, {connections} connections: {best_ours:.0f} us, oxigraph serve"
            f"{' --location' if is_kept else ''} {best_theirs:.0f} us, ratio {best_ours / best_theirs:.2f}"
        )
    finally:
        ours.stop()
        theirs.stop()


async def test_notification_latency():
    """From sending an update to having its notification, one subscriber on loopback."""
    ours = RunningBroker.start("--set", "log.level=WARNING")
    try:
        async with websockets.connect(ours.ws) as socket, httpx.AsyncClient() as client:
            query = "SELECT ?o { <http://example.org/s> <http://example.org/p> ?o }"
            await socket.send(json.dumps({"subscribe": {"sparql": query}}))
            await socket.recv()
            delays = []
            for number in range(UPDATES):
                text = f"INSERT DATA {{ <http://example.org/s> <http://example.org/p> {number} }} ; DELETE DATA {{ <http://example.org/s> <http://example.org/p> {number - 1} }}"
                started = time.perf_counter()
                sending = asyncio.create_task(
                    client.post(f"{ours.http}/update", content=text, headers=HEADERS)
                )
                told = json.loads(await socket.recv())["notification"]
                delays.append(time.perf_counter() - started)
                assert told["sequence"] == number + 1
                await sending
        delays.sort()
        print(
            f"\nupdate -> notification: p50 {delays[UPDATES // 2] * 1e3:.2f} ms, "
            f"p99 {delays[UPDATES * 99 // 100] * 1e3:.2f} ms"
        )
    finally:
        ours.stop()
