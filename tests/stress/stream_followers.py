"""Well-behaved consumers of one stream, in a process of their own: our clients, which come back with what they saw last.

``python stream_followers.py URL COUNT LAST_SEEN``.  Every third reads plain, compressed, without a window.  Items of the
source `steady` begin with the time when they were made.  A line on standard input is the id of the last item that there
will be: once all have it, or half a minute later, it is told in one line of JSON what they heard.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import suppress

from triplewire.broker.errors import ConnectionLost
from triplewire.clients.streams import AsyncStreamConsumer
from triplewire.clients.streams.settings import StreamSettings

PATHS = ["stream", "compressed", "priority"]
SETTINGS = StreamSettings(backoff_longest_s=2.0)
PATIENCE_S = 30.0


class Follower:
    """One of them."""

    def __init__(self, url: str, number: int, last_seen: str) -> None:
        path = PATHS[number % len(PATHS)]
        self.ids: list[str] = []
        self.delays: list[float] = []
        self.gaps = 0
        self.reconnects = 0
        self._consumer = AsyncStreamConsumer(
            f"{url}/{path}",
            settings=SETTINGS,
            last_seen=last_seen,
            compressed=path == "compressed",
            on_gap=self._gap,
            on_reconnect=self._reconnect,
        )
        self._task = asyncio.create_task(self._follow())

    def _gap(self, _: object) -> None:
        self.gaps += 1

    def _reconnect(self) -> None:
        self.reconnects += 1

    async def _follow(self) -> None:
        async for item in self._consumer:
            self.ids.append(item.event_id)
            if item.source_id == "steady":
                self.delays.append(time.time() - float(item.body.partition(b" ")[0]))

    async def end(self) -> None:
        """Hang up; raises what ended it before."""
        if self._task.done():
            self._task.result()
        self._task.cancel()
        with suppress(asyncio.CancelledError, ConnectionLost):
            await self._task
        await self._consumer.close()


def told(followers: list[Follower]) -> dict[str, object]:
    """What they heard; the ids once, where all heard the same."""
    first = followers[0].ids
    delays = sorted(delay for follower in followers for delay in follower.delays) or [0.0]
    return {
        "ids": first,
        "others": [n for n, follower in enumerate(followers) if follower.ids != first],
        "twice": sum(len(follower.ids) - len(set(follower.ids)) for follower in followers),
        "gaps": sum(follower.gaps for follower in followers),
        "reconnects": sum(follower.reconnects for follower in followers),
        "p50_s": delays[len(delays) // 2],
        "p99_s": delays[int(len(delays) * 0.99)],
        "most_s": delays[-1],
    }


async def main(url: str, count: int, last_seen: str) -> None:
    """Follow until all have the last item."""
    followers = [Follower(url, number, last_seen) for number in range(count)]
    last = (await asyncio.to_thread(sys.stdin.readline)).strip()
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            while not all(follower.ids and follower.ids[-1] == last for follower in followers):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    print(json.dumps(told(followers)), flush=True)
    for follower in followers:
        await follower.end()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
