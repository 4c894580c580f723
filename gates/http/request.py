"""Reading an HTTP request: its parts as text, its body within the limits."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qsl

from pyoxigraph import NamedNode

from triplewire.broker.errors import DeadlineExceeded, MalformedRequest, RequestTooLarge, UnsupportedMediaType
from triplewire.broker.wire.media import essence, parameter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from triplewire.broker.config import HttpConfig, LimitsConfig

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

    @property
    def method(self) -> str:
        """GET, POST, ..."""
        return str(self.scope["method"])

    @property
    def path(self) -> str:
        """The path, percent-decoded."""
        return str(self.scope["path"])

    def header(self, name: str) -> str | None:
        """A header's value; several of the same name are joined by commas (RFC 9110, 5.3)."""
        wanted = name.encode()
        found = [value.decode("latin-1") for key, value in self.scope["headers"] if key == wanted]
        return ", ".join(found) if found else None

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
            RequestTooLarge: it is over limits.body_bytes.
            DeadlineExceeded: it did not come within http.body_timeout_s.
            UnsupportedMediaType: it has a content coding.
            ClientGone: the client hung up.
        """
        coding = self.header("content-encoding")
        if coding and coding.strip().lower() != "identity":
            raise UnsupportedMediaType(
                f"Content-Encoding {coding:.100} is not read here; send the body as it is"
            )
        length = self.header("content-length")
        if length is not None and length.isdigit() and int(length) > self.limits.body_bytes:
            raise self._too_large()
        try:
            async with asyncio.timeout(self.http.body_timeout_s):
                return await self._body()
        except TimeoutError as error:
            raise DeadlineExceeded(
                f"the body did not arrive within {self.http.body_timeout_s} s (http.body_timeout_s)",
                code="request_timeout",
            ) from error

    async def _body(self) -> bytes:
        parts: list[bytes] = []
        size = 0
        while True:
            event = await self.receive()
            if event["type"] == "http.disconnect":
                raise ClientGone
            parts.append(event.get("body", b""))
            size += len(parts[-1])
            if size > self.limits.body_bytes:
                raise self._too_large()
            if not event.get("more_body"):
                return b"".join(parts)

    def _too_large(self) -> RequestTooLarge:
        return RequestTooLarge(f"the body is over {self.limits.body_bytes} bytes (limits.body_bytes)")

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
        return Parameters.parse((await self.text()).encode(), "the form")

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
            raise MalformedRequest(f"{where} has more than {_MAX_FIELDS} parameters") from error

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
