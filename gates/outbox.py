"""A subscriber's bounded queue: what the core says leaves in its order, and a slow reader harms nobody but itself.

Messages are taken without waiting and sent by one task, as many at once as there are.  Over a first bound the changes
that wait are put together, one notification a subscription; over a second one, or when one send takes too long, the
outbox is *slow*: it takes nothing more, and its connection is closed.

Notifications get their numbers as they leave, so that on the wire those of a subscription rise by one.

When the connection is lost, the outbox may stay for a while in which its client can come back: what happens to a
resumable subscription is then put together with what left last, and handed over to the outbox of the new connection.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from typing import TYPE_CHECKING, TypeAlias

from triplewire.broker import meters
from triplewire.broker.model import Notification
from triplewire.broker.wire.subscribe import broker_bytes

from .encoding import ROWS_ENCODED_HERE, encoded, is_large
from .line import ROW_BYTES, Line, Pending, rows_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from triplewire.broker.config import LimitsConfig
    from triplewire.broker.model import BindingsDelta, Failure, Message
    from triplewire.broker.wire.subscribe import Renewed

# What is sent at once: enough to make a write worth its cost, little enough to be given up soon.
BATCH_BYTES = 64 * 1024

# Messages with their texts in UTF-8.
Batch: TypeAlias = "list[tuple[Message | Renewed, bytes]]"


class SlowSubscriber(Exception):
    """The subscriber does not read what it subscribed to; its connection is closed."""


class TakenOver(Exception):
    """The client has another connection by now; this one is closed."""


class Outbox:
    """Bounded by limits.outbox_messages, outbox_bytes and outbox_composed_bytes; one send may take limits.send_s."""

    def __init__(self, limits: LimitsConfig) -> None:
        self._limits = limits
        self._queue: deque[tuple[Message | Renewed | Pending, Line | None, int]] = deque()
        self._bytes = 0  # of what waits and what is being sent
        self._lines: dict[str, Line] = {}  # of those that were composed or can be resumed; others need none
        self._logged: deque[Line] = deque()  # for each change in their logs, the oldest first
        self._logged_rows = 0
        # From this moment on nothing leaves before `expire` was called, which moves it on; both by the clock `now`.
        self.now: Callable[[], float] = time.time
        self.until = math.inf
        self.expire: Callable[[], None] = lambda: None
        self._arrived = asyncio.Event()
        self._sending: asyncio.Timeout | None = None
        self._composing = False
        self._slow = False
        self._lost = False
        self._closed = False

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, message: Message) -> None:
        """Take a message; over the last bound it is dropped, and `run` ends with SlowSubscriber."""
        if self._lost:
            self._miss(message)
        elif not self._closed and not self._slow:
            if isinstance(message, Notification):
                self._notify(message)
            else:
                self._end(message.spuid)
                self._append(message, None, ROW_BYTES)
            self._arrived.set()

    def begin(self, first: Notification) -> None:
        """Take the answer to the subscribe of a resumable subscription: first results, or all since it was lost."""
        if self._lost or self._closed or self._slow:
            return
        line = self._lines[first.spuid] = Line(first, resumable=True)
        self._append(first, line, _size(first))
        self._arrived.set()

    def tell(self, message: Failure | Renewed) -> None:
        """Take a message that ends no subscription."""
        if not self._lost and not self._closed and not self._slow:
            self._append(message, None, ROW_BYTES)
            self._arrived.set()

    def finish(self) -> None:
        """Nothing more comes: `run` returns when what is queued has been sent."""
        self._closed = True
        self._arrived.set()

    async def run(self, send: Callable[[Batch], Awaitable[None] | None]) -> None:
        """Send what arrives until `finish`; where `send` returns something, that is waited for before the next.

        Raises:
            SlowSubscriber: the reader does not keep up.
            TakenOver: the client is served elsewhere.
        """
        while True:
            while self._queue:
                await self._send(send)
            self._composing = False
            if self._lost:
                raise TakenOver
            if self._slow:
                meters.CLOSED.inc()
                raise SlowSubscriber(
                    f"more than {self._limits.outbox_composed_bytes} bytes were not read "
                    "(limits.outbox_composed_bytes)"
                )
            if self._closed:
                return
            self._arrived.clear()
            await self._arrived.wait()

    # The connection is lost.

    @property
    def resumable(self) -> frozenset[str]:
        """The subscriptions, by spuid, that a client could come back for."""
        # Of one whose first results have not left, the client knows nothing.
        return frozenset(line.spuid for line in self._lines.values() if line.resumable and line.sequence >= 0)

    def lose(self) -> frozenset[str]:
        """The connection is gone: keep what a client that is back must be told, and nothing else.

        Returns what it can come back for.  `run` ends.
        """
        if not self._lost and not self._slow:
            self._lost = True
            waiting, self._queue = self._queue, deque()
            self._bytes = 0
            kept = self.resumable
            self._lines = {spuid: self._lines[spuid] for spuid in kept}
            for item, line, _ in waiting:
                if line is not None and line.spuid in kept and isinstance(item, Notification | Pending):
                    self._missed(line, item.delta if isinstance(item, Notification) else item.delta())
        self._arrived.set()
        if self._sending is not None and not self._sending.expired():
            self._sending.reschedule(asyncio.get_running_loop().time())
        return self.resumable

    def reaches(self, spuid: str, sequence: int) -> bool:
        """Whether all is known that came after this notification of a subscription."""
        line = self._lines.get(spuid)
        return line is not None and line.resumable and line.reaches(sequence)

    def hand_over(self, spuid: str, sequence: int) -> BindingsDelta | None:
        """What came after it as one change, and no more of this subscription here; None where it is not known."""
        change = self._lines[spuid].after(sequence) if self.reaches(spuid, sequence) else None
        self._end(spuid)
        return change

    def _miss(self, message: Message) -> None:
        if not isinstance(message, Notification):
            self._end(message.spuid)
        elif (line := self._lines.get(message.spuid)) is not None:
            self._missed(line, message.delta)

    def _missed(self, line: Line, delta: BindingsDelta) -> None:
        if delta.vars != line.vars:  # an endpoint of other people's may do that
            self._end(line.spuid)
            return
        self._bytes += ROW_BYTES * line.miss(delta)
        if self._bytes > self._limits.outbox_composed_bytes:
            self._give_up()

    # What waits.

    def _notify(self, told: Notification) -> None:
        limits = self._limits
        size = _size(told)
        full = len(self._queue) >= limits.outbox_messages
        if not self._composing and (full or (self._queue and self._bytes + size > limits.outbox_bytes)):
            self._composing = True
            meters.COMPOSED.inc()
        # First results are the answer to a question: they stay what they are.
        if self._composing and told.sequence:
            self._compose(told)
        else:
            self._append(told, self._lines.get(told.spuid) if self._lines else None, size)

    def _append(self, item: Message | Renewed | Pending, line: Line | None, size: int) -> None:
        # A single message larger than the bound must be able to pass through an empty queue.
        if self._queue and self._bytes + size > self._limits.outbox_composed_bytes:
            self._give_up()
        else:
            self._queue.append((item, line, size))
            self._bytes += size

    def _compose(self, told: Notification) -> None:
        line = self._lines.get(told.spuid)
        if line is None:
            line = self._lines[told.spuid] = Line(told, resumable=False)
        pending = line.pending
        if pending is None or pending.vars != told.delta.vars:
            line.pending = pending = Pending(told)
            self._append(pending, line, pending.size)
            return
        before = pending.size
        pending.add(told.delta)
        self._bytes += pending.size - before
        if self._bytes > self._limits.outbox_composed_bytes:
            self._give_up()

    def _end(self, spuid: str | None) -> None:
        """A subscription has ended, or is another outbox's."""
        line = self._lines.pop(spuid, None) if spuid is not None else None
        if line is not None:
            line.resumable = False
            self._logged_rows -= sum(map(rows_of, line.log))
            line.log.clear()

    def _give_up(self) -> None:
        self._slow = True
        self._queue.clear()
        self._lines.clear()
        self._logged.clear()

    # What leaves.

    async def _send(self, send: Callable[[Batch], Awaitable[None] | None]) -> None:
        batch, size = await self._batch()
        sending = send(batch) if batch else None
        if sending is not None:
            try:
                async with asyncio.timeout(self._limits.send_s) as self._sending:
                    await sending
            except TimeoutError as error:
                if self._lost:
                    raise TakenOver from error
                meters.CLOSED.inc()
                raise SlowSubscriber(f"a message took more than {self._limits.send_s} s") from error
            finally:
                self._sending = None
        if not self._lost:
            self._bytes -= size
        if self._queue:
            await asyncio.sleep(0)  # others have something to send, too

    async def _batch(self) -> tuple[Batch, int]:
        """What is sent next, and how much of the bound it takes."""
        batch: Batch = []
        length = taken = 0
        while self._queue and length < BATCH_BYTES:
            if self.until <= self.now():
                self.expire()
                continue
            large = self._large()
            if large is not None:
                if batch:
                    break  # nothing that has been taken waits: its token could run out
                await encoded(large)
                continue
            message, size = self._leaving()
            taken += size
            if message is None:
                continue
            data = broker_bytes(message)
            batch.append((message, data))
            length += len(data)
        return batch, taken

    def _large(self) -> BindingsDelta | None:
        """The next to leave, where it must be encoded first."""
        item, line, _ = self._queue[0]
        if isinstance(item, Pending):
            if item.size <= ROW_BYTES * ROWS_ENCODED_HERE:
                return None
            if line is not None and line.pending is item:
                line.pending = None
            delta = item.seal()
        elif isinstance(item, Notification):
            delta = item.delta
        else:
            return None
        return delta if is_large(delta) else None

    def _leaving(self) -> tuple[Message | Renewed | None, int]:
        item, line, size = self._queue.popleft()
        if isinstance(item, Pending):
            assert line is not None
            if line.pending is item:
                line.pending = None
            size, change = item.size, item.delta()
            if not change and line.begun:  # what came has gone again
                return None, size
            item = Notification(line.spuid, item.alias, line.sequence + 1, change)
        if line is not None and isinstance(item, Notification):
            item = line.numbered(item)
            if line.resumable and item.sequence:
                self._log(line, item.delta)
        return item, size

    def _log(self, line: Line, delta: BindingsDelta) -> None:
        line.log.append(delta)
        self._logged.append(line)
        self._logged_rows += rows_of(delta)
        while (
            len(self._logged) > self._limits.resume_messages or self._logged_rows > self._limits.resume_rows
        ):
            oldest = self._logged.popleft()
            if oldest.log:  # it may have ended
                self._logged_rows -= rows_of(oldest.log.popleft())


def _size(told: Notification) -> int:
    encoded = told.delta.encoded
    return len(encoded[0]) if encoded else ROW_BYTES * (1 + rows_of(told.delta))
