"""A reader of server-sent events, line by line as the broker sends them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx


@dataclass(frozen=True)
class Event:
    """One event, or a comment."""

    name: str = "message"
    id: str | None = None
    data: str | None = None
    comment: str | None = None

    @property
    def notification(self) -> dict[str, Any]:
        """The notification in it."""
        assert self.data is not None
        return json.loads(self.data)["notification"]


class EventStream:
    """The response to one request for an event stream."""

    def __init__(self, client: httpx.Client, sparql: str, method: str = "GET", **request: Any) -> None:
        headers = {"Accept": "text/event-stream"} | request.pop("headers", {})
        if method == "GET":
            request["params"] = {"query": sparql} | request.get("params", {})
        self._context = client.stream(method, "/subscribe", headers=headers, **request)
        self.response = self._context.__enter__()
        self._events = self._read(_lines(self.response.iter_text()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._context.__exit__(None, None, None)

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def next(self) -> Event:
        """The next event or comment."""
        return next(self._events)

    def next_event(self) -> Event:
        """The next event; comments are skipped."""
        return next(event for event in self._events if event.comment is None)

    @staticmethod
    def _read(lines: Iterator[str]) -> Iterator[Event]:
        fields: dict[str, str] = {}
        for line in lines:
            if line:
                name, _, value = line.partition(":")
                fields[{"": "comment", "event": "name"}.get(name, name)] = value.removeprefix(" ")
            elif fields:
                yield Event(**fields)
                fields = {}


def _lines(parts: Iterator[str]) -> Iterator[str]:
    """Lines end with a line feed only; httpx would end them with a U+2028 in the data too."""
    rest = ""
    for part in parts:
        *lines, rest = (rest + part).split("\n")
        yield from lines
