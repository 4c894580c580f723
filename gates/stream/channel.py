"""What the main process and its workers tell each other, over a pair of sockets that nobody else has.

::

    main -> worker                              worker -> main
      Begin     who you are                       Ready     I listen
      Opened    a stream, with what it keeps      Ask       publish, authorize, quotas: answered by Answer
      Came      items, when they were taken       Took      writing a batch took so long
      Left      they leave now, as one batch      Stats     I am alive; every second
      Closed    a stream has ended                Received  a client has sent so many bytes
      Absent    which nobody should follow here   Gave      what was taken by an Ask is not open any more
      Changed   tokens are to be judged again
      Answer    to an Ask
      Refuse    take nobody in any more: 503
      Stop      end your responses, and then yourself

A message is a pickle behind its length, as both ends are the same program and of one user.  An item goes to each worker
once, and is pickled once for all of them.
"""

from __future__ import annotations

import asyncio
import pickle
import struct
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from triplewire.broker.errors import BrokerError, EngineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.broker.config import LimitsConfig, StreamConfig, StreamGateConfig
    from triplewire.broker.wire.items import Item
    from triplewire.gates.quotas import Opened as Countable

    from .entry import Entry

_LENGTH = struct.Struct("!I")


@dataclass(frozen=True, slots=True)
class Begin:
    """The first message: settings, the addresses to listen on, whether anybody may do anything, and the trackers' URLs."""

    config: StreamGateConfig
    limits: LimitsConfig
    addresses: tuple[tuple[int, tuple[Any, ...]], ...]  # family and address
    open: bool
    trackers: tuple[str, ...] = ()


class Opened(NamedTuple):
    """A stream: what it keeps, and the number of the last item that has left."""

    name: str
    config: StreamConfig
    source_id: str
    entries: tuple[Entry, ...]
    sent: int
    last: int
    sign_of_life_s: float


class Came(NamedTuple):
    """Items that were taken, in order; some may have been part of `Opened`."""

    name: str
    entries: tuple[Entry, ...]


class Left(NamedTuple):
    """Everything up to the number `last` that has not left leaves as one batch."""

    name: str
    last: int


class Closed(NamedTuple):
    """The stream has ended."""

    name: str


class Absent(NamedTuple):
    """See `Feed.absent`: these are, and no others."""

    names: frozenset[str]


class Changed(NamedTuple):
    """Something was revoked, or permissions are others."""


class Refuse(NamedTuple):
    """Take nobody in any more; what waits still leaves."""


class Stop(NamedTuple):
    """End all responses, and go."""


class Ready(NamedTuple):
    """The port is open."""


class Took(NamedTuple):
    """See `Feed.took`."""

    name: str
    seconds: float


class Stats(NamedTuple):
    """Who is there, and what was done since the start."""

    consumers: int
    shed: int
    skipped: int
    lanes: int = 0
    following: tuple[tuple[str, int], ...] = ()  # how many follow each stream that somebody follows


class Received(NamedTuple):
    """See `Quotas.received`."""

    client: str
    address: str | None
    size: int


class Gave(NamedTuple):
    """See `Quotas.give`: one that was taken by a `Take`."""

    what: Countable
    client: str
    address: str | None


class Publish(NamedTuple):
    """See `Feed.publish`; answered by its receipt."""

    name: str
    items: tuple[Item, ...]
    publisher: str


class Authorize(NamedTuple):
    """See `Authority.access`; answered by that."""

    token: str | None


class Requested(NamedTuple):
    """See `Quotas.request`; answered by None."""

    client: str
    address: str | None


class Take(NamedTuple):
    """See `Quotas.take`; answered by None."""

    what: Countable
    client: str
    address: str | None


class Ask(NamedTuple):
    """A question with its number."""

    number: int
    what: Question


Question: TypeAlias = Publish | Authorize | Requested | Take


class Answer(NamedTuple):
    """What was asked for, or why not."""

    number: int
    result: Any
    error: Wrong | None = None


class Wrong(NamedTuple):
    """A BrokerError on its way; pickle would make it of its sentence alone."""

    kind: type[BrokerError]
    description: str
    fields: dict[str, Any]

    @classmethod
    def of(cls, error: BrokerError) -> Wrong:
        """The error without its traceback."""
        return cls(type(error), error.description, dict(vars(error)))

    def error(self) -> BrokerError:
        """The same error, to be raised here."""
        error = self.kind.__new__(self.kind, self.description)
        error.args = (self.description,)
        vars(error).update(self.fields)
        return error


def packed(message: object) -> bytes:
    """The message as it is sent."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data


class Channel(asyncio.Protocol):
    """One end: `on_message` is called with each message, `on_lost` when the other end has gone."""

    def __init__(self, on_message: Callable[[Any], None], on_lost: Callable[[], None]) -> None:
        self._on_message = on_message
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._unread: deque[bytes] = deque()
        self._size = 0
        self._wanted = 0  # of the message whose length is known
        self.unread_since: float | None = None  # by the loop's clock: when the other end stopped reading

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is there."""
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - however it ended
        """The other end has gone, or this one was closed."""
        self._transport = None
        self._on_lost()

    def pause_writing(self) -> None:
        """The other end is behind."""
        self.unread_since = asyncio.get_running_loop().time()

    def resume_writing(self) -> None:
        """It reads again."""
        self.unread_since = None

    def data_received(self, data: bytes) -> None:
        """Some bytes: whole messages are handed on."""
        self._unread.append(data)
        self._size += len(data)
        while self._size >= (self._wanted or _LENGTH.size):
            if not self._wanted:
                (self._wanted,) = _LENGTH.unpack(self._take(_LENGTH.size))
            else:
                message = self._take(self._wanted)
                self._wanted = 0
                self._on_message(pickle.loads(message))  # noqa: S301 - our own process wrote it

    def send(self, message: object) -> None:
        """Send it when the other end reads."""
        self.write(packed(message))

    def write(self, data: bytes) -> None:
        """The same of a message that is packed."""
        if self._transport is not None:
            self._transport.write(data)

    @property
    def unread_bytes(self) -> int:
        """What the other end has not taken."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def close(self) -> None:
        """Hang up when all is sent."""
        if self._transport is not None:
            self._transport.close()

    def _take(self, size: int) -> bytes:
        parts: list[bytes] = []
        missing = size
        while missing:
            part = self._unread.popleft()
            if len(part) > missing:
                self._unread.appendleft(part[missing:])
                part = part[:missing]
            parts.append(part)
            missing -= len(part)
        self._size -= size
        return parts[0] if len(parts) == 1 else b"".join(parts)


class Asking:
    """Questions of a worker that wait for their answers."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._number = 0

    async def ask(self, what: Question) -> Any:
        """The answer.

        Raises:
            BrokerError: the other end says why not, or it has gone.
        """
        self._number += 1
        number = self._number
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._channel.send(Ask(number, what))
        try:
            return await future
        finally:
            self._waiting.pop(number, None)

    def answered(self, answer: Answer) -> None:
        """An answer has come."""
        future = self._waiting.pop(answer.number, None)
        if future is None or future.done():
            return
        if answer.error is None:
            future.set_result(answer.result)
        else:
            future.set_exception(answer.error.error())

    def lost(self) -> None:
        """There will be no answers."""
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(EngineError("the broker's main process has gone"))
        self._waiting.clear()
