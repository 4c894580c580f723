"""Reading an HTTP request: its parts as text, its body within the limits."""

from __future__ import annotations

import asyncio
import re
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qsl

from pyoxigraph import NamedNode

from triplewire.broker.errors import (
    DeadlineExceeded,
    MalformedRequest,
    RequestTooLarge,
    UnsupportedMediaType,
)
from triplewire.broker.rights import OPEN
from triplewire.broker.wire.media import essence, parameter
from triplewire.gates.bearer import bearer_of

from .escapes import PIECE, REST_S, unescaped
from .inflating import Inflating

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from triplewire.broker.config import HttpConfig, LimitsConfig
    from triplewire.broker.rights import Access
    from triplewire.gates.quotas import Opened, Quotas

    Scope: TypeAlias = MutableMapping[str, Any]
    Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

FORM = "application/x-www-form-urlencoded"
_HOST = re.compile(r"[A-Za-z0-9._~%:\[\]-]+")
_MAX_FIELDS = 1000
_BULK = re.compile(r"(?:^|,)\s*u=[567]\s*(?:,|;|$)")


class ClientGone(Exception):
    """The client hung up before its request was whole."""


@dataclass(slots=True)
class HttpRequest:
    """One request of the ASGI server."""

    scope: Scope
    receive: Receive
    send: Send
    http: HttpConfig
    limits: LimitsConfig
    access: Access = OPEN
    quotas: Quotas | None = None
    came: int = 0  # bytes of the body so far, as they were sent
    size: int = 0  # and what they inflate to
    expects_query: bool = False  # then no body of the size of an update is read

    @property
    def most_bytes(self) -> int:
        """What its body may have."""
        if not self.expects_query:
            return self.limits.body_bytes
        # A character is four bytes at most, and each of them three in a form.
        each = 12 if self.media_type == FORM else 4
        return min(each * self.limits.query_chars + PIECE, self.limits.body_bytes)

    @property
    def method(self) -> str:
        """GET, POST, ..."""
        return str(self.scope["method"])

    @property
    def path(self) -> str:
        """The path, percent-decoded."""
        return str(self.scope["path"])

    @property
    def address(self) -> str | None:
        """The client's address, as `Quotas` counts it; None where there is none."""
        client = self.scope.get("client")
        return client[0] if client else None

    def header(self, name: str) -> str | None:
        """A header's value; several of the same name are joined by commas (RFC 9110, 5.3)."""
        wanted = name.encode()
        found = [value.decode("latin-1") for key, value in self.scope["headers"] if key == wanted]
        return ", ".join(found) if found else None

    def token(self) -> str | None:
        """See `bearer_of`.  Raises Unauthorized."""
        return bearer_of(self.header("authorization"))

    @property
    def is_bulk(self) -> bool:
        """Whether the client has all others go first: an urgency of 5 to 7 (RFC 9218, 4.1)."""
        return _BULK.search(self.header("priority") or "") is not None

    @property
    def url(self) -> str:
        """The request's own URI without its query, as the client wrote it.

        Raises:
            MalformedRequest: host and path do not make one.
        """
        host = self.header("host") or _address(self.scope)
        if _HOST.fullmatch(host) is None:
            raise MalformedRequest(f"the Host header {host!r:.100} is not a host and port")
        raw = self.scope.get("raw_path") or self.path.encode()
        url = f"{self.scope.get('scheme', 'http')}://{host}{raw.decode('ascii', 'replace')}"
        try:
            return NamedNode(url).value
        except ValueError as error:
            raise MalformedRequest(f"the request's URL {url!r:.200} is not an IRI: {error}") from error

    def parameters(self) -> Parameters:
        """The parameters in the URL.

        Raises:
            MalformedRequest: they are not UTF-8.
        """
        return Parameters.parse(self.scope["query_string"], "the URL")

    async def body(self) -> bytes:
        """The whole body.

        Raises:
            RequestTooLarge: it is over limits.body_bytes, as sent or as what it inflates to.
            DeadlineExceeded: it did not come within http.body_timeout_s.
            TooManyRequests: the bodies of all requests are over limits.bodies_bytes.
            UnsupportedMediaType: it has a content coding that is not read here.
            MalformedRequest: it is not of its content coding.
            ClientGone: the client hung up.
        """
        coding = self.header("content-encoding")
        plain = not coding or coding.strip().lower() == "identity"
        inflating = None if plain else Inflating(coding or "")
        length = self.header("content-length")
        if length is not None and length.isdigit() and int(length) > self.most_bytes:
            raise self._too_large()
        try:
            async with asyncio.timeout(self.http.body_timeout_s):
                return await self._body(inflating)
        except TimeoutError as error:
            raise DeadlineExceeded(
                f"the body did not arrive within {self.http.body_timeout_s} s (http.body_timeout_s)",
                code="request_timeout",
            ) from error

    async def _body(self, inflating: Inflating | None) -> bytes:
        parts: list[bytes] = []
        more = True
        while more:
            event = await self.receive()
            if event["type"] == "http.disconnect":
                raise ClientGone
            data, more = event.get("body", b""), event.get("more_body", False)
            self.came += len(data)
            if inflating is None:
                self._keep(parts, data)
                continue
            async with self._turn():
                for piece in inflating.pieces(data):
                    self._keep(parts, piece)
                    if inflating.is_full(piece):
                        await asyncio.sleep(REST_S)  # little data can be much work
        if inflating is not None:
            inflating.finish()
        return b"".join(parts)

    def _keep(self, parts: list[bytes], part: bytes) -> None:
        self.size += len(part)
        if max(self.size, self.came) > self.most_bytes:
            raise self._too_large()
        parts.append(part)
        self._hold(len(part))

    def holding(self, what: Opened) -> AbstractContextManager[object]:
        """For a `with` in which the sender has one more of them open; at its start it may raise TooManyRequests."""
        return self.quotas.holding(what, self.access.client, self.address) if self.quotas else nullcontext()

    def _hold(self, size: int) -> None:
        hold = self.scope.get("extensions", {}).get("triplewire.hold")
        if hold is not None:
            hold(size)

    def _turn(self) -> AbstractAsyncContextManager[None]:
        """One body at a time is worked on piece by piece; between the pieces, others have their turn."""
        turn: AbstractAsyncContextManager[None] = self.scope.get("extensions", {}).get("triplewire.turn")
        return turn or nullcontext()

    def _too_large(self) -> RequestTooLarge:
        setting = "body_bytes" if self.most_bytes == self.limits.body_bytes else "query_chars"
        return RequestTooLarge(f"the body is over {self.most_bytes} bytes (limits.{setting})")

    async def text(self) -> str:
        """The whole body as UTF-8 text.

        Raises:
            UnsupportedMediaType: another charset is named.
            MalformedRequest: it is not UTF-8.
        """
        charset = parameter(self.header("content-type"), "charset")
        if charset is not None and charset.lower() not in {"utf-8", "utf8", "us-ascii"}:
            raise UnsupportedMediaType(f"the body must be UTF-8, not {charset:.40}")
        try:
            return (await self.body()).decode("utf-8")
        except UnicodeDecodeError as error:
            raise MalformedRequest(f"the body is not UTF-8: byte {error.start} is wrong") from error

    @property
    def media_type(self) -> str:
        """The body's media type without parameters."""
        return essence(self.header("content-type"))

    async def form(self) -> Parameters:
        """The parameters of a form body.

        Raises:
            MalformedRequest: they are not UTF-8.
        """
        data = (await self.text()).encode()
        if len(data) > PIECE:
            async with self._turn():
                return await Parameters.parse_in_turns(data, "the form")
        return Parameters.parse(data, "the form")

    async def gone(self) -> None:
        """Wait until the client hangs up."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    def abort(self) -> None:
        """Cut the connection: an answer that can't be finished must not look finished."""
        abort = self.scope.get("extensions", {}).get("triplewire.abort")
        if abort is not None:
            abort()


