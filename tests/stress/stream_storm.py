"""Those who make trouble on a stream port, in a process of their own, below all libraries.

``python stream_storm.py HOST PORT SEED``, for the stream `events`.  It begins with a line on standard input, goes on until
that ends, and then tells in one line of JSON what it did.

- CHURNERS connect, ask for one of the ways to follow, stay for a while that is random, and leave: with a goodbye,
  with a reset, or before there is an answer.
- STUCK never read; each is replaced now and then, as its connection goes with the worker that had it.
- A publisher is cut in the middle of an item: one POST, one endless POST after a whole item, one of two items.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct
import sys
from collections import Counter
from typing import cast

import uvloop

CHURNERS, STAY_S = 1000, 4.0
STUCK, STUCK_S = 100, 20.0
CUT_EVERY_S = 0.25
WAYS = [
    "stream",
    "compressed",
    "priority",
    "long-polling",
    "stream?past-events-limit=20",
    "compressed?last-seen=x",
]


class Deaf(asyncio.Protocol):
    """Reads, as the system must not be what holds things up, and forgets."""

    def __init__(self) -> None:
        self.ended = asyncio.get_running_loop().create_future()

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002
        if not self.ended.done():
            self.ended.set_result(None)


class Storm:
    """All of them."""

    def __init__(self, host: str, port: int, seed: int) -> None:
        self.done: Counter[str] = Counter()
        self._place = host, port
        self._rng = random.Random(seed)
        self._cuts = 0

    async def blow(self, until: asyncio.Event) -> None:
        """Go on until then."""
        tasks = [asyncio.create_task(self._churn()) for _ in range(CHURNERS)]
        tasks += [asyncio.create_task(self._stick()) for _ in range(STUCK)]
        tasks.append(asyncio.create_task(self._cut()))
        await until.wait()
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception):
                raise result

    async def _churn(self) -> None:
        await asyncio.sleep(self._rng.uniform(0, STAY_S))
        while True:
            transport: asyncio.Transport | None = None
            try:
                transport, deaf = await asyncio.get_running_loop().create_connection(Deaf, *self._place)
                await self._stay(transport, deaf)
            except OSError:
                self.done["refused"] += 1
                await asyncio.sleep(self._rng.uniform(0, 1))
            finally:
                if transport is not None:
                    transport.abort()

    async def _stay(self, transport: asyncio.Transport, deaf: Deaf) -> None:
        way = self._rng.choice(WAYS)
        transport.write(f"GET /events/{way} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
        stay_s = 0.0 if self._rng.random() < 0.1 else self._rng.expovariate(1 / STAY_S)
        done, _ = await asyncio.wait([deaf.ended], timeout=stay_s)
        self.done["thrown out" if done else "left"] += 1
        if self._rng.random() < 0.5:
            reset(transport)

    async def _stick(self) -> None:
        while True:
            stuck = socket.socket()
            stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stuck.setblocking(False)
            try:
                loop = asyncio.get_running_loop()
                await loop.sock_connect(stuck, self._place)
                way = self._rng.choice(WAYS[:3])
                await loop.sock_sendall(stuck, f"GET /events/{way} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
                self.done["stuck"] += 1
                await asyncio.sleep(self._rng.uniform(0.5, 1.5) * STUCK_S)
            except OSError:
                await asyncio.sleep(self._rng.uniform(0, 1))
            finally:
                stuck.close()

    async def _cut(self) -> None:
        while True:
            await asyncio.sleep(CUT_EVERY_S)
            self._cuts += 1
            whole, half = item(f"whole-{self._cuts}"), item(f"half-{self._cuts}")
            half = half[: self._rng.randrange(1, len(half))]
            posts = {
                "publish": b"Content-Length: 100000\r\n\r\n" + half,
                "publish-cont": b"Transfer-Encoding: chunked\r\n\r\n" + chunk(whole) + chunk(half),
                "publish ": b"Content-Length: 100000\r\n\r\n" + item(f"half-a{self._cuts}") + half,
            }
            path, post = self._rng.choice([*posts.items()])
            head = f"POST /events/{path.strip()} HTTP/1.1\r\nHost: here\r\nContent-Type: application/ztreamy-"
            head += "stream\r\n" if "cont" in path else "event\r\n"
            try:
                transport, _ = await asyncio.get_running_loop().create_connection(Deaf, *self._place)
            except OSError:
                continue
            transport.write(head.encode() + post)
            await asyncio.sleep(0.05)
            if self._rng.random() < 0.5:
                reset(transport)
            transport.abort()
            self.done["cut"] += 1


def item(event_id: str) -> bytes:
    """As on the wire."""
    head = f"Event-Id: {event_id}\r\nSource-Id: storm\r\nSyntax: text/plain\r\nBody-Length: 200\r\n\r\n"
    return head.encode() + b"x" * 200


def chunk(data: bytes) -> bytes:
    """In HTTP's chunked coding."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def reset(transport: asyncio.Transport) -> None:
    """Let its end be a reset: what a crash looks like."""
    plugged = cast("socket.socket", transport.get_extra_info("socket"))
    if plugged is not None and not transport.is_closing():
        plugged.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def main(host: str, port: int, seed: int) -> None:
    """Until standard input ends."""
    await asyncio.to_thread(sys.stdin.readline)
    until = asyncio.Event()
    storm = Storm(host, port, seed)
    blowing = asyncio.create_task(storm.blow(until))
    await asyncio.to_thread(sys.stdin.read)
    until.set()
    await blowing
    print(json.dumps(storm.done), flush=True)


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
