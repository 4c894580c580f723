"""One reader process, as the broker sees it: a question goes in, bytes come out, and it can be ended at any time."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

from triplewire.broker.errors import EngineError, RequestError
from triplewire.broker.model import QueryForm

from .child import FAILURES, format_name
from .forking import ended, how
from .wire import (
    DATA,
    END,
    ERROR,
    FORGET,
    FORM,
    FORMAT,
    LIKELY,
    MEMORY,
    POLL_S,
    QUESTION,
    Channel,
    ChannelClosed,
)

if TYPE_CHECKING:
    import socket

    from triplewire.broker.wire.media import AnswerFormat

    from .backlog import Backlog
    from .forking import Process
    from .question import Check, Choose, Question, Sink
    from .wire import Frame

_FAILURES = {failure.__name__: failure for failure in FAILURES}


def _chosen(choose: Choose, form: QueryForm) -> AnswerFormat | None:
    """The format of an answer that will likely be of this form; what is wrong is told when the form is known."""
    try:
        return choose(form)
    except Exception:  # noqa: BLE001 - it will be asked again
        return None


class ReaderProcess:
    """Used by one thread at a time; `kill` may be called by any."""

    def __init__(self, process: Process, end: socket.socket, backlog: Backlog, memory_bytes: int) -> None:
        end.settimeout(POLL_S)
        self._channel = Channel(end)
        self._process = process
        self._memory_bytes = memory_bytes
        self.backlog = backlog
        # Whether it surely waits for a question; then it can be kept, whatever was raised.
        self.is_idle = True
        self.has_died = False
        # To be let go of when it has answered.
        self.is_stale = False
        self.idle_since = 0.0

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it still runs; where not, it has been reaped."""
        return self._process.poll() is None

    def answer(
        self, question: Question, before: tuple[Frame, ...], choose: Choose, sink: Sink, check: Check
    ) -> None:
        """Send the frames `before` and ask; the answer's bytes go into the sink.

        Raises:
            SyntaxError, ValueError, RuntimeError, OSError: as Oxigraph raised it.
            RequestError: the query made the process fail.
            EngineError: Oxigraph panicked.
            Exception: what `choose`, `sink` or `check` raise.
        """
        self.is_idle = False
        try:
            self._ask(question, before, choose, sink, check)
        except ChannelClosed:
            self.has_died = True
            raise self._died(how(ended(self._process))) from None

    def _ask(
        self, question: Question, before: tuple[Frame, ...], choose: Choose, sink: Sink, check: Check
    ) -> None:
        channel = self._channel
        form = question.likely_form()
        likely = _chosen(choose, form)
        name = format_name(likely.writer) if likely else b""
        asked = pickle.dumps((question.text, question.options(), form.value if likely else "", name))
        channel.send(*before, (QUESTION, asked), check=check)
        kind, payload = channel.receive(check)
        if kind == FORM:
            self._choose(QueryForm(payload.decode()), choose, sink, check)
        elif kind == LIKELY:
            assert likely is not None
            sink.start(form, likely)
        else:
            raise self._failure(kind, payload)
        while True:
            kind, payload = channel.receive(check)
            if kind != DATA:
                break
            check()
            sink.write(payload)
        if kind != END:
            raise self._failure(kind, payload)
        self.is_idle = True

    def _choose(self, form: QueryForm, choose: Choose, sink: Sink, check: Check) -> None:
        """The process waits for the format: it can be told to forget the answer, and is idle again."""
        try:
            format_ = choose(form)
            sink.start(form, format_)
            name = format_name(format_.writer)
        except BaseException:
            self._channel.send((FORGET, b""), check=check)
            self.is_idle = True
            raise
        self._channel.send((FORMAT, name), check=check)

    def _failure(self, kind: int, payload: bytes) -> Exception:
        if kind == ERROR:
            self.is_idle = True
            name, _, message = payload.decode().partition("\n")
            return _FAILURES[name](message)
        self.has_died = True
        if kind == MEMORY:
            return self._died("MemoryError")
        return EngineError(f"internal error: a query failed in the engine ({payload.decode()})")

    def _died(self, reason: str) -> RequestError:
        used = (
            f"used more than {self._memory_bytes} bytes of memory (limits.query_bytes) or "
            if self._memory_bytes
            else ""
        )
        return RequestError(
            f"the query {used}made the engine fail: its process ended ({reason})", code="query_failed"
        )

    def kill(self) -> None:
        """End it; a thread that waits for its answer is told."""
        self._process.kill()

    def reaped(self, wait_s: float) -> bool:
        """Whether nothing is left of it after it was killed; waits no longer than this."""
        return ended(self._process, wait_s) is not None

    def close(self) -> None:
        """Close the socket to it; the thread that uses it does that, or nobody does."""
        self._channel.close()