def _address(scope: Scope) -> str:
    name, port = scope.get("server") or ("localhost", 80)
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


def _too_many(where: str) -> MalformedRequest:
    return MalformedRequest(f"{where} has more than {_MAX_FIELDS} parameters")


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters of a URL or form, in order; names may repeat."""

    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, data: bytes, where: str) -> Parameters:
        """Percent-decoded once, strictly.

        Raises:
            MalformedRequest: they are not UTF-8, or there are too many.
        """
        try:
            text = data.decode("utf-8")
            return cls(
                tuple(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS))
            )
        except UnicodeDecodeError as error:
            raise MalformedRequest(f"the parameters of {where} are not UTF-8") from error
        except ValueError as error:
            raise _too_many(where) from error

    @classmethod
    async def parse_in_turns(cls, data: bytes, where: str) -> Parameters:
        """The same of a long text, while others have their turn.

        Raises:
            MalformedRequest: see `parse`.
        """
        fields = data.split(b"&", _MAX_FIELDS)
        if len(fields) > _MAX_FIELDS:
            raise _too_many(where)
        pairs = []
        try:
            for name, _, value in (field.partition(b"=") for field in fields if field):
                pairs.append(((await unescaped(name)).decode(), (await unescaped(value)).decode()))
        except UnicodeDecodeError as error:
            raise MalformedRequest(f"the parameters of {where} are not UTF-8") from error
        return cls(tuple(pairs))

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of a parameter."""
        return tuple(value for key, value in self.pairs if key == name)

    def one(self, name: str) -> str | None:
        """The value of a parameter that may be there once.

        Raises:
            MalformedRequest: it is there more than once.
        """
        found = self.all(name)
        if len(found) > 1:
            raise MalformedRequest(f"the parameter {name} is given {len(found)} times; once is right")
        return found[0] if found else None

    def __contains__(self, name: str) -> bool:
        return any(key == name for key, _ in self.pairs)
