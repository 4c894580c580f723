"""An echo server behind the broker's own ports, for an outside judge of the WebSocket protocol: prints two URLs.

What is judged is the WebSocket port (`listen`) and the WebSocket side of the HTTP port (`upgraded`), with the broker's
extensions, limits and timeouts; only the handler is another.
"""

from __future__ import annotations

import asyncio
import dataclasses
import signal
import socket
from typing import TYPE_CHECKING, Any

import uvicorn
from websockets.exceptions import ConnectionClosed

from triplewire.broker.config import HttpConfig, WebSocketConfig
from triplewire.gates.http.connection import connection_class
from triplewire.gates.websocket.server import listen, upgraded

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection

LARGEST_MESSAGE = 16 * 1024 * 1024


async def nothing_here(scope: Any, receive: Any, send: Any) -> None:
    """The HTTP port's application: not what is judged."""


async def echo(connection: ServerConnection) -> None:
    """Send back what comes, as what it came: text or binary."""
    try:
        async for message in connection:
            await connection.send(message)
    except ConnectionClosed:
        pass


async def main() -> None:
    """Open both ports, say where, and wait for SIGTERM."""
    config = dataclasses.replace(WebSocketConfig(), port=0)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    async with await listen(echo, config, LARGEST_MESSAGE) as server:
        host, port = server.sockets[0].getsockname()[:2]
        http = uvicorn.Server(
            uvicorn.Config(
                nothing_here,
                http=connection_class(HttpConfig(), 1000),
                ws=lambda **_: upgraded(server, config, LARGEST_MESSAGE),  # type: ignore[arg-type]
                lifespan="off",
                log_level="critical",
            )
        )
        http.install_signal_handlers = lambda: None
        with socket.create_server((host, 0)) as bound:
            serving = asyncio.create_task(http._serve([bound]))
            print(
                f"ws://{host}:{port}/subscribe", f"ws://{host}:{bound.getsockname()[1]}/subscribe", flush=True
            )
            await ended.wait()
            http.should_exit = True
            await serving


if __name__ == "__main__":
    asyncio.run(main())
