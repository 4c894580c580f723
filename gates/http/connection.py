"""uvicorn's HTTP connection with three things it lacks: a limit on silent strangers, a cut, and our WebSocket side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio

    from triplewire.broker.config import HttpConfig


def connection_class(  # noqa: C901 - a class, and no branches
    config: HttpConfig, max_connections: int
) -> type[HttpToolsProtocol]:
    """The protocol class for uvicorn's `http` setting."""

    class Connection(HttpToolsProtocol):
        """One HTTP connection: its headers must come within http.header_timeout_s."""

        _header_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > max_connections:
                transport.write(_BUSY)
                transport.close()
                return
            self._expect_headers()

        def connection_lost(self, exc: Exception | None) -> None:
            self._headers_came()
            super().connection_lost(exc)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._expect_headers()
            self.scope["extensions"] = {"triplewire.abort": self.transport.abort}  # type: ignore[dict-item]

        def on_headers_complete(self) -> None:
            self._headers_came()
            super().on_headers_complete()

        def _expect_headers(self) -> None:
            if self._header_timer is None:
                self._header_timer = self.loop.call_later(config.header_timeout_s, self._silent)

        def _headers_came(self) -> None:
            if self._header_timer is not None:
                self._header_timer.cancel()
                self._header_timer = None

        def _silent(self) -> None:
            self._header_timer = None
            self.transport.abort()

    return Connection


_BUSY_BODY = b'{"error":"too_many_requests","status_code":503,"error_description":"too many connections"}'
_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n"
    b"Connection: close\r\nContent-Length: " + str(len(_BUSY_BODY)).encode() + b"\r\n\r\n" + _BUSY_BODY
)
