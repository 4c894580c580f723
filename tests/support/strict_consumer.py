"""Doubles of the clients that are out there: each reads as little, and dies as easily, as the real one was seen to.

- `StrictConsumer`: Ztreamy's published Python client (0.3 to HEAD).
- `LineJsonConsumer`: a reader of LDJSON over deflate that splits at CRLF and stores the last id.
- `LineConsumer`: a client for Node.js that reads lines, knows no compression and no last-seen.

Each follows on a thread of its own: `items` are what its callback got, `requests` the targets that it asked for,
`deaths` why it stopped reading (it stays connected then, and hears nothing), `gave_up` the status that sent it away.
"""

from __future__ import annotations

import json
import random
import re
import threading
import time
from dataclasses import dataclass, field
from typing import Self

from .strict_http import Cut, Getting
from .strict_reader import Dies, Received, StrictReader


@dataclass
class _Foreign:
    """A client on a thread; `pace` scales its waits, so that tests need not wait as long as it would."""

    url: str
    pace: float = 0.01
    timeout_s: float = 900
    items: list[Received] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    deaths: list[str] = field(default_factory=list)
    gave_up: int | None = None
    failures: int = 0  # attempts in a row that gave nothing
    error: BaseException | None = None  # of the double itself, or what is no HTTP

    def __enter__(self) -> Self:
        self._getting: Getting | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        if self._getting is not None:
            self._getting.close()
        self._thread.join(10)
        assert not self._thread.is_alive()

    def until(self, count: int, timeout_s: float = 10) -> list[Received]:
        """Wait for so many items; those that there are then."""
        self.reached(lambda: len(self.items) >= count, timeout_s)
        return list(self.items)

    def reached(self, condition, timeout_s: float = 10) -> None:
        """Wait until something is so; AssertionError, with what this client knows, where it is not in time."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            assert self.error is None, self.error
            assert time.monotonic() < deadline, f"{len(self.items)} items, {self.deaths=}, {self.gave_up=}"
            time.sleep(0.002)

    def _run(self) -> None:
        try:
            while not self._stopped.is_set() and self._goes_on():
                self._stopped.wait(self._wait_s() * self.pace)
        except BaseException as error:  # noqa: BLE001 - it is told by whoever waits
            if not self._stopped.is_set():
                self.error = error

    def _goes_on(self) -> bool:
        """One connection; whether there is to be another."""
        try:
            self._getting = Getting(self._next_url(), self._headers(), self.timeout_s)
        except (OSError, Cut):
            self.failures += 1
            return True
        self.requests.append(self._next_url())
        try:
            return not self._stopped.is_set() and self._reads(self._getting)
        finally:
            self._getting.close()

    def _reads(self, getting: Getting) -> bool:
        if getting.status in {301, 302, 307, 308}:
            self.url = getting.headers["location"]
            return True
        if 400 <= getting.status < 500:
            self.gave_up = getting.status
            return False
        if getting.status >= 500:
            # What comes with it goes into its reader of items, which never gets over it.
            assert not b"".join(getting.chunks()), "a failure with a body"
            self.failures += 1
            return True
        feed = self._fresh()
        dead = clean = False
        try:
            for data in self._data(getting):
                if not dead and data:
                    self.failures = 0
                    try:
                        feed(data)
                    except Dies as death:
                        # The callback has raised: the connection goes on, and nobody listens.
                        self.deaths.append(str(death))
                        dead = True
            clean = True
        except (OSError, Cut):
            pass  # it comes again
        return self._again(clean=clean)

    def _again(self, *, clean: bool) -> bool:  # noqa: ARG002 - most do not care
        return True


@dataclass
class StrictConsumer(_Foreign):
    """Ztreamy's client: `finished` counts how often it was told so; see facts on tolerance."""

    compression: bool = True
    parses: bool = True
    finished: int = 0

    def _headers(self):
        coding = "deflate;q=1, identity;q=0.5" if self.compression else "identity"
        return [
            ("User-Agent", "Mozilla/5.0 (compatible; pycurl)"),
            ("Accept", "*/*"),
            ("Accept-Encoding", coding),
        ]

    def _next_url(self) -> str:
        # With a question mark, whatever the URL is, and as it is.
        return f"{self.url}?last-seen={self.items[-1].event_id}" if self.items else self.url

    def _wait_s(self) -> float:
        return random.uniform(0.001, 0.2 * 2 ** min(self.failures, 10))

    def _data(self, getting):
        return getting.decoded()

    def _fresh(self):
        reader = StrictReader(parses=self.parses)
        self._is_finished = False

        def feed(data: bytes) -> None:
            for item in reader.feed(data):
                if item.command == "Stream-Finished":
                    self.finished += 1
                    self._is_finished = True
                elif item.command != "Test-Connection":
                    self.items.append(item)

        return feed

    def _again(self, *, clean: bool) -> bool:
        # Told that the stream has finished, it stays away only where the connection is then cut.
        return clean or not self._is_finished


