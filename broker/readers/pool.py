"""The reader processes of a broker: a few, made when they are needed, kept up to date, let go when they are not.

The core thread tells of each write while it holds `quiet`; a copy is made, and takes its place here, while that lock is
held too.  So each write is either in the copy or in its backlog.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triplewire.broker.errors import BrokerError, ShuttingDown
from triplewire.broker.model import QueryForm
from triplewire.broker.wire.media import CSV

from .wire import POLL_S

if TYPE_CHECKING:
    from triplewire.broker.model import QuadDelta
    from triplewire.broker.wire.media import AnswerFormat

    from .process import ReaderProcess
    from .question import Check, Choose, Question, Sink
    from .sources import Source
    from .wire import Frame

_REAP_S = 0.1
_CLOSE_S = 2.0


@dataclass(frozen=True, slots=True)
class Statistics:
    """Processes that live, and counters since the start.

    `killed` are those that were ended in the middle of an answer, `deaths` those that ended by themselves.
    """

    children: int
    forks: int
    killed: int
    deaths: int


class ReaderProcesses:
    """Answers questions in at most `count` processes; thread-safe.

    The threads that ask must live as long as this object: the system ends a process with the thread that made it.
    """

    def __init__(
        self, source: Source, count: int, memory_bytes: int, idle_s: float, pending_quads: int
    ) -> None:
        """A query may use `memory_bytes` (0: no limit); `pending_quads` are kept for a process that is not asked."""
        self._source = source
        self._count = count
        self._memory_bytes = memory_bytes
        self._idle_s = idle_s
        self._pending_quads = pending_quads
        # Nobody waits for `quiet` while holding this: the core thread takes them the other way round.
        self._changed = threading.Condition(threading.Lock())
        self._living: set[ReaderProcess] = set()
        self._idle: list[ReaderProcess] = []
        self._dying: list[ReaderProcess] = []
        self._starting = 0
        self._closed = False
        self._forks = self._killed = self._deaths = 0

    # --- on reader threads --------------------------------------------------------------------------------------

    def answer(self, question: Question, choose: Choose, sink: Sink, check: Check) -> None:
        """Write the answer into `sink` in the format that `choose` picks for its form.

        To save time `choose` is asked for the likely form first; what it raises then does not count.  The answer sees
        every write that was told before, each as a whole.  Where `choose`, `sink` or `check` raise, the answer ends at
        once; `check` is called at least every 50 ms while a process is waited for.

        Raises:
            SyntaxError, ValueError, RuntimeError, OSError: as Oxigraph raised it.
            RequestError: the query used too much memory, or made its process fail.
            EngineError: Oxigraph panicked, or no process can be made.
            ShuttingDown: `close` was called.
        """
        process, before = self._taken(check)
        try:
            process.answer(question, before, choose, sink, check)
        except BrokerError as error:
            if process.has_died and self._closed:
                raise ShuttingDown("the broker is shutting down") from error
            raise
        finally:
            self._give_back(process)

    def ask(self, question: Question, check: Check) -> bool:
        """The answer to an ASK.

        Raises:
            ValueError: it is of another form.
            Exception: see `answer`.
        """
        sink = _Boolean()
        self.answer(question, sink.choose, sink, check)
        return sink.data.strip() == b"true"

    def _taken(self, check: Check) -> tuple[ReaderProcess, tuple[Frame, ...]]:
        """A process for this thread alone, and what it must be sent first."""
        while True:
            process, deltas = self._idle_one(check)
            if process is None:
                return self._started(check), ()
            before = None
            try:
                process.has_died = not process.is_alive
                before = None if process.has_died else self._source.catch_up(deltas)
            finally:
                if before is None:
                    process.is_stale = True
                    self._give_back(process)
            if before is not None:
                return process, before

    def _idle_one(self, check: Check) -> tuple[ReaderProcess | None, list[QuadDelta]]:
        """The process that was used last and what it has not seen; None where one is to be made, its place reserved."""
        while True:
            with self._changed:
                if self._closed:
                    raise ShuttingDown("the broker is shutting down")
                if self._idle:
                    process = self._idle.pop()
                    return process, process.backlog.take()
                if len(self._living) + self._starting < self._count:
                    self._starting += 1
                    return None, []
                self._changed.wait(POLL_S)
            check()

    def _started(self, check: Check) -> ReaderProcess:
        made: list[ReaderProcess] = []

        def join(process: ReaderProcess) -> None:
            made.append(process)
            with self._changed:
                self._living.add(process)
                self._forks += 1

        try:
            self._source.start(self._memory_bytes, self._pending_quads, join, check)
        finally:
            with self._changed:
                self._starting -= 1
                closed = self._closed
                self._changed.notify()
        (process,) = made
        if closed:
            process.is_stale = True
            self._give_back(process)
            raise ShuttingDown("the broker is shutting down")
        return process

    def _give_back(self, process: ReaderProcess) -> None:
        with self._changed:
            if process.is_idle and not process.is_stale:
                process.idle_since = time.monotonic()
                self._idle.append(process)
                self._changed.notify()
                return
            self._deaths += process.has_died
            self._killed += not (process.has_died or process.is_idle)
        process.kill()
        process.close()
        # One that is let go of is not waited for; its end takes time where its memory is large.
        is_reaped = process.reaped(0 if process.is_idle else _REAP_S)
        with self._changed:
            self._living.discard(process)
            if not is_reaped:
                self._dying.append(process)
            self._bury()
            self._changed.notify()

    def _bury(self) -> None:
        """With the lock: reap those that have ended by now."""
        self._dying = [process for process in self._dying if not process.reaped(0)]

    # --- on the core thread -------------------------------------------------------------------------------------

    def told(self, delta: QuadDelta) -> None:
        """This was written; called while `quiet` is held, before the write is acknowledged.  Cheap."""
        if not self._living:  # `join` is called under `quiet` too, so nobody comes meanwhile
            return
        with self._changed:
            for process in list(self._living):
                if not process.is_stale and not process.backlog.add(delta):
                    self._let_go(process)

    def renewed(self) -> None:
        """The store is another object now, so all processes have the wrong one; called while `quiet` is held."""
        with self._changed:
            for process in list(self._living):
                self._let_go(process)

    def _let_go(self, process: ReaderProcess) -> None:
        """With the lock: end it now where it is idle, and else when it has answered."""
        process.is_stale = True
        process.backlog.take()
        if process in self._idle:
            self._idle.remove(process)
            self._living.discard(process)
            self._dying.append(process)
            process.kill()
            process.close()
            self._changed.notify()

    # --- on any thread ------------------------------------------------------------------------------------------

    @property
    def is_tended(self) -> bool:
        """Whether there is anybody for `tend` to look at."""
        return bool(self._living or self._dying)

    def tend(self, now: float) -> None:
        """Let go of those that have been idle too long; called every second or so, with `time.monotonic()`."""
        with self._changed:
            for process in list(self._idle):
                if now - process.idle_since > self._idle_s:
                    self._let_go(process)
            self._bury()

    def statistics(self) -> Statistics:
        """How many there are and were."""
        with self._changed:
            return Statistics(len(self._living), self._forks, self._killed, self._deaths)

    def close(self) -> None:
        """End all; whoever waits for an answer is told ShuttingDown, and so is whoever asks later."""
        until = time.monotonic() + _CLOSE_S
        with self._changed:
            self._closed = True
            for process in list(self._living):
                self._let_go(process)
                process.kill()
            self._changed.notify_all()
            while (self._living or self._starting) and time.monotonic() < until:
                self._changed.wait(POLL_S)
            dying, self._dying = self._dying, []
        for process in dying:
            process.reaped(max(0.0, until - time.monotonic()))


class _Boolean:
    """A sink for the answer to an ASK."""

    def __init__(self) -> None:
        self.data = b""

    def choose(self, form: QueryForm) -> AnswerFormat:
        if form is not QueryForm.ASK:
            raise ValueError(f"the query is not an ASK but a {form.value}")
        return CSV

    def start(self, form: QueryForm, format_: AnswerFormat) -> None:
        """Nothing to note."""

    def write(self, data: bytes) -> int:
        self.data += data
        return len(data)
