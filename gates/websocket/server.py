"""The WebSocket port, and the WebSocket side of the HTTP port: one implementation, the websockets library's own.

The HTTP port's server hands over a connection that asks for an upgrade (`upgraded`); from then on it is the same kind
of connection as on the WebSocket port, with the same limits, pings and handler.
"""

from __future__ import annotations

import asyncio
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.protocol import State
from websockets.server import ServerProtocol

from triplewire.broker.errors import BrokerError
from triplewire.broker.security.authority import Nobody
from triplewire.gates.outbox import SlowSubscriber, TakenOver

from .session import Session

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from websockets.http11 import Request, Response

    from triplewire.broker.config import LimitsConfig, PathsConfig, WebSocketConfig
    from triplewire.broker.scheduler import Scheduler
    from triplewire.broker.security.authority import Authority
    from triplewire.gates.outbox import Batch
    from triplewire.gates.quotas import Quotas
    from triplewire.gates.tls import Certificate

log = logging.getLogger("triplewire.gates.websocket")

# In the range for applications (RFC 6455, 7.4.2): the client did not read; it may come back.
CLOSE_SLOW = 4008
CLOSE_STRANGER = 1008  # a policy is violated (RFC 6455, 7.4.1)
# What a client closes with when it is done: normally, going away, or without a code (RFC 6455, 7.4.1).
_GOODBYES = frozenset({1000, 1001, 1005})
_SPEAKS_WEBSOCKET = (
    "This port speaks WebSocket: subscribe at ws://<host>:<this port>/subscribe.\n"
    "SPARQL over HTTP, and a page that tells more, are on the HTTP port.\n"
)
_NOT_HERE = (
    "HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nConnection: close\r\nContent-Type: text/plain\r\n"
    f"Content-Length: {len(_SPEAKS_WEBSOCKET)}\r\n\r\n{_SPEAKS_WEBSOCKET}"
).encode()
_QUIET = logging.getLogger("triplewire.gates.websocket.protocol")
_QUIET.setLevel(logging.CRITICAL)  # a stranger's broken handshake is not our error


async def listen(
    handler: Callable[[ServerConnection], Awaitable[None]],
    config: WebSocketConfig,
    max_bytes: int,
    tls: Certificate | None = None,
) -> Server:
    """Open the WebSocket port, or the one that speaks it over `tls`; every connection is given to `handler`.

    Raises:
        OSError: the port can't be opened.
    """
    place: dict[str, Any] = {"host": config.host, "port": config.port}
    if tls is not None:
        place = {"host": tls.config.host, "port": tls.config.wss_port}
        place |= {"ssl": tls.context, "ssl_handshake_timeout": tls.config.handshake_s}
    return await serve(
        handler,
        compression=None,
        extensions=_extensions(config),
        max_size=max_bytes,
        open_timeout=config.open_timeout_s,
        process_request=_only_websocket,
        server_header="Triplewire",
        create_connection=_Connection,
        logger=_QUIET,
        backlog=1024,
        **_connection_options(config),
        **place,
    )


def upgraded(server: Server, config: WebSocketConfig, max_bytes: int) -> ServerConnection:
    """A connection that another server hands over, before its handshake's bytes are fed in again."""
    protocol = ServerProtocol(extensions=_extensions(config), max_size=max_bytes, logger=_QUIET)
    return ServerConnection(protocol, server, **_connection_options(config))


class _Connection(ServerConnection):
    """A connection of the WebSocket port; what is not a GET, the library would cut without a word."""

    _is_get: bool | None = None

    def data_received(self, data: bytes) -> None:
        """Some bytes of the client."""
        if self._is_get is None:
            self._is_get = b"GET ".startswith(data[:4])
            if not self._is_get:
                self.transport.write(_NOT_HERE)
                # To close at once, with a body unread, could take the words away with a reset
                if self.transport.can_write_eof():
                    self.transport.write_eof()
                else:
                    self.transport.close()
        if self._is_get:
            super().data_received(data)


def _connection_options(config: WebSocketConfig) -> dict[str, Any]:
    return {
        "ping_interval": config.ping_interval_s or None,
        "ping_timeout": config.ping_timeout_s or None,
        "close_timeout": config.close_timeout_s,
    }


def _extensions(config: WebSocketConfig) -> list[ServerPerMessageDeflateFactory] | None:
    # Windows of 4 KiB: 32 KiB a connection would be most of what a subscriber costs.
    settings = {"memLevel": 5}
    factory = ServerPerMessageDeflateFactory(
        server_max_window_bits=12, client_max_window_bits=12, compress_settings=settings
    )
    return [factory] if config.compression else None


