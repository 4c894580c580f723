"""A request on the stream port, read: what is asked for, in which form, from where on.

The rules are Ztreamy's where a client could depend on them (facts 1.3 to 1.5), and more tolerant: a header that says
nothing useful is as if it were not there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

from triplewire.broker.errors import MalformedRequest, NotFound, Unauthorized
from triplewire.broker.wire.media import essence
from triplewire.gates.bearer import bearer_of

from .forms import EVENTS, LDJSON, ZTREAMY, Form

READ = ("GET", "HEAD", "OPTIONS")
WRITE = ("POST", "OPTIONS")
# What there is below a stream's name, and by which methods.
ACCESSES = {
    "stream": READ,
    "compressed": READ,
    "priority": READ,
    "long-polling": READ,
    "publish": WRITE,
    "publish-cont": WRITE,
}
_TOKEN = "access_token"  # noqa: S105 - a parameter's name
_OURS = frozenset({"last-seen", "overlap", "away", "past-events-limit", "non-blocking", _TOKEN})
_MOST_PARAMETERS = 100
_LIMIT = re.compile(r"[0-9]{1,9}", re.ASCII)
_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", re.ASCII)
# Two relays of a stream have an item within seconds of each other; who asks for more gets this.
MOST_OVERLAP_S = 60.0


class Target(NamedTuple):
    """A path: the stream's name, and the access below it."""

    stream: str
    access: str


class Past(NamedTuple):
    """From where on: behind the item `last_seen`, at most `limit` of what has been; see `History.replay`.

    `overlap_s` begins so many seconds before that item, `away_s` says how long ago it was had; None where nothing was said
    of it.
    """

    last_seen: str | None
    limit: int | None
    overlap_s: float | None = None
    away_s: float | None = None


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """The head of a request; names of headers are in lower case, several of one name joined by commas.

    `websocket`: it asks to go on as a WebSocket.
    """

    method: str
    path: str
    query: str
    headers: dict[str, str]
    version: str
    keep_alive: bool
    websocket: bool = False

    @property
    def framed(self) -> bool:
        """Whether the client knows chunks: HTTP/1.0 does not."""
        return self.version != "1.0"

    def target(self) -> Target:
        """What is asked for.

        Raises:
            NotFound: nothing is ever at such a path.
        """
        name, _, access = unquote(self.path).removeprefix("/").partition("/")
        if not name or access not in ACCESSES:
            raise NotFound(f"there is nothing at {self.path:.200}; a stream is at /NAME/stream")
        return Target(name, access)

    def parameters(self) -> tuple[tuple[str, str], ...]:
        """Those of the URL.

        Raises:
            MalformedRequest: there are too many.
        """
        try:
            pairs = parse_qsl(
                self.query, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS, errors="replace"
            )
        except ValueError as error:
            raise MalformedRequest(f"the URL has more than {_MOST_PARAMETERS} parameters") from error
        return tuple(pairs)

    def conditions(self) -> tuple[tuple[str, str], ...]:
        """The parameters that are not of the protocol: those of filters."""
        return tuple(pair for pair in self.parameters() if pair[0] not in _OURS) if self.query else ()

    def past(self) -> Past:
        """What the client has seen.  A browser's Last-Event-ID is newer than the URL, which it repeats.

        Raises:
            NotFound: past-events-limit is not a number (facts 1.4 have 404).
            MalformedRequest: overlap or away is not a number of seconds.
        """
        given = dict(self.parameters()) if self.query else {}
        limit = given.get("past-events-limit") or None
        if limit is not None and _LIMIT.fullmatch(limit) is None:
            raise NotFound(f"past-events-limit must be a number of items, not {limit:.40}")
        seen = self.headers.get("last-event-id") or given.get("last-seen") or None
        overlap_s = _seconds(given, "overlap")
        if overlap_s is not None:
            overlap_s = min(overlap_s, MOST_OVERLAP_S)
        return Past(seen, None if limit is None else int(limit), overlap_s, _seconds(given, "away"))

    @property
    def non_blocking(self) -> bool:
        """Whether a long poll is to be answered at once."""
        return dict(self.parameters()).get("non-blocking", "0") not in {"", "0"}

    def form(self) -> Form:
        """In which form a stream is asked for; Ztreamy's own where Accept names no other (a substring: facts 1.5)."""
        accept = self.headers.get("accept", "")
        if "application/x-ldjson" in accept:
            return LDJSON
        return EVENTS if "text/event-stream" in accept else ZTREAMY

    @property
    def takes_json(self) -> bool:
        """Whether a long poll is answered with JSON."""
        return "application/json" in self.headers.get("accept", "")

    @property
    def takes_deflate(self) -> bool:
        """Whether a stream is to be compressed: the client likes it at least as much as identity, and says so."""
        given = qualities(self.headers.get("accept-encoding", ""))
        deflate = given.get("deflate", given.get("*", 0.0))
        return deflate > 0 and deflate >= given.get("identity", 0.0)

    @property
    def takes_gzip(self) -> bool:
        """The same of a long poll."""
        given = qualities(self.headers.get("accept-encoding", ""))
        wanted = given.get("gzip", given.get("*", 0.0))
        return wanted > 0 and wanted >= given.get("identity", 0.0)

    @property
    def media_type(self) -> str:
        """Of the body, without parameters."""
        return essence(self.headers.get("content-type"))

    def token(self) -> str | None:
        """See `bearer_of`; of a WebSocket, for which browsers can set no header, also `access_token` in the URL.

        Raises:
            Unauthorized: it is not well-formed, or there are two (RFC 6750, 2 and 2.3).
        """
        header = self.headers.get("authorization")
        given = dict(self.parameters()).get(_TOKEN) if self.websocket and self.query else None
        if given is None:
            return bearer_of(header)
        if header is not None:
            raise Unauthorized(
                "there is a token in the header and one in the URL",
                code="invalid_request",
                challenge='Bearer error="invalid_request"',
            )
        return bearer_of(f"Bearer {given}")


def _seconds(given: dict[str, str], name: str) -> float | None:
    text = given.get(name) or None
    if text is not None and _SECONDS.fullmatch(text) is None:
        raise MalformedRequest(f"{name} must be a number of seconds, not {text:.40}")
    return None if text is None else float(text)


def qualities(header: str) -> dict[str, float]:
    """The codings of an Accept-Encoding header with their weights (RFC 9110, 12.5.3); what is none is passed over."""
    found: dict[str, float] = {}
    for part in header.split(","):
        coding, *parameters = (piece.strip().lower() for piece in part.split(";"))
        weight = next((piece[2:].strip() for piece in parameters if piece.startswith("q=")), "1")
        try:
            quality = float(weight)
        except ValueError:
            continue
        if coding and 0 <= quality <= 1:
            found[coding] = quality
    return found
