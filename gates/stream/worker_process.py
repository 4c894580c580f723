"""One worker process as the main one has it: its end of the channel, what it asks for, and whether it is well."""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Protocol

from triplewire.broker.errors import BrokerError, EngineError

from .channel import Answer, Ask, Channel, Gave, Question, Ready, Received, Stats, Take, Took, Wrong

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .accounts import Ledger

_log = logging.getLogger("triplewire.gates.stream.workers")

_START_S = 30.0
SILENT_S = 10.0  # without a word, or without reading: it is replaced
_UNREAD_BYTES = 256 * 1024 * 1024  # beyond what it was begun with


class Owner(Protocol):
    """Who has the workers."""

    def took(self, took: Took) -> None:
        """A worker has written a batch."""

    def received(self, received: Received) -> None:
        """A client of a worker has sent something."""

    async def asked(self, what: Question) -> Any:
        """What a worker asks for; raises BrokerError where it can't be had."""

    def lost(self, worker: WorkerProcess) -> None:
        """The channel has ended."""


class WorkerProcess:
    """One of them: its process, the channel to it, and what it last said."""

    def __init__(self, owner: Owner, index: int, ledger: Ledger) -> None:
        self.index = index
        self.ledger = ledger
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.stats = Stats(0, 0, 0)
        self.began = self.heard = asyncio.get_running_loop().time()
        self.channel = Channel(self._on_message, self._on_lost)
        self._owner = owner
        self._process: subprocess.Popen[bytes] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def pid(self) -> int:
        """Of its process."""
        return self._process.pid if self._process is not None else 0

    async def start(self, level: str, log_format: str = "text") -> None:
        """Start the process, which logs so; it is `ready` later.

        Raises:
            OSError: there can be no other process.
        """
        here, there = socket.socketpair()
        try:
            command = [
                sys.executable,
                "-P",
                "-m",
                "triplewire.gates.stream.worker",
                str(there.fileno()),
                level,
                log_format,
            ]
            self._process = subprocess.Popen(  # noqa: ASYNC220, S603 - 2 ms; our own program
                command, pass_fds=[there.fileno()], stdin=subprocess.DEVNULL
            )
        finally:
            there.close()
        await asyncio.get_running_loop().create_unix_connection(lambda: self.channel, sock=here)

    def kill(self) -> None:
        """End it, whatever it is doing."""
        self.ledger.close()
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
        self.channel.close()

    def reap(self) -> bool:
        """Whether its process has ended."""
        return self._process is None or self._process.poll() is not None

    def wait(self) -> None:
        """Until it has; on a thread."""
        if self._process is not None:
            self._process.wait()

    def trouble(self, now: float) -> str | None:
        """Why it must be replaced, if it must."""
        unread = self.channel.unread_since
        silent_s = SILENT_S if self.ready.done() else _START_S
        if now - self.heard > silent_s:
            return f"said nothing for {silent_s:.0f} s"
        if unread is not None and now - unread > silent_s:
            return f"read nothing for {silent_s:.0f} s"
        return "is too far behind" if self.channel.unread_bytes > _UNREAD_BYTES else None

    def _on_message(self, message: Any) -> None:
        self.heard = asyncio.get_running_loop().time()
        match message:
            case Ask():
                task = asyncio.get_running_loop().create_task(self._answer(message))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            case Took():
                self._owner.took(message)
            case Received():
                self._owner.received(message)
            case Gave():
                self.ledger.give((message.what, message.client, message.address))
            case Stats():
                self.stats = message
            case Ready():
                if not self.ready.done():
                    self.ready.set_result(None)
            case _:
                raise AssertionError(f"not a message of a worker: {message!r}")

    def _on_lost(self) -> None:
        self.ledger.close()
        if not self.ready.done():
            self.ready.set_exception(EngineError(f"the stream worker {self.index} ended as it began"))
            self.ready.exception()  # whoever waits is told; nobody may
        self._owner.lost(self)

    async def _found(self, what: Question) -> Any:
        if isinstance(what, Take):
            return self.ledger.take((what.what, what.client, what.address))
        return await self._owner.asked(what)

    async def _answer(self, ask: Ask) -> None:
        try:
            answer = Answer(ask.number, await self._found(ask.what))
        except BrokerError as error:
            answer = Answer(ask.number, None, Wrong.of(error))
        except Exception:  # noqa: BLE001 - it is told to the worker
            _log.exception("! what a stream worker asked for")
            answer = Answer(ask.number, None, Wrong.of(EngineError("internal error; the log has more")))
        self.channel.send(answer)


def reap(workers: Iterable[WorkerProcess]) -> None:
    """Wait for processes that are ending."""
    for worker in workers:
        worker.wait()