@dataclass
class LineJsonConsumer(_Foreign):
    """Gets `url` with the last stored id behind it, so a URL ends in `last-seen=`; a line ends in CRLF."""

    last_id: str = ""

    def _headers(self):
        return [("Accept", "application/x-ldjson"), ("Accept-Encoding", "deflate")]

    def _next_url(self) -> str:
        return self.url + self.last_id

    def _wait_s(self) -> float:
        return 1.0

    def _data(self, getting):
        assert getting.headers["content-type"].startswith("application/x-ldjson")
        return getting.decoded()

    def _fresh(self):
        rest = b""

        def feed(data: bytes) -> None:
            nonlocal rest
            *lines, rest = (rest + data).split(b"\r\n")
            for line in lines:
                self._line(line)

        return feed

    def _line(self, line: bytes) -> None:
        try:
            document = json.loads(line)
            headers = {name: value for name, value in document.items() if name != "Body"}
            body = document["Body"]
            self.last_id = headers["Event-Id"]
        except (ValueError, KeyError, AttributeError) as error:
            raise Dies(f"no item in JSON: {line[:80]!r}") from error
        if headers["Syntax"] != "ztreamy-command":
            self.items.append(
                Received(headers, (body if isinstance(body, str) else json.dumps(body)).encode())
            )


@dataclass
class LineConsumer(_Foreign):
    """Reads lines: `name: value`, an empty one, and the body, on whose last line the next item's first header is glued.

    A body of several lines gets CRLF between them, and Body-Length is taken for characters.  One that ends with the end
    of a line is not seen to end there: such bodies are none for this client.
    """

    def _headers(self):
        return []

    def _next_url(self) -> str:
        return self.url

    def _wait_s(self) -> float:
        return 1.0

    def _data(self, getting):
        assert "content-encoding" not in getting.headers, "it asked for none and knows none"
        return getting.chunks()

    def _fresh(self):
        reader = _Lines(self.items)
        return reader.feed


class _Lines:
    def __init__(self, items: list[Received]) -> None:
        self._items = items
        self._rest = ""
        self._headers: dict[str, str] = {}
        self._body: str | None = None

    def feed(self, data: bytes) -> None:
        *lines, self._rest = re.split("\r?\n", self._rest + data.decode(errors="replace"))
        for line in lines:
            self._line(line)
        # A body's last line has no end until the next item comes.
        if self._body is not None and len(self._body) + len(self._rest) >= self._length:
            line, self._rest = self._rest, ""
            self._line(line, ended=False)

    @property
    def _length(self) -> int:
        return int(self._headers.get("Body-Length", "0"))

    def _line(self, line: str, *, ended: bool = True) -> None:
        if self._body is None:
            self._header(line)
            return
        missing = self._length - len(self._body)
        if len(line) >= missing:
            headers, body = self._headers, self._body + line[:missing]
            self._headers, self._body = {}, None
            self._items.append(Received(headers, body.encode()))
            if line[missing:]:
                self._line(line[missing:]) if ended else self.feed(line[missing:].encode())
        else:
            self._body += line + "\r\n"

    def _header(self, line: str) -> None:
        if not line:
            if not self._headers:
                raise Dies("an empty line where an item must begin")
            self._body = ""
            return
        name, colon, value = line.partition(": ")
        if not colon:
            raise Dies(f"no header: {line!r}")
        self._headers[name] = value
