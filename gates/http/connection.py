"""uvicorn's HTTP connection with what it lacks: bounds on strangers who say nothing or too much, a cut, HTTP/1.0."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from triplewire.broker.errors import TooManyRequests
from triplewire.broker.model import Failure
from triplewire.broker.wire.subscribe import encode_failure

from .request import ClientGone

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    from triplewire.broker.config import HttpConfig
    from triplewire.gates.quotas import Quotas

log = logging.getLogger("triplewire.gates.http")

# The parser itself takes headers of any size, and of the URL so much.
HEAD_BYTES = 256 * 1024
_URL_BYTES = 0xFFFF
_NO_LINGER = struct.pack("ii", 1, 0)  # on, 0 s: what is not sent is dropped, and the peer gets a reset


def connection_class(
    config: HttpConfig, max_connections: int, bodies: Bodies | None = None, quotas: Quotas | None = None
) -> type[HttpToolsProtocol]:
    """The protocol class for uvicorn's `http` setting; `quotas` bound the connections of one address."""
    bounds = {
        "header_timeout_s": config.header_timeout_s,
        "max_connections": max_connections,
        "bodies": bodies or Bodies(2**63),
        "quotas": quotas,
    }
    return type("BoundedConnection", (Connection,), bounds)


@dataclass(slots=True)
class Bodies:
    """The bodies of all requests that are not answered yet: each is within its limit, and many of them would be a lot.

    What has to be inflated or decoded piece by piece, waits for its `turn`: between the pieces of one body others have
    theirs, and those of many would add up.
    """

    most: int
    size: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def hold(self, size: int) -> None:
        """So much more; a body that is alone is let through whatever its size.

        Raises:
            TooManyRequests: all together would be over `most`.
        """
        if self.size and self.size + size > self.most:
            raise TooManyRequests(
                f"the bodies of all requests together are over {self.most} bytes (limits.bodies_bytes)"
            )
        self.size += size


class Connection(HttpToolsProtocol):
    """One HTTP connection: its headers must come within `header_timeout_s` and HEAD_BYTES."""

    header_timeout_s: ClassVar[float]
    max_connections: ClassVar[int]
    bodies: ClassVar[Bodies]
    quotas: ClassVar[Quotas | None]
    _header_timer: asyncio.TimerHandle | None = None
    _in_head = False
    _head_bytes = 0
    _refused = False
    _counted = False
    _lost = False
    _held = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """One more; over a bound it is told so and closed."""
        super().connection_made(transport)
        try:
            self._count()
        except TooManyRequests as error:
            status = 503 if len(self.connections) > self.max_connections else error.status
            self._refuse(status, error.code, error.description)
            transport.close()
        else:
            self._expect_headers()

    def _count(self) -> None:
        if len(self.connections) > self.max_connections:
            raise TooManyRequests("too many connections (limits.sockets)")
        if self.quotas is not None:
            self.quotas.take("sockets", "", self._address)
            self._counted = True

    def _uncount(self) -> None:
        if self.quotas is not None and self._counted:
            self.quotas.give("sockets", "", self._address)
        self._counted = False

    @property
    def _address(self) -> str | None:
        return self.client[0] if self.client else None

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._headers_came()
        self._lost = True
        self._let_go()
        self._uncount()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """A request has been answered, so what came with it may go."""
        self._let_go()
        super().on_response_complete()

    def handle_websocket_upgrade(self) -> None:
        """From here on it is a WebSocket, which is counted as one."""
        self._uncount()
        super().handle_websocket_upgrade()

    def _hold(self, size: int) -> None:
        if self._lost:
            raise ClientGone
        self.bodies.hold(size)
        self._held += size

    def _let_go(self) -> None:
        self.bodies.size -= self._held
        self._held = 0

    def data_received(self, data: bytes) -> None:
        """Some bytes of the client."""
        if self._refused:
            return
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserCallbackError:
            if len(self.url) > _URL_BYTES:
                self._refuse(
                    414, "too_large", f"the URL is over {_URL_BYTES} bytes; a long query can be posted"
                )
            else:
                self._refuse(400, "bad_request", "the request's target is not a URL")
        except httptools.HttpParserError as error:
            self._refuse(400, "bad_request", f"this is not an HTTP request: {error}")
        else:
            self._watch(len(data))

    def _watch(self, size: int) -> None:
        if self._in_head:
            self._head_bytes += size
            if self._head_bytes > HEAD_BYTES:
                self._refuse(431, "too_large", f"the headers are over {HEAD_BYTES} bytes")
        elif self.cycle is not None and self.cycle.response_complete:
            self._expect_headers()  # the rest of a body that was refused must not go on for ever

    def _upgrade(self, rest: bytes) -> None:
        method = self.parser.get_method()
        if self._should_upgrade():
            self.handle_websocket_upgrade()
        elif method == b"CONNECT":
            self._refuse(400, "bad_request", "this is not a proxy")
        else:
            # RFC 9110, 7.8: an upgrade that is not offered (Java's client asks for h2c) is ignored; the parser
            # that has seen it would not read the body
            head = [method, b" ", self.url, b" HTTP/", self.parser.get_http_version().encode(), b"\r\n"]
            for name, value in self.headers:
                head += [] if name == b"upgrade" else [name, b": ", value, b"\r\n"]
            self.parser = httptools.HttpRequestParser(self)
            self.data_received(b"".join([*head, b"\r\n", rest]))

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        self._in_head = True
        self._expect_headers()
        extensions: Any = {
            "triplewire.abort": self._cut,
            "triplewire.hold": self._hold,
            "triplewire.turn": self.bodies.turn,
        }
        self.scope["extensions"] = extensions

    def on_headers_complete(self) -> None:
        """Its headers are whole; an upgrade that is not ours waits for `_upgrade`."""
        upgrade = self.parser.should_upgrade()
        if upgrade and not self._should_upgrade():
            return
        self._in_head, self._head_bytes = False, 0
        self._headers_came()
        super().on_headers_complete()
        if self.scope["http_version"] == "1.0" and not upgrade:
            unframed: Any = partial(_unframed, self.cycle)
            self.scope["extensions"]["triplewire.unframed"] = unframed

    def on_message_complete(self) -> None:
        """Its body is whole."""
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def _cut(self) -> None:
        """End with a reset: for HTTP/1.0 a plain end would be the end of the answer."""
        opened = self.transport.get_extra_info("socket")
        if opened is not None:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self.transport.abort()

    def _refuse(self, status: int, code: str, description: str) -> None:
        """Say why, and read no more; to close at once could take the words away with a reset."""
        log.info("! %s %d %s: %s", self.client, status, code, description)
        self._refused = True
        body = encode_failure(Failure(code, status, description)).encode()
        head = "Content-Type: application/json\r\nConnection: close\r\n"
        head += f"Content-Length: {len(body)}\r\n" + ("Retry-After: 1\r\n" if status in {429, 503} else "")
        self.transport.write(STATUS_LINE[status] + head.encode() + b"\r\n" + body)
        self._expect_headers()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self.transport.close()

    def _expect_headers(self) -> None:
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(self.header_timeout_s, self._silent)

    def _headers_came(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _silent(self) -> None:
        self._header_timer = None
        self.transport.abort()


def _unframed(cycle: RequestResponseCycle, size: int) -> None:
    """The next `size` bytes of the body go out as they are; uvicorn would send chunks, which HTTP/1.0 has not."""
    cycle.chunked_encoding = False
    cycle.expected_content_length = size
