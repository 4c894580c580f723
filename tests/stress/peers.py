"""Clients for tests under load: many in one process, and some that misbehave on purpose."""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import struct
import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, urlsplit

import httpx
import psutil
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from support.running import RunningBroker

UPDATE = {"Content-Type": "application/sparql-update"}
PATIENCE_S = 60.0


class Listener:
    """One socket and its subscriptions: everything that it hears, in order."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.heard: list[dict[str, Any]] = []  # notifications, as their inner objects
        self.errors: list[dict[str, Any]] = []
        self.unsubscribed: list[str] = []
        self.largest = 0
        self.closed_with: int | None = None
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, url: str) -> Self:
        """Connect; the broker's pings are answered by the library."""
        return cls(
            await connect(
                url, max_size=None, ping_interval=None, compression=None, open_timeout=60, proxy=None
            )
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def send(self, sparql: str, alias: str | None = None) -> None:
        """Ask for a subscription, and do not wait."""
        await self.connection.send(json.dumps({"subscribe": {"sparql": sparql, "alias": alias}}))

    async def subscribe(self, sparql: str, alias: str = "only") -> dict[str, Any]:
        """Ask for a subscription; its first notification."""
        known = len(self.heard)
        await self.send(sparql, alias)
        await until(lambda: any(self._is_first(heard, alias) for heard in self.heard[known:]) or self.errors)
        assert not self.errors, self.errors
        return next(heard for heard in self.heard[known:] if self._is_first(heard, alias))

    @staticmethod
    def _is_first(heard: dict[str, Any], alias: str) -> bool:
        return heard["sequence"] == 0 and heard.get("alias") == alias

    async def unsubscribe(self, spuid: str) -> None:
        """End a subscription; returns when the broker has said so."""
        await self.connection.send(json.dumps({"unsubscribe": {"spuid": spuid}}))
        await until(lambda: spuid in self.unsubscribed or self.errors)
        assert not self.errors, self.errors

    async def hears(self, count: int) -> None:
        """Wait until `count` notifications have come in all, and find that there are not more."""
        await until(lambda: len(self.heard) >= count)
        assert len(self.heard) == count

    async def close(self) -> None:
        """Close the connection as the protocol wants it."""
        await self.connection.close()
        await self._reading

    async def _read(self) -> None:
        try:
            async for text in self.connection:
                self.largest = max(self.largest, len(text))
                message = json.loads(text)
                if "notification" in message:
                    self.heard.append(message["notification"])
                elif "unsubscribed" in message:
                    self.unsubscribed.append(message["unsubscribed"]["spuid"])
                else:
                    self.errors.append(message)
        except ConnectionClosed:
            pass
        self.closed_with = self.connection.close_code


async def open_listeners(url: str, count: int) -> list[Listener]:
    """Connect `count` times, at most fifty at once."""
    gate = asyncio.Semaphore(50)

    async def one() -> Listener:
        async with gate:
            return await Listener.open(url)

    return list(await asyncio.gather(*(one() for _ in range(count))))


async def close_all(listeners: Iterable[Listener]) -> None:
    """Close them all at once."""
    await asyncio.gather(*(listener.close() for listener in listeners))


class Publisher:
    """Sends updates over kept connections."""

    def __init__(self, broker: RunningBroker) -> None:
        limits = httpx.Limits(max_connections=50)
        self._client = httpx.AsyncClient(
            base_url=broker.http, limits=limits, timeout=PATIENCE_S, trust_env=False
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def post(self, sparql: str) -> int:
        """The status that an update is answered with."""
        return (await self._client.post("/update", content=sparql, headers=UPDATE)).status_code

    async def update(self, sparql: str) -> None:
        """An update that must succeed."""
        answer = await self._client.post("/update", content=sparql, headers=UPDATE)
        assert answer.status_code == 200, answer.text

    async def rows(self, sparql: str) -> Counter[str]:
        """The answer to a query as a bag of rows."""
        answer = await self._client.get("/query", params={"query": sparql})
        assert answer.status_code == 200, answer.text
        return Counter(map(row_text, answer.json()["results"]["bindings"]))

    async def health(self) -> dict[str, Any]:
        """The broker's own counters."""
        answer = await self._client.get("/health")
        assert answer.status_code == 200
        counters: dict[str, Any] = answer.json()
        return counters

    async def holds(self, timeout_s: float = 20.0, **expected: int) -> None:
        """Wait until the broker's counters are as expected."""
        deadline = time.monotonic() + timeout_s
        while True:
            health = await self.health()
            if all(health[name] == value for name, value in expected.items()):
                return
            assert time.monotonic() < deadline, f"expected {expected}: {health}"
            await asyncio.sleep(0.05)


def row_text(row: dict[str, Any]) -> str:
    """A row as a text that can be counted."""
    return json.dumps(row, sort_keys=True)


def fold(notifications: Iterable[dict[str, Any]]) -> dict[str, Counter[str]]:
    """The answer that each subscription has come to; every sequence must have no gap, and nothing unknown goes."""
    answers: defaultdict[str, Counter[str]] = defaultdict(Counter)
    sequences: dict[str, int] = {}
    for heard in notifications:
        answer = answers[heard["spuid"]]
        assert heard["sequence"] == sequences.get(heard["spuid"], -1) + 1
        sequences[heard["spuid"]] = heard["sequence"]
        for row in map(row_text, heard["removedResults"]["results"]["bindings"]):
            assert answer[row] > 0, f"{row} is removed and was not there"
            answer[row] -= 1
        answer.update(map(row_text, heard["addedResults"]["results"]["bindings"]))
    return {spuid: +answer for spuid, answer in answers.items()}


async def until(condition: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
    """Wait for something that other tasks bring about."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        await asyncio.sleep(0.005)


# Below the libraries: bytes on a TCP connection, and an end of it that no library makes.


def room_for(descriptors: int) -> None:
    """Raise this process's limit of open files where it is lower; skips the test where the system forbids it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < descriptors:
        if hard != resource.RLIM_INFINITY and hard < descriptors:
            pytest.skip(f"a process may open {hard} files here; this test needs {descriptors}")
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, hard))


def address(url: str) -> tuple[str, int]:
    """The host and port of a URL."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


def handshake(url: str) -> bytes:
    """A WebSocket's opening request, without extensions."""
    parts = urlsplit(url)
    return (
        f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()


def text_frame(text: str) -> bytes:
    """A masked text frame; its mask is zero, which is as good as any here."""
    payload = text.encode()
    if len(payload) < 126:
        head = struct.pack("!BB", 0x81, 0x80 | len(payload))
    elif len(payload) < 65536:
        head = struct.pack("!BBH", 0x81, 0x80 | 126, len(payload))
    else:
        head = struct.pack("!BBQ", 0x81, 0x80 | 127, len(payload))
    return head + bytes(4) + payload


def subscribe_frame(sparql: str) -> bytes:
    """A subscribe message as a frame."""
    return text_frame(json.dumps({"subscribe": {"sparql": sparql}}))


def event_request(http: str, sparql: str) -> bytes:
    """A request for a subscription as server-sent events."""
    netloc = urlsplit(http).netloc
    path = f"/subscribe?query={quote(sparql)}"
    return f"GET {path} HTTP/1.1\r\nHost: {netloc}\r\nAccept: text/event-stream\r\n\r\n".encode()


def plug(url: str, *, receive_buffer: int | None = None) -> socket.socket:
    """A connected socket; with a small receive buffer it is soon full."""
    plugged = socket.socket()
    plugged.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if receive_buffer is not None:
        plugged.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    plugged.settimeout(20)
    plugged.connect(address(url))
    return plugged


def reset(plugged: socket.socket) -> None:
    """End a connection with RST: what a crash, or a gateway's time-out, looks like."""
    plugged.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    plugged.close()


def read_until(plugged: socket.socket, mark: bytes) -> bytes:
    """Read up to `mark` and whatever came with it."""
    data = b""
    while mark not in data:
        more = plugged.recv(65536)
        assert more, data
        data += more
    return data


class Watched:
    """A broker's process as the system sees it."""

    def __init__(self, broker: RunningBroker) -> None:
        self._process = psutil.Process(broker.process.pid)

    @property
    def rss(self) -> int:
        return int(self._process.memory_info().rss)

    @property
    def descriptors(self) -> int:
        """Those that it has open, but for the one that leads to each reader process."""
        return int(self._process.num_fds()) - len(self._process.children())

    @property
    def waiting_to_close(self) -> int:
        """Connections whose other end has gone and that the broker still holds."""
        connections = self._process.net_connections(kind="tcp")
        return sum(connection.status == psutil.CONN_CLOSE_WAIT for connection in connections)

    async def comes_back_to(self, descriptors: int, timeout_s: float = 20.0) -> None:
        """Wait until no more descriptors are open than there were; a few are the publisher's own."""
        deadline = time.monotonic() + timeout_s
        while self.descriptors > descriptors:
            assert time.monotonic() < deadline, f"{self.descriptors} descriptors; there were {descriptors}"
            await asyncio.sleep(0.05)
