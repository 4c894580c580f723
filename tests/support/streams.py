"""Streams on the running event loop, and waiting for what happens to them."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from triplewire.broker.config import StreamConfig
from triplewire.gates.stream.stream import open_stream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from triplewire.gates.stream.stream import Stream


def opened(name: str = "events", silence_s: float = 0.0, **settings) -> Stream:
    """A stream that keeps nothing over a restart."""
    return open_stream(name, StreamConfig(**settings), asyncio.get_running_loop(), silence_s=silence_s)


def kept(stream) -> list[str]:
    """The ids of what it keeps."""
    return [entry.item.event_id for entry in stream.history]


async def until(condition: Callable[[], object], timeout_s: float = 5.0) -> None:
    """Wait for it."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 - conditions have no event
            await asyncio.sleep(0.002)


@contextlib.asynccontextmanager
async def running(work: Awaitable[None]) -> AsyncIterator[asyncio.Task[None]]:
    """A task that has begun, and is ended with the block; where it failed, that is raised."""
    task = asyncio.ensure_future(work)
    await asyncio.sleep(0)
    try:
        yield task
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
