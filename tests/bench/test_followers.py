"""How far a follower is behind its leader while a thousand updates a second come in.

Prints figures; asserts only what is there in the end.
"""

from __future__ import annotations

import asyncio
import statistics
import time

import httpx
from support.following import caught_up, dataset, following
from support.running import RunningBroker

RATE, SECONDS = 1000, 20


async def test_lag(tmp_path):
    """The leader's clock against the record that the follower has come to."""
    leader = RunningBroker.start("--data", str(tmp_path / "data"), "--set", "log.level=WARNING", memory=False)
    follower = RunningBroker.start("--follow", leader.http, "--set", "log.level=WARNING", memory=False)
    lags: list[float] = []
    done = 0
    try:
        async with httpx.AsyncClient(limits=httpx.Limits(max_connections=8), timeout=30) as client:
            began = time.perf_counter()

            async def write(sensor: int) -> None:
                nonlocal done
                while time.perf_counter() - began < SECONDS:
                    if done > (time.perf_counter() - began) * RATE:
                        await asyncio.sleep(0.001)
                        continue
                    done += 1
                    text = f"DELETE WHERE {{ <urn:s{sensor}> <urn:v> ?o }} ; INSERT DATA {{ <urn:s{sensor}> <urn:v> {done} }}"
                    response = await client.post(f"{leader.http}/update", data={"update": text})
                    response.raise_for_status()

            async def watch() -> None:
                while time.perf_counter() - began < SECONDS:
                    await asyncio.sleep(0.1)
                    health = (await client.get(f"{follower.http}/health")).json()
                    lags.append(health["following"]["lag_s"])

            await asyncio.gather(*(write(sensor) for sensor in range(8)), watch())
            took = time.perf_counter() - began
        ended = time.perf_counter()
        caught_up(leader, follower)
        print(
            f"\n{done / took:.0f} updates/s: lag median {statistics.median(lags):.3f} s, most {max(lags):.3f} s; caught up "
            f"{time.perf_counter() - ended:.2f} s after the last; {following(follower)['connections']} connection"
        )
        assert dataset(follower) == dataset(leader)
    finally:
        follower.stop()
        leader.stop()
