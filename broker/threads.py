"""Worker threads that call Oxigraph: with deep stacks, and not waited for when the process ends."""

from __future__ import annotations

import threading
import time
from queue import SimpleQueue
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

# Oxigraph's parser and evaluator recurse; the guard's limits are set for far less than this.
STACK_BYTES = 64 * 1024 * 1024


class FairLock:
    """A lock that whoever waits gets next, also where its holder wants it again at once.

    Python's own lock is taken again by a thread in a loop long before a waiting thread has woken up.
    """

    def __init__(self) -> None:
        self._next = threading.Lock()
        self._held = threading.Lock()

    def acquire(self, timeout: float = -1) -> bool:
        """Wait for it, `timeout` seconds at most where that is not negative; whether it was got."""
        began = time.monotonic()
        if not self._next.acquire(timeout=timeout):
            return False
        try:
            left = -1.0 if timeout < 0 else max(0.0, timeout - (time.monotonic() - began))
            return self._held.acquire(timeout=left)
        finally:
            self._next.release()

    def release(self) -> None:
        """Let the next one have it."""
        self._held.release()

    def locked(self) -> bool:
        """Whether somebody has it."""
        return self._held.locked()

    def __enter__(self) -> Self:
        self._next.acquire()
        self._held.acquire()
        self._next.release()
        return self

    def __exit__(self, *_: object) -> None:
        self._held.release()


class Workers:
    """A few threads that take work in order of arrival; bounding the queue is the caller's part.

    They are daemons: a query that can't be stopped must not keep the process from ending.
    """

    def __init__(self, count: int, name: str) -> None:
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        previous = threading.stack_size(STACK_BYTES)
        try:
            self._threads = [
                threading.Thread(target=self._run, name=f"{name}-{number}", daemon=True)
                for number in range(count)
            ]
            for thread in self._threads:
                thread.start()
        finally:
            threading.stack_size(previous)

    def submit(self, work: Callable[[], None]) -> None:
        """Queue `work`, which must not raise."""
        self._queue.put(work)

    def stop(self) -> None:
        """Let the threads end after what is queued."""
        for _ in self._threads:
            self._queue.put(None)

    def join(self, timeout_s: float) -> None:
        """Wait for the threads to end, together no longer than this."""
        for thread in self._threads:
            thread.join(timeout_s / len(self._threads))

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
