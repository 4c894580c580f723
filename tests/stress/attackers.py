"""Clients that mean harm, in a process of their own: `attackers.py KIND HTTP WS COUNT SECONDS`.

Says `ready` when all are at it, and at the end what they were answered, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
import time
import zlib
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

DRIP_S = 0.5
# Six of a kind make a gigabit a second of it; bombs come as fast as they go off.
PAUSES_S = {"bombs": 0.01, "deep": 0.05, "long": 0.25}
GIGABYTE = 1 << 30


def bomb(size: int = GIGABYTE) -> bytes:
    """A thousandth of `size`, which it inflates to."""
    stream = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return b"".join(stream.compress(bytes(1 << 20)) for _ in range(size >> 20)) + stream.flush()


def frame(text: str) -> bytes:
    """A masked text frame; its mask is zero."""
    payload = text.encode()
    return struct.pack("!BBQ", 0x81, 0x80 | 127, len(payload)) + bytes(4) + payload


def post(path: str, body: bytes, *headers: str) -> bytes:
    """A request that leaves its connection open."""
    lines = [f"POST {path} HTTP/1.1", "Host: x", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


UPGRADE = (
    b"GET /subscribe HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
DEEP = "[" * 1_000_000
LONG = "ASK { ?s ?p ?o } # " + "x" * 5_000_000
QUERY = "Content-Type: application/sparql-query"
BOMB = ("Content-Encoding: gzip", "Content-Type: application/sparql-update")


class Attack:
    """What all attackers of one process do, and what they were answered."""

    def __init__(self, kind: str, http: str, ws: str, seconds: float) -> None:
        self.http, self.ws = http, ws
        self.pause_s = PAUSES_S.get(kind, 0)
        self.bomb = post("/update", bomb(), *BOMB) if kind == "bombs" else b""
        self.ends = time.monotonic() + seconds
        self.answers: Counter[str] = Counter()
        self.ready = 0

    async def slowloris(self, _: int) -> None:
        """Headers that come one byte at a time and never end."""
        reader, writer = await self._connect(self.http)
        writer.write(b"GET /query?query=ASK%7B%7D HTTP/1.1\r\nX-A: ")
        self.ready += 1
        while time.monotonic() < self.ends:
            writer.write(b"b")
            await asyncio.sleep(DRIP_S)
        await self._hang_up(reader, writer)

    async def drip(self, _: int) -> None:
        """The same with a body."""
        reader, writer = await self._connect(self.http)
        writer.write(
            f"POST /query HTTP/1.1\r\nHost: x\r\n{QUERY}\r\nContent-Length: 1000000\r\n\r\n".encode()
        )
        self.ready += 1
        while time.monotonic() < self.ends:
            writer.write(b"b")
            await asyncio.sleep(DRIP_S)
        await self._hang_up(reader, writer)

    async def idle(self, number: int) -> None:
        """A connection that says nothing: by turns nothing at all, or nothing after the opening handshake."""
        reader, writer = await self._connect(self.ws if number % 2 else self.http)
        if number % 2:
            writer.write(UPGRADE)
            await reader.readuntil(b"\r\n\r\n")
        self.ready += 1
        await asyncio.sleep(max(0, self.ends - time.monotonic()))
        await self._hang_up(reader, writer)

    async def bombs(self, _: int) -> None:
        """A megabyte that inflates to a gigabyte."""
        await self._repeat(self.bomb)

    async def deep(self, number: int) -> None:
        """JSON with a million brackets: documents for a graph, registrations, messages."""
        if number % 3 == 0:
            await self._repeat(
                post("/rdf-graph-store?default", DEEP.encode(), "Content-Type: application/ld+json")
            )
        elif number % 3 == 1:
            await self._repeat(post("/oauth/register", DEEP.encode(), "Content-Type: application/json"))
        else:
            await self._messages(frame(DEEP))

    async def long(self, number: int) -> None:
        """Queries of five megabytes: posted, in a form, as a message."""
        if number % 3 == 0:
            await self._repeat(post("/query", LONG.encode(), QUERY))
        elif number % 3 == 1:
            body = b"query=" + b"%C3%A9x" * 700_000
            await self._repeat(post("/query", body, "Content-Type: application/x-www-form-urlencoded"))
        else:
            await self._messages(frame(json.dumps({"subscribe": {"sparql": LONG}})))

    async def _repeat(self, request: bytes) -> None:
        """Again and again, on a new connection where the last was cut."""
        self.ready += 1
        while time.monotonic() < self.ends:
            reader, writer = await self._connect(self.http)
            try:
                writer.write(request)
                self.answers[(await reader.readline()).split(b" ")[1].decode()] += 1
            except (ConnectionError, IndexError):
                self.answers["cut"] += 1
            await self._hang_up(reader, writer)
            await asyncio.sleep(self.pause_s)

    async def _messages(self, message: bytes) -> None:
        """The same on one WebSocket, or on another where the last was closed."""
        reader, writer = await self._upgraded()
        self.ready += 1
        while time.monotonic() < self.ends:
            try:
                writer.write(message)
                answer, is_open = await self._frame(reader)
            except (ConnectionError, asyncio.IncompleteReadError):
                answer, is_open = "cut", False
            self.answers[answer] += 1
            await asyncio.sleep(self.pause_s)
            if not is_open:
                writer.transport.abort()
                reader, writer = await self._upgraded()
        await self._hang_up(reader, writer)

    async def _upgraded(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await self._connect(self.ws)
        writer.write(UPGRADE)
        await reader.readuntil(b"\r\n\r\n")
        return reader, writer

    @staticmethod
    async def _frame(reader: asyncio.StreamReader) -> tuple[str, bool]:
        """What came, and whether more can."""
        first, size = await reader.readexactly(2)
        if size > 125:
            size = int.from_bytes(await reader.readexactly(2))
        payload = await reader.readexactly(size)
        if first == 0x88:
            return f"closed with {int.from_bytes(payload[:2])}", False
        return json.loads(payload)["error"], True

    async def _connect(self, url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        address = urlsplit(url)
        return await asyncio.open_connection(address.hostname, address.port)

    async def _hang_up(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()
        if reader.at_eof():
            self.answers["closed"] += 1


async def run(attack: Attack, one: Callable[[int], Awaitable[None]], count: int) -> None:
    """All at once, but for their connecting."""
    gate = asyncio.Semaphore(100)

    async def begin(number: int) -> None:
        async with gate:
            await asyncio.sleep(0.01)
        try:
            await one(number)
        except (ConnectionError, asyncio.IncompleteReadError):
            attack.answers["cut"] += 1

    tasks = [asyncio.create_task(begin(number)) for number in range(count)]
    while attack.ready < count and time.monotonic() < attack.ends:  # noqa: ASYNC110 - a counter, not an event
        await asyncio.sleep(0.05)
    print("ready", flush=True)
    await asyncio.gather(*tasks)
    print(json.dumps(attack.answers), flush=True)


def main() -> None:
    """See the module."""
    kind, http, ws, count, seconds = sys.argv[1:]
    attack = Attack(kind, http, ws, float(seconds))
    asyncio.run(run(attack, getattr(attack, kind), int(count)))


if __name__ == "__main__":
    main()
