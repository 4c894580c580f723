"""A subscriber's bounded queue: what the core says leaves in its order, and a slow reader harms nobody but itself.

Messages are taken without waiting and sent by one task.  Over a bound, or when one send takes too long, the outbox is
*slow*: it takes nothing more, and its connection is closed.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from typing import TYPE_CHECKING

from triplewire.broker.model import Notification
from triplewire.broker.wire.results import encode_delta
from triplewire.broker.wire.subscribe import encode_broker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from triplewire.broker.config import LimitsConfig
    from triplewire.broker.model import BindingsDelta, Message

log = logging.getLogger("triplewire.gates.outbox")

# Encoding costs about 3 us a row: more than this is done on a thread, so that the event loop goes on.
ROWS_ENCODED_HERE = 1000
# A rough size of a row that is not yet encoded, for the bound in bytes.
ROW_BYTES = 200
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class SlowSubscriber(Exception):
    """The subscriber does not read what it subscribed to; its connection is closed."""


class Outbox:
    """Bounded by limits.outbox_messages and limits.outbox_bytes; one send may take limits.send_s."""

    def __init__(self, limits: LimitsConfig) -> None:
        self._limits = limits
        self._queue: deque[tuple[Message, int]] = deque()
        self._bytes = 0
        self._arrived = asyncio.Event()
        self._slow = False
        self._closed = False

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, message: Message) -> None:
        """Take a message; over the bound it is dropped, and `run` ends with SlowSubscriber."""
        if self._closed or self._slow:
            return
        size = _size(message)
        full = len(self._queue) >= self._limits.outbox_messages
        # A single message larger than the bound must be able to pass through an empty queue.
        if full or (self._queue and self._bytes + size > self._limits.outbox_bytes):
            self._slow = True
            self._queue.clear()
        else:
            self._queue.append((message, size))
            self._bytes += size
        self._arrived.set()

    def finish(self) -> None:
        """Nothing more comes: `run` returns when what is queued has been sent."""
        self._closed = True
        self._arrived.set()

    async def run(self, send: Callable[[Message, str], Awaitable[None]]) -> None:
        """Send what arrives, each message as its text, until `finish`.

        Raises:
            SlowSubscriber: the reader does not keep up.
        """
        while True:
            while self._queue:
                message, size = self._queue.popleft()
                text = await _encode(message)
                try:
                    async with asyncio.timeout(self._limits.send_s):
                        await send(message, text)
                except TimeoutError as error:
                    raise SlowSubscriber(f"a message took more than {self._limits.send_s} s") from error
                self._bytes -= size
            if self._slow:
                raise SlowSubscriber(
                    f"more than {self._limits.outbox_messages} messages or "
                    f"{self._limits.outbox_bytes} bytes were not read"
                )
            if self._closed:
                return
            self._arrived.clear()
            if not self._queue and not self._slow:
                await self._arrived.wait()


def _rows(message: Message) -> int:
    return len(message.delta.added) + len(message.delta.removed) if isinstance(message, Notification) else 0


def _size(message: Message) -> int:
    if isinstance(message, Notification) and message.delta.encoded:
        return len(message.delta.encoded[0])
    return ROW_BYTES * (1 + _rows(message))


async def _encode(message: Message) -> str:
    if isinstance(message, Notification) and _rows(message) > ROWS_ENCODED_HERE and not message.delta.encoded:
        await _encoded_elsewhere(message.delta)
    return encode_broker(message)


_encoding: dict[int, asyncio.Task[str]] = {}


async def _encoded_elsewhere(delta: BindingsDelta) -> None:
    """Encode on a thread; once, however many subscribers wait for it."""
    task = _encoding.get(id(delta))
    if task is None:
        task = asyncio.create_task(asyncio.to_thread(encode_delta, delta))
        _encoding[id(delta)] = task
        task.add_done_callback(lambda _: _encoding.pop(id(delta)))
    await asyncio.shield(task)


def utf8(text: str) -> bytes:
    """The bytes of a JSON text; half a surrogate pair (a client's alias may be one) stays the escape it came as."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()
