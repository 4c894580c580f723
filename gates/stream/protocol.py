"""One connection of the stream port while it speaks HTTP: bytes become requests, one is answered after the other.

When it follows a stream, its transport is given to a `Consumer`, and this object, with its parser, goes.  Who says
nothing in time is cut by the server's sweep (`deadline`): there is no timer here.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol, cast

import httptools

from triplewire.broker.errors import BrokerError, MalformedRequest, RequestTooLarge

from .bodies import Body
from .hanging_up import hang_up
from .requests import StreamRequest
from .responses import CONTINUE, failure

if TYPE_CHECKING:
    from triplewire.broker.config import StreamGateConfig

    from .accounts import Hold

HEAD_BYTES = 64 * 1024
# Requests that a client may send ahead of their answers before its socket is not read any more.
_AHEAD = 8


class Waiting(Protocol):
    """What a connection waits for that may have to be told that it has gone."""

    def gone(self) -> None:
        """It has."""


class Server(Protocol):
    """What a connection needs to know of its server."""

    config: StreamGateConfig

    def opened(self, connection: Connection) -> None:
        """There is one more; raises BrokerError where it is one too many."""

    def closed(self, connection: Connection) -> None:
        """It is none of these any more."""

    def now(self) -> float:
        """Seconds that do not go back."""

    async def serve(self, connection: Connection, request: StreamRequest, body: Body) -> None:
        """Answer, by `connection.answer` or by making it a consumer."""


class Connection(asyncio.Protocol):
    """See above; `deadline` is the moment at which the server cuts it, by `Server.now`."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._parser: Any = httptools.HttpRequestParser(self)
        self._url = b""
        self._headers: dict[str, str] = {}
        self._head_bytes = 0
        self._in_head = False
        self._body: Body | None = None  # of the request that comes in
        self._pending: deque[tuple[StreamRequest, Body]] = deque()
        self._serving: tuple[StreamRequest, Body] | None = None
        self._task: asyncio.Task[None] | None = None
        self._upgrading = False  # to a WebSocket: the request for that is the last one
        self._refused = False  # nothing more is read
        self._refusal: BrokerError | None = None  # what is said of that, when what came before it is answered
        self.waiting: Waiting | None = None
        self.address: str | None = None  # the client's
        self.place: Hold | None = None  # on its address's account
        self.lost = False
        self.deadline = math.inf
        self.transport: asyncio.Transport = cast("asyncio.Transport", None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """One more; over a bound it is told so and closed."""
        self.transport = cast("asyncio.Transport", transport)
        try:
            self._server.opened(self)
        except BrokerError as error:
            self._refuse(error)
        else:
            self.deadline = self._server.now() + self._server.config.header_timeout_s

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - however it ended
        """The client has gone; what it published whole is taken all the same."""
        self.lost = True
        self._server.closed(self)
        if self.waiting is not None:
            self.waiting.gone()
        for body in (self._body, *(body for _, body in self._pending)):
            if body is not None:
                body.end(gone=True)
        self._pending.clear()

    def data_received(self, data: bytes) -> None:
        """Some bytes of the client."""
        if self._refused:
            return
        if self._upgrading:
            self.cut()  # it has to wait for the answer (RFC 6455, 4.1)
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserCallbackError as error:
            known = error.__context__
            self._refuse(known if isinstance(known, BrokerError) else MalformedRequest("this can't be read"))
        except httptools.HttpParserError as error:
            self._refuse(MalformedRequest(f"this is not an HTTP request: {error}"))
        else:
            if self._in_head:
                self._watch_head(len(data))

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._url, self._headers, self._head_bytes, self._in_head = b"", {}, 0, True
        if self._serving is None:
            self.deadline = self._server.now() + self._server.config.header_timeout_s

    def on_url(self, url: bytes) -> None:
        """Some of the target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; several of one name are one list (RFC 9110, 5.3)."""
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        known = self._headers.get(key)
        self._headers[key] = text if known is None else f"{known}, {text}"

    def on_headers_complete(self) -> None:
        """The head is whole: the body is read as fast as whoever serves it."""
        if self._parser.should_upgrade():
            return
        self._in_head = False
        request = self._request()
        length = request.headers.get("content-length", "")
        continuous = request.path.endswith("/publish-cont")
        if length.isdigit() and int(length) > self._server.config.body_bytes and not continuous:
            raise RequestTooLarge(
                f"the body is over {self._server.config.body_bytes} bytes (stream.body_bytes)"
            )
        self._body = Body(self.transport)
        self._pending.append((request, self._body))
        if request.headers.get("expect", "").lower() == "100-continue" and self._serving is None:
            self.transport.write(CONTINUE)
        body_s = math.inf if continuous else self._server.config.body_timeout_s
        self.deadline = self._server.now() + body_s
        self._next()

    def on_body(self, data: bytes) -> None:
        """Some of the body."""
        if self._body is not None:
            self._body.came(data)

    def on_message_complete(self) -> None:
        """The body is whole."""
        if self._parser.should_upgrade():
            return
        if self._body is not None:
            self._body.end()
            self._body = None
        self.deadline = math.inf
        if len(self._pending) > _AHEAD:
            self.transport.pause_reading()

    def answer(self, data: bytes) -> None:
        """The whole response to the request that is served; then the next one's turn comes."""
        assert self._serving is not None
        request, body = self._serving
        self._serving = self.waiting = None
        if self.lost:
            return
        self.transport.write(data)
        if not body.complete:
            self._hang_up()  # the rest of it is not wanted
        elif not request.keep_alive:
            self.transport.close()
        else:
            if not (self._pending or self._in_head or self._body):
                self.deadline = self._server.now() + self._server.config.keep_alive_s
            self._next()

    @property
    def may_stay(self) -> bool:
        """Whether the connection stays after the answer to the request that is served."""
        return self._serving is not None and self._serving[0].keep_alive and self._serving[1].complete

    def leave(self) -> asyncio.Transport:
        """It follows: the transport is another's now, and this object is not needed any more."""
        self._server.closed(self)
        self._serving = self._parser = self._task = None
        self._refused = True
        return self.transport

    def cut(self) -> None:
        """End it at once."""
        self.transport.abort()

    def _request(self) -> StreamRequest:
        parser, headers = self._parser, self._headers
        try:
            url = httptools.parse_url(self._url)
        except httptools.HttpParserInvalidURLError as error:
            raise MalformedRequest("the request's target is not a URL") from error
        return StreamRequest(
            method=parser.get_method().decode("latin-1"),
            path=(url.path or b"/").decode("latin-1"),
            query=(url.query or b"").decode("latin-1"),
            headers=headers,
            version=parser.get_http_version(),
            keep_alive=parser.should_keep_alive() and not self._upgrading,
            websocket=self._upgrading,
        )

    def _next(self) -> None:
        if self._refusal is not None and not (self._serving or self._pending):
            self.transport.write(failure(self._refusal, keep_alive=False))
            self._hang_up()
        elif self._serving is None and self._pending:
            self._serving = request, body = self._pending.popleft()
            if len(self._pending) == _AHEAD:
                self.transport.resume_reading()
            self._task = asyncio.get_running_loop().create_task(self._server.serve(self, request, body))

    def _upgrade(self, rest: bytes) -> None:
        asked = self._headers.get("upgrade", "").lower()
        if self._parser.get_method() == b"GET" and asked == "websocket":
            self._become_websocket(rest)
        else:
            self._ignore_upgrade(rest)

    def _become_websocket(self, rest: bytes) -> None:
        """The request is served like any other; where it is refused, the connection ends with the answer."""
        self._in_head, self._upgrading = False, True
        if rest:
            self._refuse(MalformedRequest("a WebSocket's client waits for the answer before it says more"))
            return
        try:
            request = self._request()
        except MalformedRequest as error:
            self._refuse(error)
            return
        body = Body(self.transport)
        body.end()
        self._pending.append((request, body))
        self.deadline = math.inf
        self._next()

    def _ignore_upgrade(self, rest: bytes) -> None:
        """RFC 9110, 7.8: an upgrade that is not offered (Java's client asks for h2c) is as if it were not asked for.

        The parser that has seen it would not read the body, so another one reads the head without it.
        """
        method = self._parser.get_method()
        if method == b"CONNECT":
            self._refuse(MalformedRequest("this is not a proxy"))
            return
        head = [b"%b %b HTTP/%b" % (method, self._url, self._parser.get_http_version().encode())]
        head += [f"{k}: {v}".encode("latin-1") for k, v in self._headers.items() if k != "upgrade"]
        self._parser = httptools.HttpRequestParser(self)
        self.data_received(b"\r\n".join(head) + b"\r\n\r\n" + rest)

    def _watch_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > HEAD_BYTES:
            self._refuse(RequestTooLarge(f"the headers are over {HEAD_BYTES} bytes"))

    def _refuse(self, error: BrokerError) -> None:
        """Read no more, and say why, behind the answers to what came before."""
        self._refused, self._refusal = True, error
        if self._body is not None:
            self._body.end(gone=True)
        self._next()

    def _hang_up(self) -> None:
        """Write no more; what still comes is read, and not kept."""
        self._refused, self._refusal = True, None
        self.deadline = self._server.now() + self._server.config.header_timeout_s
        if self._body is not None:
            self._body.end(gone=True)
        self._pending.clear()
        self.transport.resume_reading()
        hang_up(self.transport)
