"""A reader of items that dies as easily as that of Ztreamy's published client was seen to.

It shares no code with the broker's own.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

import rdflib

KNOWN = (
    "Event-Id",
    "Source-Id",
    "Syntax",
    "Application-Id",
    "Aggregator-Ids",
    "Event-Type",
    "Timestamp",
    "Body-Length",
)
COMMANDS = ("Test-Connection", "Event-Source-Started", "Event-Source-Finished", "Stream-Finished")
SYNTAX = re.compile(r"[\w.+-]+/[\w.+-]+(\s*;.*)?")


class Dies(Exception):
    """What comes is nothing that this client could read."""


@dataclass(frozen=True)
class Received:
    """An item as it was read; `headers` are all of them, by their names."""

    headers: dict[str, str]
    body: bytes

    @property
    def event_id(self) -> str:
        return self.headers["Event-Id"]

    @property
    def command(self) -> str | None:
        return self.body.decode() if self.headers["Syntax"] == "ztreamy-command" else None


class StrictReader:
    """Items from bytes, by the rules of Ztreamy's own; `parses` bodies of text/n3, as it does unless told otherwise."""

    def __init__(self, *, parses: bool = True) -> None:
        self._parses = parses
        self._data = b""
        self._head: dict[str, str] | None = None

    def feed(self, data: bytes) -> list[Received]:
        """The items that are whole.

        Raises:
            Dies: one of them is none.
        """
        self._data += data
        items = []
        while (item := self._item()) is not None:
            items.append(item)
        return items

    def _item(self) -> Received | None:
        if self._head is None:
            found = re.search(rb"(\A|\n)\r?\n", self._data)
            if found is None:
                return None
            block, self._data = self._data[: found.start()], self._data[found.end() :]
            self._head = self._headers(block)
        length = int(self._head.get("Body-Length", "0"))
        if len(self._data) < length:
            return None
        body, self._data = self._data[:length], self._data[length:]
        head, self._head = self._head, None
        return self._checked(Received(head, body))

    def _headers(self, block: bytes) -> dict[str, str]:
        headers: dict[str, str] = {}
        for line in block.decode().split("\n") if block else []:
            name, colon, value = line.partition(":")
            if not colon:
                raise Dies(f"no header: {line!r}")
            if name in headers and name in KNOWN:
                raise Dies(f"duplicate header: {name}")
            headers[name] = value.strip()
        missing = {"Event-Id", "Source-Id", "Syntax"} - set(headers)
        if missing:
            # An empty line between two items is an empty block of headers; another case is another name.
            raise Dies(f"missing headers: {sorted(missing)}")
        if not headers.get("Body-Length", "0").isdigit():
            raise Dies(f"Body-Length: {headers['Body-Length']!r}")
        return headers

    def _checked(self, item: Received) -> Received:
        syntax = item.headers["Syntax"]
        if syntax == "ztreamy-command":
            if item.body.decode() not in COMMANDS:
                raise Dies(f"unsupported command: {item.body!r}")
        elif syntax != "ztreamy-test" and SYNTAX.fullmatch(syntax) is None:
            raise Dies(f"malformed Syntax: {syntax!r}")
        elif self._parses and syntax.partition(";")[0].strip() == "text/n3":
            try:
                with warnings.catch_warnings(action="ignore"):  # rdflib's own
                    rdflib.Graph().parse(data=item.body, format="n3")
            except Exception as error:
                raise Dies(f"text/n3 that is none: {error}") from error
        return item
