"""Where reader processes come from: copies of this process, or new ones that open the files."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Protocol

from triplewire.broker.errors import MalformedRequest, StoreError

from .backlog import Backlog, encode_change
from .child import Child
from .forking import fork, held
from .memory import MemoryLimit
from .process import ReaderProcess
from .wire import CHANGES, REOPEN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyoxigraph

    from triplewire.broker.model import QuadDelta
    from triplewire.broker.threads import FairLock

    from .question import Check
    from .wire import Channel, Frame

# Measured: what a change and a quad of it cost, on both sides together.
_DELTA_S = 3e-6
_QUAD_S = 2e-6
# A fork costs more than its own time: the broker then copies each page that it writes to.
_FORK_FACTOR = 2
_FORK_LEAST_S = 0.003


class Source(Protocol):
    """Makes reader processes."""

    def start(
        self, memory_bytes: int, pending: int, join: Callable[[ReaderProcess], None], check: Check
    ) -> None:
        """Make a process and hand it to `join` before anything is written that it does not see.

        Raises:
            StoreError: none can be made.
        """

    def catch_up(self, deltas: list[QuadDelta]) -> tuple[Frame, ...] | None:
        """What a process must be sent that has not seen these changes; None where a new one is the better way."""
        ...


class ForkedStore:
    """A store in memory; each process is a copy of this one."""

    def __init__(self, quiet: FairLock, store: Callable[[], pyoxigraph.Store]) -> None:
        """`quiet` is held by whoever uses the store in this process."""
        self._quiet = quiet
        self._store = store
        self._fork_s = _FORK_LEAST_S

    def start(
        self, memory_bytes: int, pending: int, join: Callable[[ReaderProcess], None], check: Check
    ) -> None:
        """See `Source`."""
        limit = MemoryLimit(memory_bytes)

        def run(channel: Channel) -> None:
            Child(channel, lambda: store, limit).serve()

        with held(self._quiet, check):
            store = self._store()
            began = time.perf_counter()
            process, end = fork(run)
            self._fork_s = max(_FORK_LEAST_S, time.perf_counter() - began)
            join(ReaderProcess(process, end, Backlog(pending), memory_bytes))

    def catch_up(self, deltas: list[QuadDelta]) -> tuple[Frame, ...] | None:
        """See `Source`."""
        if not deltas:
            return ()
        quads = sum(len(delta.inserted) + len(delta.deleted) for delta in deltas)
        if len(deltas) * _DELTA_S + quads * _QUAD_S > _FORK_FACTOR * self._fork_s:
            return None
        try:
            return ((CHANGES, encode_change(deltas)),)
        except MalformedRequest:  # a lenient reader let in what no text can name
            return None


class OpenedStore:
    """A store on disk; each process is a new one that opens its files, as a copy can't have RocksDB's threads."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def start(
        self, memory_bytes: int, pending: int, join: Callable[[ReaderProcess], None], check: Check
    ) -> None:
        """See `Source`.  The process opens the files at its first question, which comes after `join`."""
        del pending, check
        ours, its = socket.socketpair()
        arguments = [str(its.fileno()), str(os.getpid()), str(memory_bytes), str(self._path)]
        try:
            process = subprocess.Popen(  # noqa: S603 - this interpreter and a module of ours
                [sys.executable, "-P", "-m", "triplewire.broker.readers.opened", *arguments],
                pass_fds=(its.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            ours.close()
            raise StoreError(f"no process can be made: {error.strerror}") from error
        finally:
            its.close()
        join(ReaderProcess(process, ours, Backlog(None), memory_bytes))

    def catch_up(self, deltas: list[QuadDelta]) -> tuple[Frame, ...] | None:
        """See `Source`."""
        return ((REOPEN, b""),) if deltas else ()
