"""WebSockets with our settings and our errors: one blocking, one for asyncio, each of four methods.

The blocking one over TLS is the other one, on a loop of its own: one thread reads while another writes, and OpenSSL
connections are not made for that (a handshake hangs about once in two hundred times).
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Protocol

from websockets.asyncio.client import connect as connect_async
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import connect

from triplewire.broker.errors import ConnectionLost

from .loop_thread import LoopThread
from .trust import tls_context

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection as AsyncConnection
    from websockets.sync.client import ClientConnection

    from .settings import ClientSettings

# The library logs what travels, and tokens do; our own lines (`connection.py`) are without them.
_without_frames = logging.getLogger("triplewire.clients.sockets")
_without_frames.setLevel(logging.INFO)
_LOOP = LoopThread()


class Blocking(Protocol):
    """One open WebSocket; `close` may be called by any thread at any time."""

    def send(self, text: str) -> None:
        """Send one text message; raises ConnectionLost."""

    def receive(self, within_s: float | None) -> str | bytes | None:
        """The next message, or None after `within_s` seconds; raises ConnectionLost."""
        ...

    def close(self) -> None:
        """Say goodbye and close; a `receive` that waits ends with ConnectionLost."""


class TlsSocket:
    """See `Blocking`; for wss URLs."""

    def __init__(self, inner: AsyncSocket) -> None:
        self._inner = inner

    def send(self, text: str) -> None:
        """See `Blocking`."""
        _LOOP.run(self._inner.send(text))

    def receive(self, within_s: float | None) -> str | bytes | None:
        """See `Blocking`."""
        return _LOOP.run(self._inner.receive(within_s))

    def close(self) -> None:
        """See `Blocking`."""
        _LOOP.run(self._inner.close())


class BlockingSocket:
    """See `Blocking`; for ws URLs."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    @classmethod
    def open(cls, url: str, settings: ClientSettings) -> Blocking:
        """Connect, by either scheme.

        Raises:
            ConnectionLost: nobody is there, or it is not a WebSocket.
        """
        if url.startswith("wss:"):
            return TlsSocket(_LOOP.run(AsyncSocket.open(url, settings)))
        try:
            # Entered as `with` does, which websockets asks for; `close` is the way out.
            return cls(connect(url, **_options(url, settings)).__enter__())
        except (OSError, WebSocketException, EOFError) as error:
            raise _unreachable(url, error) from error

    def send(self, text: str) -> None:
        """Send one text message; raises ConnectionLost."""
        try:
            self._connection.send(text)
        except ConnectionClosed as error:
            raise _broken(error) from error

    def receive(self, within_s: float | None) -> str | bytes | None:
        """The next message, or None after `within_s` seconds; raises ConnectionLost."""
        try:
            return self._connection.recv(within_s)
        except TimeoutError:
            return None
        except ConnectionClosed as error:
            raise _broken(error) from error

    def close(self) -> None:
        """Say goodbye and close; a `receive` that waits ends with ConnectionLost."""
        self._connection.close()


class AsyncSocket:
    """One open WebSocket under asyncio."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    @classmethod
    async def open(cls, url: str, settings: ClientSettings) -> AsyncSocket:
        """Connect.

        Raises:
            ConnectionLost: nobody is there, or it is not a WebSocket.
        """
        try:
            return cls(await connect_async(url, **_options(url, settings)))
        except (OSError, WebSocketException, EOFError) as error:
            raise _unreachable(url, error) from error

    async def send(self, text: str) -> None:
        """Send one text message; raises ConnectionLost."""
        try:
            await self._connection.send(text)
        except ConnectionClosed as error:
            raise _broken(error) from error

    async def receive(self, within_s: float | None) -> str | bytes | None:
        """The next message, or None after `within_s` seconds; raises ConnectionLost."""
        try:
            async with asyncio.timeout(within_s):
                return await self._connection.recv()
        except TimeoutError:
            return None
        except ConnectionClosed as error:
            raise _broken(error) from error

    async def close(self) -> None:
        """Say goodbye and close; a `receive` that waits ends with ConnectionLost."""
        await self._connection.close()


def _options(url: str, settings: ClientSettings) -> dict[str, Any]:
    return {
        "ssl": tls_context(settings) if url.startswith("wss:") else None,
        "open_timeout": settings.timeout_s,
        "close_timeout": min(settings.timeout_s, 10.0),
        "ping_interval": settings.ping_interval_s,
        "ping_timeout": settings.ping_timeout_s,
        "max_size": settings.max_message_bytes,
        "logger": _without_frames,
    }


def _unreachable(url: str, error: Exception) -> ConnectionLost:
    return ConnectionLost(f"can't connect to {url}: {error or type(error).__name__}")


def _broken(error: ConnectionClosed) -> ConnectionLost:
    close = error.rcvd or error.sent
    reason = f"{close.code} {close.reason}".strip() if close is not None else "no goodbye"
    return ConnectionLost(f"the connection was closed ({reason})")
