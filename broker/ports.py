"""The ports: HTTP, WebSocket and streams, and the same over TLS.

One uvicorn server has both HTTP ports, so that limits and the end are theirs together; the WebSocket ports are the
websockets library's, the stream ports our own.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import uvicorn

from triplewire.gates.http.connection import Bodies, connection_class
from triplewire.gates.stream.protocol import Connection
from triplewire.gates.websocket.server import listen, upgraded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from websockets.asyncio.server import Server

    from triplewire.gates.http.router import Router
    from triplewire.gates.quotas import Quotas
    from triplewire.gates.stream.server import StreamServer
    from triplewire.gates.stream.workers import Workers
    from triplewire.gates.tls import Certificate
    from triplewire.gates.websocket.server import WebSocketGate

    from .config import Config

_BACKLOG = 1024
_UVICORN: dict[str, Any] = {
    "lifespan": "off",
    "log_config": None,
    "access_log": False,
    "server_header": False,
    "proxy_headers": False,
    "timeout_graceful_shutdown": 3,
}


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a running broker is reached; a host and port in each URL, "" where there is no such port.

    `links` is the URL where other nodes of the overlay reach it.
    """

    http: str
    websocket: str
    https: str = ""
    wss: str = ""
    stream: str = ""
    stream_tls: str = ""
    links: str = ""


