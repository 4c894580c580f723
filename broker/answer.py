"""An answer on its way from a reader thread to a connection: bounded, in chunks, and stopped when nobody wants it.

The reader thread writes into the sink and waits where the connection is slow; the event loop takes chunks out.  A
small answer is one chunk and is known to be whole, so that it can be sent with its length.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import threading
import time
import traceback
import zlib
from typing import TYPE_CHECKING

from .errors import BrokerError, DeadlineExceeded, EngineError, RequestTooLarge, without_frames

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from .model import QueryForm
    from .wire.media import AnswerFormat

log = logging.getLogger("triplewire.broker.answer")

CHUNK_BYTES = 64 * 1024
CHUNKS = 8  # written and not yet taken
_GZIP_LEVEL = 2  # on the reader thread, while the client waits
_GZIP_FORMAT = 31  # zlib: a window of 32 KiB, with a gzip header


class AnswerAbandoned(Exception):
    """Nobody wants the rest of the answer."""


class Answer:
    """One answer; made on the event loop, filled on a reader thread."""

    def __init__(
        self, limit_s: float, *, wait_s: float = math.inf, limit_bytes: int = 0, compress: bool = False
    ) -> None:
        """`limit_s` is for reading, `wait_s` for waiting until that begins; `limit_bytes` 0 is no limit."""
        self._loop = asyncio.get_running_loop()
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._started: asyncio.Future[None] = self._loop.create_future()
        self._error: BrokerError | None = None
        self._whole = False
        self._when_done: Callable[[], None] = lambda: None
        self.form: QueryForm | None = None
        self.format: AnswerFormat | None = None
        self.sink = AnswerSink(self, limit_s, wait_s, limit_bytes, compress=compress)

    @property
    def compressed(self) -> bool:
        """Whether the chunks are gzip; decided with the first, and never where the answer is `whole`."""
        return self.sink.compressor is not None

    async def started(self) -> None:
        """Wait until the form and format are known and the first bytes are there.

        Raises:
            BrokerError: the query failed before its first bytes.
        """
        try:
            await self._started
        except asyncio.CancelledError:
            self.close()
            raise

    async def finished(self) -> None:
        """Wait until the reader thread is done.

        Raises:
            BrokerError: it failed.
        """
        await self.started()
        while await self._chunks.get() is not None:
            self.sink.taken()
        if self._error is not None:
            raise self._error

    @property
    def whole(self) -> bytes | None:
        """All bytes, where the answer is small and finished; None where it must be taken chunk by chunk."""
        if not self._whole or self._error is not None:
            return None
        parts = [chunk for chunk in (self._chunks.get_nowait() for _ in range(self._chunks.qsize())) if chunk]
        return b"".join(parts)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes.

        Raises:
            BrokerError: the query failed half-way.
        """
        while (chunk := await self._chunks.get()) is not None:
            self.sink.taken()
            yield chunk
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Nobody wants the rest: the reader stops at once, or at its next write where it is a thread alone."""
        self.sink.abandon()

    def when_done(self, callback: Callable[[], None]) -> None:
        """Called on the event loop when the reader thread is free again."""
        self._when_done = callback

    def run(self, work: Callable[[], None]) -> None:
        """On the reader thread: do the work, and tell the event loop how it ended."""
        error: BrokerError | None = None
        try:
            self.sink.begin()
            work()
        except AnswerAbandoned:
            error = DeadlineExceeded("the answer was abandoned")
        except BrokerError as failure:
            error = without_frames(failure)
        except BaseException as failure:  # a panic inside Oxigraph is one; the thread goes on
            log.exception("! an answer failed")
            error = EngineError(f"internal error: {type(failure).__name__}")
            traceback.clear_frames(failure.__traceback__)
        call_on(self._loop, self._end, error, self.sink.rest(last=True))

    def push(self, chunk: bytes) -> None:
        """On the reader thread."""
        call_on(self._loop, self._take, chunk)

    def _take(self, chunk: bytes) -> None:
        self._chunks.put_nowait(chunk)
        if not self._started.done():
            self._started.set_result(None)

    def _end(self, error: BrokerError | None, rest: bytes) -> None:
        self._error = error
        if rest and error is None:
            self._chunks.put_nowait(rest)
        self._chunks.put_nowait(None)
        self._when_done()
        if self._started.done():
            return
        if error is not None:
            self._started.set_exception(error)
            self._started.exception()  # the sender may be gone
        else:
            self._whole = True
            self._started.set_result(None)


class AnswerSink:
    """The file that Oxigraph's serializer writes to; on the reader thread, but for `taken` and `abandon`."""

    def __init__(
        self, answer: Answer, limit_s: float, wait_s: float, limit_bytes: int, *, compress: bool
    ) -> None:
        self._answer = answer
        self._compress = compress
        self.compressor: zlib._Compress | None = None
        self._limit_s = limit_s
        self._wait_s = wait_s
        self._latest = time.monotonic() + wait_s
        self._limit_bytes = limit_bytes
        self._written = 0
        self._deadline = math.inf
        self._room = threading.Semaphore(CHUNKS)
        self._abandoned = False
        self._parts: list[bytes] = []
        self._size = 0

    def begin(self) -> None:
        """The reader thread has come to this answer: its time begins."""
        now = time.monotonic()
        if now > self._latest:
            raise DeadlineExceeded(f"the query waited more than {self._wait_s} s (scheduler.timeout_s)")
        self._deadline = now + self._limit_s
        self.check()

    def start(self, form: QueryForm, format_: AnswerFormat) -> None:
        """See `Sink`."""
        self._answer.form = form
        self._answer.format = format_

    def write(self, data: bytes) -> int:
        """See `Sink`; raises AnswerAbandoned, DeadlineExceeded or RequestTooLarge."""
        self.check()
        self._parts.append(bytes(data))
        self._size += len(data)
        self._written += len(data)
        if self._limit_bytes and self._written > self._limit_bytes:
            raise RequestTooLarge(f"the answer has more than {self._limit_bytes} bytes (limits.answer_bytes)")
        if self._size >= CHUNK_BYTES:
            self._send()
        return len(data)

    def flush(self) -> None:
        """A file has one, and the serializer calls it; chunks are handed over when they are full."""

    def rest(self, *, last: bool = False) -> bytes:
        """What has been written and not yet handed over."""
        chunk = b"".join(self._parts)
        self._parts, self._size = [], 0
        if self.compressor is None:
            return chunk
        return self.compressor.compress(chunk) + (self.compressor.flush() if last else b"")

    def _send(self) -> None:
        while not self._room.acquire(timeout=0.5):
            self.check()
        self.check()
        if self._compress and self.compressor is None:
            self.compressor = zlib.compressobj(_GZIP_LEVEL, wbits=_GZIP_FORMAT)
        self._answer.push(self.rest())

    def check(self) -> None:
        """See `Sink`; raises AnswerAbandoned or DeadlineExceeded."""
        if self._abandoned:
            raise AnswerAbandoned
        if time.monotonic() > self._deadline:
            raise DeadlineExceeded(f"the query ran longer than {self._limit_s} s (limits.query_s)")

    def taken(self) -> None:
        """On the event loop: one chunk has been taken."""
        self._room.release()

    def abandon(self) -> None:
        """On the event loop: nobody wants the rest."""
        self._abandoned = True
        self._room.release()


def call_on(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *arguments: object) -> None:
    """Call a function on the event loop, from another thread; nothing where the loop has ended."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(function, *arguments)
