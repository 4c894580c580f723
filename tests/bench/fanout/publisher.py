"""A process that publishes, by a fixed plan: `python -m bench.fanout.publisher '<plan>'`.

Times between items are of a Poisson process with a fixed seed, and no item waits for the answer to an earlier one (an
open loop): a server that is late is not asked less. The plan has sink, host, port, path, rate and seed. `{"warm": n}`
publishes so many at once, with numbers from -999 on; `{"go": n}` items 1 to n in their time, answered by when the last was sent and again,
when all are answered, by how long the answers took.
"""

from __future__ import annotations

import asyncio
import json
import random
import secrets
import sys
import time
from typing import TYPE_CHECKING, Protocol

from .items import Posts, item
from .processes import say
from .sinks import SINKS

if TYPE_CHECKING:
    from collections.abc import Callable

_ANSWERS_S = 60.0
_WARMING = 999


class Sink(Protocol):
    """Where a peer takes items."""

    async def publish(self, make: Callable[[], bytes]) -> None:
        """Make the item as late as can be, send it, and wait until the peer says that it has it, where peers say so.

        Raises:
            OSError: it was not taken.
        """


class Publisher:
    """Items from one run's source into a sink."""

    def __init__(self, sink: Sink, rate: float, seed: int) -> None:
        self._sink, self._rate, self._seed = sink, rate, seed
        self._posts, self._run = Posts(seed), secrets.token_hex(4)
        self._took: list[float] = []
        self._errors: list[str] = []
        self._bytes: list[int] = []
        self._warmed = 0

    async def warm(self, count: int) -> None:
        """Items for warming up, one after the other."""
        for _ in range(count):
            await self._one(self._warmed - _WARMING)
            self._warmed += 1

    async def go(self, count: int) -> None:
        """The items that count."""
        self._took, self._bytes = [], []
        times, due, late = random.Random(self._seed + 1), time.time() + 0.05, 0.0
        begun, tasks = due, []
        for number in range(1, count + 1):
            due += times.expovariate(self._rate)
            if (wait := due - time.time()) > 0:
                await asyncio.sleep(wait)
            late = max(late, -wait)
            tasks.append(asyncio.create_task(self._one(number)))
        await asyncio.sleep(0)
        say(sent_s=time.time() - begun)
        await asyncio.wait(tasks, timeout=_ANSWERS_S)
        took = sorted(self._took)
        say(
            answered=len(took),
            errors=self._errors[:3],
            mean_bytes=sum(self._bytes) / max(1, len(self._bytes)),
            late_s=late,
            post_p95_ms=took[int(len(took) * 0.95)] * 1000 if took else None,
        )

    async def _one(self, number: int) -> None:
        body = self._posts.post()

        def make() -> bytes:
            made = item(number, self._run, body)
            self._bytes.append(len(made))
            return made

        begun = time.perf_counter()
        try:
            await self._sink.publish(make)
            self._took.append(time.perf_counter() - begun)
        except (OSError, EOFError) as error:
            self._errors.append(f"item {number}: {error!r}")


async def _main() -> None:
    plan = json.loads(sys.argv[1])
    sink = await SINKS[plan["sink"]](plan["host"], plan["port"], plan["path"])
    publisher = Publisher(sink, plan["rate"], plan["seed"])
    while line := await asyncio.to_thread(sys.stdin.readline):
        order = json.loads(line)
        if "warm" in order:
            await publisher.warm(order["warm"])
        else:
            await publisher.go(order["go"])


if __name__ == "__main__":
    asyncio.run(_main())
