"""Threads for what would hold up the event loop: trying secrets, writing to the disk.  Their queue has an end."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from triplewire.broker.errors import TooManyRequests

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

P = ParamSpec("P")
R = TypeVar("R")


class Turn:
    """A place at the threads, for one work after the other."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._work: asyncio.Future[Any] | None = None

    async def run(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Do it on one of the threads.  What was begun is done, even if nobody waits for it any more."""
        loop = asyncio.get_running_loop()
        begun = loop.run_in_executor(self._pool, lambda: work(*args, **kwargs))
        self._work = begun
        return await asyncio.shield(begun)

    def end(self, ended: Callable[[], None]) -> None:
        """Call `ended` when the threads are done with it: whoever hangs up must not make room for another."""

        def done(work: asyncio.Future[Any]) -> None:
            if not work.cancelled():
                work.exception()  # seen: where nobody waits for it, it is no news for the log
            ended()

        if self._work is None or self._work.done():
            ended()
        else:
            self._work.add_done_callback(done)


class Workers:
    """`threads` of them; `waiting` may wait for a turn."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"triplewire-{name}")
        self._free = asyncio.Semaphore(threads)
        self._room = threads + waiting

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Turn]:
        """A turn, in the order of asking.

        Raises:
            TooManyRequests: too many wait already.
        """
        if not self._room:
            raise TooManyRequests("too many clients log in or register at once; come back in a second")
        self._room -= 1
        try:
            await self._free.acquire()
        except BaseException:
            self._room += 1
            raise
        turn = Turn(self._pool)
        try:
            yield turn
        finally:
            turn.end(self._ended)

    def _ended(self) -> None:
        self._free.release()
        self._room += 1

    async def run(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Wait for a turn and use it for this.

        Raises:
            TooManyRequests: too many wait already.
        """
        async with self.turn() as turn:
            return await turn.run(work, *args, **kwargs)

    def close(self) -> None:
        """Let the threads end when they have done what they do."""
        self._pool.shutdown(wait=True, cancel_futures=True)
