"""A client of the SPARQL 1.1 Secure Event Protocol that says exactly what a test tells it to."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from functools import partial
from typing import Any, Self

from websockets.asyncio.client import connect as connect_async
from websockets.sync.client import connect

from triplewire.clients.loop_thread import LoopThread

FENCE = "sepa://subscription/there-is-none"


_LOOP = LoopThread()


class OverTls:
    """The library's asyncio client where the other one would read and write one TLS connection on two threads."""

    def __init__(self, url: str, **options: Any) -> None:
        self._opening = partial(connect_async, url, **options)

    def __enter__(self) -> Self:
        async def opened() -> Any:
            return await self._opening()

        self._inner = _LOOP.run(opened())
        return self

    def __exit__(self, *_: object) -> None:
        _LOOP.run(self._inner.close())

    def cut(self) -> None:
        async def aborted() -> None:
            self._inner.transport.abort()

        _LOOP.run(aborted())

    def send(self, message: str | bytes) -> None:
        _LOOP.run(self._inner.send(message))

    def recv(self, timeout_s: float) -> str | bytes:
        async def received() -> str | bytes:
            async with asyncio.timeout(timeout_s):
                return await self._inner.recv()

        return _LOOP.run(received())


class Subscriber:
    """One WebSocket connection."""

    def __init__(self, url: str, **options: Any) -> None:
        # Of the library's newer releases only the context gives the connection.
        connects = OverTls if "ssl" in options else connect
        self._context = connects(url, max_size=None, proxy=None, **options)
        self.socket = self._context.__enter__()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Say goodbye and hang up."""
        self._context.__exit__(None, None, None)

    def cut(self) -> None:
        """Be gone without a goodbye, over TLS."""
        self.socket.cut()

    def say(self, message: Any) -> None:
        """Send a message; texts and bytes as they are."""
        self.socket.send(message if isinstance(message, str | bytes) else json.dumps(message))

    def hear(self, timeout_s: float = 10) -> dict[str, Any]:
        """The next message."""
        return json.loads(self.socket.recv(timeout_s))

    def exchange(self, message: Any) -> dict[str, Any]:
        """Send a message and hear the next."""
        self.say(message)
        return self.hear()

    def subscribe(self, sparql: str, **members: Any) -> dict[str, Any]:
        """A subscribe that must succeed; the notification with the first results."""
        heard = self.exchange({"subscribe": {"sparql": sparql} | members})

        assert "notification" in heard, heard
        return heard["notification"]

    def notification(self) -> dict[str, Any]:
        """The next message, which must be a notification."""
        heard = self.hear()

        assert "notification" in heard, heard
        return heard["notification"]

    def all_so_far(self) -> list[dict[str, Any]]:
        """Everything that the broker has said up to now: what comes before the answer to one more message."""
        self.say({"unsubscribe": {"spuid": FENCE}})
        heard = []
        while (message := self.hear()).get("error") != "sid_not_found":
            heard.append(message)
        return heard


def values(results: dict[str, Any]) -> list[dict[str, str]]:
    """The rows of `addedResults` or `removedResults`; of each term its value."""
    return [{name: term["value"] for name, term in row.items()} for row in results["results"]["bindings"]]


def bag(results: dict[str, Any]) -> Counter[str]:
    """The rows as a bag of their JSON texts."""
    return Counter(json.dumps(row, sort_keys=True) for row in results["results"]["bindings"])


def fold(notifications: list[dict[str, Any]]) -> Counter[str]:
    """The answer that notifications add up to; their sequence must be whole."""
    held: Counter[str] = Counter()
    for sequence, notification in enumerate(notifications):
        assert notification["sequence"] == sequence
        removed = bag(notification["removedResults"])
        assert removed <= held
        held = held - removed + bag(notification["addedResults"])
    return held