def _only_websocket(connection: ServerConnection, request: Request) -> Response | None:
    if "websocket" in request.headers.get("Upgrade", "").lower():
        return None
    response = connection.respond(HTTPStatus.UPGRADE_REQUIRED, _SPEAKS_WEBSOCKET)
    response.headers["Upgrade"] = "websocket"
    return response


class WebSocketGate:
    """The handler of every WebSocket connection."""

    def __init__(  # noqa: PLR0913, PLR0917 - all that it depends on
        self,
        scheduler: Scheduler,
        paths: PathsConfig,
        limits: LimitsConfig,
        authority: Authority,
        quotas: Quotas,
        renew_s: float,
        stranger_s: float = 0.0,
    ) -> None:
        """`renew_s`: see `Session`; who shows no good token within `stranger_s` has to go, 0 being any time."""
        self._stranger_s = stranger_s
        self._quotas = quotas
        self._scheduler = scheduler
        self._limits = limits
        self._authority = authority
        self._renew_s = renew_s
        self._path = paths.subscribe

    async def handle(self, connection: ServerConnection) -> None:
        """Serve one connection until it ends."""
        try:
            session = Session(
                self._scheduler,
                self._limits,
                self._authority,
                self._quotas,
                self._renew_s,
                address=_address(connection),
                wrong_path=self._wrong_path(connection),
            )
        except BrokerError as error:
            await connection.close(1013, error.description)  # 1013: try again later
            return
        log.info("= %d opened from %s", session.subscriber, connection.remote_address)
        tasks = [asyncio.create_task(self._write(session, connection))]
        if self._stranger_s and not isinstance(self._authority, Nobody):
            tasks.append(asyncio.create_task(self._turn_out(session, connection)))
        try:
            async for message in connection:
                await session.receive(message)
        except ConnectionClosed:
            pass
        except Exception:
            log.exception("! %d", session.subscriber)
            raise  # the library closes with 1011
        finally:
            session.close(lost=not _said_goodbye(connection))
            for task in tasks:
                task.cancel()
            log.info("= %d closed with %s", session.subscriber, connection.close_code)

    def _wrong_path(self, connection: ServerConnection) -> str | None:
        path = connection.request.path.partition("?")[0] if connection.request else ""
        if path.removeprefix("/secure").rstrip("/") == self._path:
            return None
        return f"subscriptions are at {self._path}, not at {path:.100}"

    async def _turn_out(self, session: Session, connection: ServerConnection) -> None:
        await asyncio.sleep(self._stranger_s)
        if not session.is_known:
            await connection.close(CLOSE_STRANGER, "no token was shown (security.stranger_s)")

    async def _write(self, session: Session, connection: ServerConnection) -> None:
        def send(batch: Batch) -> Awaitable[None] | None:
            if log.isEnabledFor(logging.DEBUG):
                for _, text in batch:
                    log.debug("> %d %.75s", session.subscriber, text.decode())
            return _sent(connection, [text for _, text in batch])

        try:
            await session.outbox.run(send)
        except ConnectionClosed:
            pass
        except SlowSubscriber as error:
            log.warning("! %d is slow and is closed: %s", session.subscriber, error)
            await _close_slow(connection)
        except TakenOver:
            log.info("= %d is back on another connection", session.subscriber)
            connection.transport.abort()
        except Exception:
            log.exception("! %d", session.subscriber)
            connection.transport.abort()  # better gone than silent


def _sent(connection: ServerConnection, texts: list[bytes]) -> Awaitable[None] | None:
    """What `connection.send` does for one message, for all at once, and in one write to the socket.

    Returns what to wait for, if anything; it raises ConnectionClosed.
    """
    protocol = connection.protocol
    if protocol.state is not State.OPEN:
        return _drained(connection)
    for text in texts:
        protocol.send_text(text)
    connection.transport.write(b"".join(protocol.data_to_send()))
    return _drained(connection) if connection.paused else None


async def _drained(connection: ServerConnection) -> None:
    async with connection.send_context():
        pass


def _address(connection: ServerConnection) -> str | None:
    found = connection.remote_address
    return found[0] if found else None


def _said_goodbye(connection: ServerConnection) -> bool:
    said = connection.protocol.close_rcvd
    return said is not None and said.code in _GOODBYES


async def _close_slow(connection: ServerConnection) -> None:
    """Try to say goodbye, then cut: the peer does not read, and its buffers must go."""
    try:
        async with asyncio.timeout(1):
            await connection.close(CLOSE_SLOW, "the notifications were not read fast enough")
    except TimeoutError:
        pass
    finally:
        connection.transport.abort()
