"""Writing an HTTP response: whole, in chunks, or an error in SEPA's form; CORS on each."""

from __future__ import annotations

import asyncio
import gzip
import re
from typing import TYPE_CHECKING

from triplewire.broker.errors import BrokerError, Forbidden, MethodNotAllowed, Overloaded, Unauthorized
from triplewire.broker.model import Failure
from triplewire.broker.wire.subscribe import encode_failure, utf8

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .request import HttpRequest

# A browser must not take an answer for a script or a page that somebody put into the data.
NO_SNIFFING = ("X-Content-Type-Options", "nosniff")
SEQUENCE = "Triplewire-Sequence"  # the number of an update's record in the journal
_EXPOSED = f"Location, Retry-After, Content-Encoding, WWW-Authenticate, {SEQUENCE}"
JSON_TYPE = "application/json; charset=utf-8"
_GZIP = re.compile(r"(?:^|,)\s*(?:x-)?(gzip|\*)\s*(?:;\s*q\s*=\s*([0-9.]+))?\s*(?=,|$)", re.IGNORECASE)
_GZIP_LEVEL = 4


def accepts_gzip(request: HttpRequest) -> bool:
    """Whether the client takes gzip (RFC 9110, 12.5.3)."""
    found = _GZIP.findall(request.header("accept-encoding") or "")
    quality: dict[str, str] = {name.lower(): quality for name, quality in reversed(found)}
    # Its own name counts more than *; no quality is 1
    wanted = quality.get("gzip", quality.get("*", "0"))
    return wanted == "" or wanted.strip("0.") != ""


class HttpResponse:
    """The response to one request."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self.started = False

    async def send(
        self,
        status: int,
        content_type: str | None,
        body: bytes = b"",
        headers: Iterable[tuple[str, str]] = (),
    ) -> None:
        """A whole response; larger bodies are compressed for those who take it, a HEAD gets no body."""
        extra = list(headers)
        if len(body) >= self._request.http.gzip_bytes:
            extra.append(("Vary", "Accept-Encoding"))
            if accepts_gzip(self._request):
                body = await _compressed(body)
                extra.append(("Content-Encoding", "gzip"))
        if status not in {204, 304}:
            extra.append(("Content-Length", str(len(body))))
        await self.start(status, content_type, extra)
        await self._write(b"" if self._request.method == "HEAD" else body)

    async def start(
        self, status: int, content_type: str | None, headers: Iterable[tuple[str, str]] = ()
    ) -> None:
        """Status and headers; the body follows by `chunk` and `end`."""
        fields = [("Content-Type", content_type)] if content_type else []
        fields += [*headers, NO_SNIFFING, *cors(self._request)]
        self.started = True
        self._unframed(0)
        await self._request.send(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [
                    (name.lower().encode(), value.encode("latin-1", "replace")) for name, value in fields
                ],
            }
        )

    async def chunk(self, data: bytes) -> None:
        """Some of the body; waits while the client is slow."""
        if self._request.method != "HEAD":
            self._unframed(len(data))
            await self._request.send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        """The body is whole."""
        await self._write(b"")

    async def error(self, error: BrokerError) -> None:
        """SEPA's flat error object, with the status as HTTP's."""
        body = encode_failure(Failure(error.code, error.status, error.description))
        await self.send(error.status, JSON_TYPE, utf8(body), error_headers(error))

    async def _write(self, body: bytes) -> None:
        self._unframed(len(body))
        await self._request.send({"type": "http.response.body", "body": body, "more_body": False})

    def _unframed(self, size: int) -> None:
        """On HTTP/1.0 the body has no chunks and ends with the connection (RFC 9112, 6.1)."""
        unframed = self._request.scope.get("extensions", {}).get("triplewire.unframed")
        if unframed is not None:
            unframed(size)


def error_headers(error: BrokerError) -> list[tuple[str, str]]:
    """What tells a client how to go on: when, by which methods, with which token."""
    if isinstance(error, Overloaded):
        return [("Retry-After", str(error.retry_after_s))]
    if isinstance(error, MethodNotAllowed):
        return [("Allow", ", ".join(error.allow))]
    if isinstance(error, Unauthorized):
        return [("WWW-Authenticate", error.challenge)]
    if isinstance(error, Forbidden) and error.code == "insufficient_scope":  # RFC 6750, 3
        return [("WWW-Authenticate", 'Bearer error="insufficient_scope"')]
    return []


def cors(request: HttpRequest) -> list[tuple[str, str]]:
    """The headers that let a page of any origin read the response."""
    origin = request.header("origin")
    if origin is None:
        return []
    return [
        ("Access-Control-Allow-Origin", origin),
        ("Access-Control-Expose-Headers", _EXPOSED),
        ("Vary", "Origin"),
    ]


async def preflight(request: HttpRequest, allow: tuple[str, ...]) -> None:
    """OPTIONS: the methods there are, and for a browser the CORS answer (any origin, method and header)."""
    headers = [("Allow", ", ".join(allow))]
    method = request.header("access-control-request-method")
    if request.header("origin") is not None and method is not None:
        headers += [("Access-Control-Allow-Methods", method), ("Access-Control-Max-Age", "600")]
        wanted = request.header("access-control-request-headers")
        if wanted:
            headers.append(("Access-Control-Allow-Headers", wanted))
    await HttpResponse(request).send(204, None, headers=headers)


async def _compressed(body: bytes) -> bytes:
    if len(body) > 256 * 1024:
        return await asyncio.to_thread(gzip.compress, body, _GZIP_LEVEL, mtime=0)
    return gzip.compress(body, _GZIP_LEVEL, mtime=0)
