"""How far a follower is behind its leader while a thousand updates a second come in.

Prints figures; asserts only what is there in the end.
"""

from __future__ import annotations

import asyncio
import re
import statistics
import time

import httpx
from support.following import caught_up, dataset, following
from support.running import RunningBroker

RATE, SECONDS = 1000, 20
HEAD = b"POST /update HTTP/1.1\r\nHost: %s\r\nContent-Type: application/sparql-update\r\nContent-Length: %d\r\n\r\n"


async def test_lag(tmp_path):
    """The leader's clock against the record that the follower has come to."""
    leader = RunningBroker.start("--data", str(tmp_path / "data"), "--set", "log.level=WARNING", memory=False)
    follower = RunningBroker.start("--follow", leader.http, "--set", "log.level=WARNING", memory=False)
    lags: list[float] = []
    done = 0
    try:
        began = time.perf_counter()

        async def write(sensor: int) -> None:
            """As little of a client as can be: it shares the machine with what is measured."""
            nonlocal done
            host, port = leader.http.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            while (now := time.perf_counter() - began) < SECONDS:
                if done > now * RATE:
                    await asyncio.sleep(0.001)
                    continue
                done += 1
                triple = f"<urn:s{sensor}> <urn:v>"
                body = f"DELETE WHERE {{ {triple} ?o }} ; INSERT DATA {{ {triple} {done} }}".encode()
                writer.write(HEAD % (host.encode(), len(body)) + body)
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200")
                await reader.readexactly(int(re.search(rb"content-length: (\d+)", head, re.IGNORECASE)[1]))
            writer.close()

        async def watch() -> None:
            async with httpx.AsyncClient(timeout=30) as client:
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