class _Uvicorn(uvicorn.Server):
    """uvicorn with a second port, over TLS, and with the signals left to us."""

    def __init__(self, config: uvicorn.Config, tls: Certificate | None, secure: socket.socket | None) -> None:
        super().__init__(config)
        self._tls = tls
        self._secure = secure
        self._ending = asyncio.Event()

    def end(self) -> None:
        """Let `serve` come to its end."""
        self.should_exit = True
        self._ending.set()

    async def main_loop(self) -> None:
        """As uvicorn's own, which wakes ten times a second to look whether it should end."""
        while not await self.on_tick(0):  # a new Date header
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), 1.0)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the ports."""
        await super().startup(sockets)
        if self._tls is None or self._secure is None:
            return
        # As uvicorn's own does, but with a bound on the handshake.
        self.servers.append(
            await asyncio.get_running_loop().create_server(
                lambda: self.config.http_protocol_class(  # type: ignore[call-arg]
                    config=self.config, server_state=self.server_state, app_state=self.lifespan.state
                ),
                sock=self._secure,
                ssl=self._tls.context,
                ssl_handshake_timeout=self._tls.config.handshake_s,
                backlog=_BACKLOG,
            )
        )


@contextlib.asynccontextmanager
async def websocket_ports(
    config: Config, gate: WebSocketGate, tls: Certificate | None
) -> AsyncIterator[list[Server]]:
    """The WebSocket port and, with `tls`, the one over it, until the block ends.

    Raises:
        OSError: a port can't be opened.
    """
    async with contextlib.AsyncExitStack() as stack:
        servers: list[Server] = []
        for certificate in (None,) if tls is None else (None, tls):
            server = await listen(gate.handle, config.websocket, config.limits.message_bytes, certificate)
            stack.push_async_callback(_ended, server, config.websocket.close_timeout_s)
            servers += [server]
        yield servers


async def _ended(server: Server, patience_s: float) -> None:
    server.close()
    # A stranger who has not finished the handshake is not waited for longer than this.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(patience_s):
            await server.wait_closed()


@contextlib.asynccontextmanager
async def http_ports(
    config: Config, router: Router, websockets: list[Server], tls: Certificate | None, quotas: Quotas
) -> AsyncIterator[Listening]:
    """The HTTP port and, with `tls`, the one over it, until the block ends; where all the ports are.

    Raises:
        OSError: a port can't be opened.
    """
    with contextlib.ExitStack() as stack:
        plain = stack.enter_context(_bound(config.http.host, config.http.port))
        secure = stack.enter_context(_bound(tls.config.host, tls.config.https_port)) if tls else None
        server = _Uvicorn(_uvicorn_config(config, router, websockets[0], quotas), tls, secure)
        async with _serving(server, [plain]):
            yield _listening(config, [plain, *([secure] if secure else [])], websockets)


@contextlib.asynccontextmanager
async def tracker_port(
    config: Config, application: Callable[..., Any], tls: Certificate | None, quotas: Quotas
) -> AsyncIterator[str]:
    """The port of a tracker, over TLS where there is a certificate, until the block ends; where it is, as a URL.

    Raises:
        OSError: it can't be opened.
    """
    host = config.tracker.host
    bodies = Bodies(config.limits.bodies_bytes)
    with contextlib.closing(_bound(host, config.tracker.port)) as bound:
        settings = uvicorn.Config(
            application,
            http=connection_class(config.http, config.limits.sockets, bodies, quotas),
            ws="none",
            **_UVICORN,
            timeout_keep_alive=config.http.keep_alive_s,  # type: ignore[arg-type]  # a float does as well
        )
        async with _serving(_Uvicorn(settings, tls, bound if tls else None), [] if tls else [bound]):
            yield f"{'https' if tls else 'http'}://{_address(host, bound)}"


@contextlib.asynccontextmanager
async def _serving(server: _Uvicorn, sockets: list[socket.socket]) -> AsyncIterator[None]:
    serving = asyncio.create_task(server.serve(sockets))
    try:
        while not server.started and not serving.done():  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.005)
        yield
    finally:
        server.end()
        await serving


def _uvicorn_config(config: Config, router: Router, websockets: Server, quotas: Quotas) -> uvicorn.Config:
    bodies = Bodies(config.limits.bodies_bytes)

    def websocket_side(**_: Any) -> Any:
        return upgraded(websockets, config.websocket, config.limits.message_bytes)

    return uvicorn.Config(
        router,
        http=connection_class(config.http, config.limits.sockets, bodies, quotas),
        ws=websocket_side,  # type: ignore[arg-type]  # called as a class is
        **_UVICORN,
        timeout_keep_alive=config.http.keep_alive_s,  # type: ignore[arg-type]  # a float does as well
    )


@contextlib.asynccontextmanager
async def stream_ports(
    config: Config, server: StreamServer, workers: Workers | None, tls: Certificate | None
) -> AsyncIterator[tuple[str, str]]:
    """The stream port and, with `tls`, the one over it, until the block ends; where they are, "" where there is none.

    `workers` serve the first where there are any, `server` all else.

    Raises:
        OSError: a port can't be opened.
        EngineError: a worker ended as it began.
    """
    async with contextlib.AsyncExitStack() as stack:
        secure = ""
        if tls is not None:
            bound = stack.enter_context(_bound(tls.config.host, tls.config.stream_port))
            secure = _at(tls.config.host, bound.getsockname()[1])
            await stack.enter_async_context(_over_tls(server, bound, tls))
        if workers is None:
            stack.push_async_callback(server.close)
            ports = await server.start()
        else:
            stack.push_async_callback(workers.close)
            ports = await workers.start()
            stack.push_async_callback(server.close)
            await server.start(sockets=[])
        yield _at(config.stream.host, ports[0]), secure


@contextlib.asynccontextmanager
async def _over_tls(server: StreamServer, bound: socket.socket, tls: Certificate) -> AsyncIterator[None]:
    listener = await asyncio.get_running_loop().create_server(
        lambda: Connection(server),
        sock=bound,
        ssl=tls.context,
        ssl_handshake_timeout=tls.config.handshake_s,
        backlog=_BACKLOG,
    )
    try:
        yield
    finally:
        listener.close()


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), backlog=_BACKLOG, family=family)


def _listening(config: Config, http: list[socket.socket], websockets: list[Server]) -> Listening:
    places = [_address(config.http.host, http[0])]
    places.append(_address(config.websocket.host, websockets[0].sockets[0]))
    places += [_address(config.tls.host, secure) for secure in http[1:]]
    places += [_address(config.tls.host, server.sockets[0]) for server in websockets[1:]]
    return Listening(*places)


def _address(host: str, bound: socket.socket) -> str:
    return _at(host, bound.getsockname()[1])


def _at(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
