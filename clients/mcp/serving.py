"""Serves it: over standard input and output, or as Streamable HTTP on a port of this machine."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import signal
import socket
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvicorn
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from .server import BrokerServer

PATH = "/mcp"
_LOCAL = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class Place:
    """Where it listens, and which Host and Origin headers it answers, besides those of this machine's own names.

    A page in a browser can have a name of its own resolve to this machine; its requests say that name in Host.
    """

    host: str
    port: int
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    @property
    def is_local(self) -> bool:
        """Whether it is reached from this machine only."""
        return is_loopback(self.host)

    def security(self) -> TransportSecuritySettings:
        """What the headers are checked against; `:*` is any port."""
        own = _LOCAL if self.is_local else ()
        named = () if self.host in {"0.0.0.0", "::"} else (_in_url(self.host),)  # noqa: S104 - compared
        names = tuple(dict.fromkeys((*own, *named)))
        return TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=[*names, *(f"{name}:*" for name in names), *self.hosts],
            allowed_origins=[*(f"http://{name}:*" for name in names), *self.origins],
        )


class _Server(uvicorn.Server):
    """Ends by a signal as a command does that is meant to be ended so: with 0, and a goodbye to who listens."""

    def __init__(self, config: uvicorn.Config, goodbye: Callable[[], None]) -> None:
        super().__init__(config)
        self._goodbye = goodbye

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """As the base class, which would end the process by the same signal once more."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._end)
        yield

    def _end(self) -> None:
        self._goodbye()
        self.force_exit = self.should_exit  # who asks twice does not want to wait
        self.should_exit = True


def is_loopback(host: str) -> bool:
    """Whether an address is one of this machine alone."""
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def over_stdio(broker: BrokerServer) -> None:
    """Serve the one client at the other end of standard input and output, until it closes them, or SIGINT or SIGTERM."""
    ending: set[asyncio.Task[None]] = set()

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, lambda: ending.add(asyncio.create_task(_end(broker))))
        async with stdio_server() as (reading, writing):
            await broker.server.run(reading, writing, broker.server.create_initialization_options())

    asyncio.run(serve())


async def _end(broker: BrokerServer) -> None:
    try:
        async with asyncio.timeout(3):
            await broker.close()
    finally:
        # A thread waits for standard input, and the interpreter would wait for the thread.
        os._exit(0)


def over_http(broker: BrokerServer, place: Place, ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called with the URL.

    Raises:
        OSError: the address is not to be had.
    """
    limits = broker.limits
    app = broker.server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=limits.request_bytes,
        session_idle_timeout=limits.idle_s,
        max_sessions=limits.sessions,
        transport_security=place.security(),
        host=place.host,
    )
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=limits.connections,
        timeout_graceful_shutdown=2,
        ws="none",
    )
    listening = _listening(place)
    try:
        ready(f"http://{_in_url(place.host)}:{listening.getsockname()[1]}{PATH}")
        _Server(config, broker.goodbye).run(sockets=[listening])
    finally:
        listening.close()


def _listening(place: Place) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(
        place.host, place.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    return socket.create_server(address[:2], family=family, backlog=128)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
