"""A client of the SPARQL 1.1 Secure Event Protocol that says exactly what a test tells it to."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Self

from websockets.sync.client import connect

FENCE = "sepa://subscription/there-is-none"


class Subscriber:
    """One WebSocket connection."""

    def __init__(self, url: str, **options: Any) -> None:
        # Of the library's newer releases only the context gives the connection.
        self._context = connect(url, max_size=None, proxy=None, **options)
        self.socket = self._context.__enter__()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Say goodbye and hang up."""
        self._context.__exit__(None, None, None)

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
