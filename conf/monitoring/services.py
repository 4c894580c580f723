"""What the monitoring's agents have in common: each works until it is stopped, and none dies unnoticed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from triplewire.clients import AsyncConsumer

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from triplewire.clients import ClientSettings
    from triplewire.jsap import Profile

T = TypeVar("T")


class Follower(AsyncConsumer):
    """A consumer that ends with an error where its live query does, or where one of its own methods raised."""

    def __init__(self, profile: Profile, query_id: str, *, settings: ClientSettings | None = None) -> None:
        super().__init__(profile, query_id, settings=settings)
        self.following = asyncio.Event()
        self.stopping = asyncio.Event()
        self._failed = asyncio.Event()
        self._error: Exception | None = None

    async def follow(self) -> None:
        """Follow the query, across lost connections, until cancelled.

        Raises:
            ClientError: the broker refused, or was away at the start.
        """
        try:
            await self.subscribe()
            self.following.set()
            await self.failure()
        finally:
            self.stopping.set()
            await self.close()

    async def failure(self) -> None:
        """Wait for the error, and raise it."""
        await self._failed.wait()
        assert self._error is not None
        raise self._error

    def on_error(self, error: Exception) -> None:
        """The first one counts."""
        self._error = self._error or error
        self._failed.set()


async def unless(event: asyncio.Event, work: Awaitable[object]) -> bool:
    """Whether `work` has ended before the event came; if not, it is cancelled."""
    tasks = asyncio.ensure_future(work), asyncio.create_task(event.wait())
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return tasks[0].done()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def finished(work: Awaitable[T], within_s: float | None = None) -> T:
    """What comes of `work`.  Where we are cancelled meanwhile, it may end first, for as long as `within_s`."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=within_s)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise


async def together(*works: Awaitable[object]) -> None:
    """Run them all until one ends, then stop the others, one after the other in their order here.

    Raises what the first to end raised.
    """
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    for task in tasks:
        if task in ended:
            task.result()
