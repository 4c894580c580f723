"""A reader process as it runs: it waits for a question, answers it, and waits for the next one.

In a copy of the broker this code runs beside locks that other threads held when the copy was made, and that nobody will
ever open.  So it logs nothing, imports nothing, starts no thread, and ends without cleaning up.
"""

from __future__ import annotations

import os
import pickle
import time
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from pyoxigraph import QueryBoolean, QueryResultsFormat, QuerySolutions, QueryTriples, RdfFormat

from triplewire.broker.model import QueryForm

from .backlog import write_change
from .wire import (
    CHANGES,
    DATA,
    END,
    ERROR,
    FORGET,
    FORM,
    FORMAT,
    LIKELY,
    MEMORY,
    PANIC,
    QUESTION,
    REOPEN,
    ChannelClosed,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyoxigraph

    from .memory import MemoryLimit
    from .wire import Channel, Frame

_Result: TypeAlias = QuerySolutions | QueryBoolean | QueryTriples

# What the broker knows how to tell; a subclass goes by the name of its base.
FAILURES: tuple[type[Exception], ...] = (SyntaxError, ValueError, RuntimeError, OSError)
# As the chunks that answers are sent on in (broker/answer.py): a small answer is one frame.
_FRAME_BYTES = 64 * 1024
# RocksDB's words where its writer has taken a file away, or is about to write one.
_SIGNS = ("No such file", "Corruption")
_PAUSE_S = 0.02


class Child:
    """Answers questions over a channel until that is closed."""

    def __init__(
        self,
        channel: Channel,
        open_store: Callable[[], pyoxigraph.Store],
        limit: MemoryLimit,
        attempts: int = 1,
    ) -> None:
        """`attempts` is how often files are opened anew that the writer has taken away meanwhile."""
        self._channel = channel
        self._attempts = attempts
        self._open = open_store
        self._limit = limit
        self._store: pyoxigraph.Store | None = None

    def serve(self) -> NoReturn:
        """Answer until the broker is gone; then the process ends."""
        try:
            while True:
                self._take(*self._channel.receive())
        except ChannelClosed:
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - a panic of Oxigraph is one; it is told
            self._end(error)

    def _take(self, kind: int, payload: bytes) -> None:
        if kind == QUESTION:
            self._answer(*pickle.loads(payload))  # noqa: S301 - the broker's own
        elif kind == CHANGES:
            store = self._opened()
            with self._limit.lifted():
                write_change(store, payload)
        elif kind == REOPEN:
            self._store = None
        else:
            assert kind == FORGET, f"a frame of kind {kind} came instead of a question"

    def _opened(self) -> pyoxigraph.Store:
        if self._store is None:
            with self._limit.lifted():
                self._store = self._open()
        return self._store

    def _answer(self, text: str, options: dict[str, Any], likely: str, name: bytes) -> None:
        writer = _Writer(self._channel, likely, name)
        for left in reversed(range(self._attempts)):
            try:
                result = self._opened().query(text, **options)
                format_ = writer.format_for(_form(result))
                if format_ is not None:
                    result.serialize(writer, format_)  # type: ignore[arg-type]  # write() and flush() are enough
                    writer.end((END, b""))
                return
            except MemoryError:
                raise  # it is no question's failure alone: this process may have lost more than the answer
            except FAILURES as error:
                if not (left and _are_gone(error) and writer.starts_anew()):
                    failure = next(known.__name__ for known in FAILURES if isinstance(error, known))
                    writer.end((ERROR, f"{failure}\n{error}".encode(errors="backslashreplace")))
                    return
            self._store = None
            time.sleep(_PAUSE_S)

    def _end(self, error: BaseException) -> NoReturn:
        # The iterators of the answer die here, on the thread that made them, if at all.
        if isinstance(error, MemoryError):
            frame: Frame = (MEMORY, b"")
        else:
            frame = (PANIC, f"{type(error).__name__}: {error!s:.300}".encode(errors="backslashreplace"))
        try:
            self._channel.send(frame)
        finally:
            os._exit(1)


class _Writer:
    """A binary file to Oxigraph, which gives 8 KiB at a time; large frames to the broker."""

    def __init__(self, channel: Channel, likely: str, name: bytes) -> None:
        self._channel = channel
        self._likely = likely
        self._name = name
        self._told = ""
        self._first: list[Frame] = []
        self._parts: list[bytes] = []
        self._size = 0
        self._has_sent = False

    def format_for(self, form: QueryForm) -> QueryResultsFormat | RdfFormat | None:
        """How to write an answer of this form; the broker is asked where it has not said; None where it wants none."""
        if form.value == self._told:
            return _format(self._name)
        if form.value == self._likely:
            self._first = [(LIKELY, b"")]
            return _format(self._name)
        self._channel.send((FORM, form.value.encode()))
        kind, self._name = self._channel.receive()
        if kind == FORGET:
            return None
        assert kind == FORMAT, f"a frame of kind {kind} came instead of a format"
        self._told = form.value
        return _format(self._name)

    def starts_anew(self) -> bool:
        """Forget what was written, if nothing of it has been sent; whether that is so."""
        self._first, self._parts, self._size = [], [], 0
        return not self._has_sent

    def write(self, data: bytes) -> int:
        self._parts.append(data)
        self._size += len(data)
        if self._size >= _FRAME_BYTES:
            self._send()
        return len(data)

    def flush(self) -> None:
        """Nothing: frames are sent when they are full."""

    def end(self, frame: Frame) -> None:
        """Send what is left and the last frame, in one go."""
        self._send(frame)

    def _send(self, *last: Frame) -> None:
        data: list[Frame] = [(DATA, b"".join(self._parts))] if self._parts else []
        frames = (*self._first, *data, *last)
        self._first, self._parts, self._size, self._has_sent = [], [], 0, True
        try:
            self._channel.send(*frames)
        except ChannelClosed:
            os._exit(0)  # Oxigraph would make an error of its own of it


def _are_gone(error: Exception) -> bool:
    """Whether the files that are open are not those that are there; RocksDB opens some of them late."""
    return isinstance(error, OSError | RuntimeError) and any(sign in str(error) for sign in _SIGNS)


def _form(result: _Result) -> QueryForm:
    if isinstance(result, QuerySolutions):
        return QueryForm.SELECT
    return QueryForm.ASK if isinstance(result, QueryBoolean) else QueryForm.CONSTRUCT


def format_name(writer: QueryResultsFormat | RdfFormat) -> bytes:
    """A writer's name for a FORMAT frame; Oxigraph's objects can't be pickled."""
    kind = "results" if isinstance(writer, QueryResultsFormat) else "graph"
    return f"{kind} {writer.media_type}".encode()


def _format(name: bytes) -> QueryResultsFormat | RdfFormat:
    kind, _, media_type = name.decode().partition(" ")
    found = (QueryResultsFormat if kind == "results" else RdfFormat).from_media_type(media_type)
    assert found is not None, f"{media_type} is not a format of Oxigraph's"
    return found
