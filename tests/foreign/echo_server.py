"""An echo server behind the broker's own WebSocket port, for an outside judge of the protocol: prints its URL.

What is judged is `listen`, with the broker's extensions, limits and timeouts; only the handler is another.
"""

from __future__ import annotations

import asyncio
import dataclasses
import signal
from typing import TYPE_CHECKING

from websockets.exceptions import ConnectionClosed

from triplewire.broker.config import WebSocketConfig
from triplewire.gates.websocket.server import listen

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection

LARGEST_MESSAGE = 16 * 1024 * 1024


async def echo(connection: ServerConnection) -> None:
    """Send back what comes, as what it came: text or binary."""
    try:
        async for message in connection:
            await connection.send(message)
    except ConnectionClosed:
        pass


async def main() -> None:
    server = await listen(echo, dataclasses.replace(WebSocketConfig(), port=0), LARGEST_MESSAGE)
    host, port = server.sockets[0].getsockname()[:2]
    print(f"ws://{host}:{port}/subscribe", flush=True)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    async with server:
        await ended.wait()


if __name__ == "__main__":
    asyncio.run(main())
