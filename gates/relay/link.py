"""One link: a WebSocket to another node, what waits to be written to it, and how long a round trip takes.

Messages do not pass through the library's queues and tasks: what comes is handed on in the step in which it is read, and
what waits for one link leaves as one write to its socket.  So a parcel is passed on without a task being woken.

What waits is written in its order, within `link_bytes`.  Of more, the oldest parcels are let go and counted, as the peer asks
for what it misses; all else is never let go, and a peer that does not even read that is cut.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.connection import Connection
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.frames import DATA_OPCODES, Frame, Opcode
from websockets.protocol import State

from triplewire.broker.errors import ProtocolError

from .messages import LINK_LIMITS, frames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from triplewire.broker.overlay_config import RelayConfig

    from .counted import Counted
    from .impairment import Impairment

log = logging.getLogger("triplewire.gates.relay")

CLOSE_WRONG: Final = 1002  # not of the protocol (RFC 6455, 7.4.1)
CLOSE_ERROR: Final = 1011
GOODBYE_S: Final = 5.0  # for what waits when a link is ended
_EARLY_BYTES: Final = 4 * LINK_LIMITS.joined_bytes  # that come before the link is there, the handshake too
_UNREAD_BYTES: Final = 2 * LINK_LIMITS.frame_bytes
_ROUND_TRIPS: Final = 5  # the shortest of the last so many is told: a queue on the way is not distance


class Direct(Connection):
    """A connection whose messages are given to its link at once."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.link: Link | None = None
        self.early: list[bytes] = []
        self._early_bytes = 0
        self.heard = self.loop.time()

    def data_received(self, data: bytes) -> None:
        """Some bytes of the peer, which lives."""
        self.heard = self.loop.time()
        if self.link is None:
            self._early_bytes += len(data)
            if self._early_bytes > _EARLY_BYTES:
                self.transport.abort()
                return
        super().data_received(data)
        # Answers to pings pass by the link's queue
        if self.transport.get_write_buffer_size() > _UNREAD_BYTES:
            self.transport.abort()

    def process_event(self, event: Any) -> None:
        """One frame; a node sends whole messages only."""
        if not isinstance(event, Frame) or event.opcode not in DATA_OPCODES:
            super().process_event(event)
        elif event.opcode is not Opcode.BINARY or not event.fin:
            self.fail(CLOSE_WRONG, "messages are single binary frames")
        elif self.link is not None:
            self.link.received(bytes(event.data))
        elif self.protocol.state is State.CONNECTING:
            self.transport.abort()  # nobody has let it in yet
        else:
            self.early.append(bytes(event.data))

    def resume_writing(self) -> None:
        """The peer reads again."""
        super().resume_writing()
        if self.link is not None:
            self.link.flush()

    def fail(self, code: int, reason: str) -> None:
        """Close without waiting for the peer's word."""
        if self.protocol.state is State.OPEN:
            self.protocol.fail(code, reason)
            self.send_data()


class Dialled(Direct, ClientConnection):
    """The end of a link that dialled."""


class LetIn(Direct, ServerConnection):
    """The end of a link that was dialled, or anybody who comes to the port.

    `strangers` are those who have not been let in yet, the oldest first; of more than `most` the oldest is cut.
    """

    strangers: dict[LetIn, None]
    most: int

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody is there."""
        super().connection_made(transport)
        self.strangers[self] = None
        if len(self.strangers) > self.most:
            oldest = next(iter(self.strangers))
            del self.strangers[oldest]
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """And is gone."""
        self.strangers.pop(self, None)
        super().connection_lost(exc)


class Link:
    """A link to `peer`; `dialled` from here.  `receive` is called with each message, and may raise ProtocolError."""

    def __init__(  # noqa: PLR0913, PLR0917 - all that it depends on
        self,
        peer: str,
        connection: Dialled | LetIn,
        config: RelayConfig,
        counted: Counted,
        receive: Callable[[Link, bytes], None],
        impairment: Impairment | None = None,
    ) -> None:
        self.peer = peer
        self.dialled = isinstance(connection, Dialled)
        self._connection = connection
        self._config = config
        self._counted = counted
        self._receive = receive
        self._impairment = impairment
        self._waiting: deque[tuple[bytes, bool]] = deque()  # whether it is a parcel
        self.waiting_bytes = 0
        self._flushing = False
        self._drained = asyncio.Event()  # nothing waits, and that is of interest
        self._held: deque[tuple[bytes, bool]] = deque()
        self._held_until = 0.0
        self._round_trips: deque[float] = deque(maxlen=_ROUND_TRIPS)
        self._is_cut = False
        self._closing: asyncio.Task[None] | None = None

    @property
    def rtt_ms(self) -> float:
        """A round trip, 0 where none was measured yet."""
        if not self._round_trips:
            return 0.0
        held = 2 * self._impairment.hold_s(self.peer) if self._impairment is not None else 0.0
        return 1000 * (min(self._round_trips) + held)

    def send(self, message: bytes) -> None:
        """Send what must arrive."""
        self._counted.control_out += 1
        self._counted.control_out_bytes += len(message)
        self._hold_or_put(message, parcel=False)

    def send_parcel(self, message: bytes) -> None:
        """Send a parcel, which may be let go where the peer reads too slowly."""
        if self._impairment is not None and self._impairment.loses(self.peer):
            return
        self._counted.data_out += 1
        self._counted.data_out_bytes += len(message)
        self._hold_or_put(message, parcel=True)

    def _hold_or_put(self, message: bytes, *, parcel: bool) -> None:
        hold_s = self._impairment.hold_s(self.peer) if self._impairment is not None else 0.0
        if hold_s <= 0 and not self._held:
            self._put(message, parcel=parcel)
            return
        loop = self._connection.loop
        self._held_until = max(self._held_until, loop.time() + hold_s)
        self._held.append((message, parcel))
        loop.call_at(self._held_until, self._let_go)

    def _let_go(self) -> None:
        message, parcel = self._held.popleft()
        self._put(message, parcel=parcel)

    def _put(self, message: bytes, *, parcel: bool) -> None:
        if self._is_cut:
            return
        self._waiting.append((message, parcel))
        self.waiting_bytes += len(message)
        if self.waiting_bytes > self._config.link_bytes and len(self._waiting) > 1:
            self._make_room()
        if not self._flushing and not self._connection.paused:
            self._flushing = True
            self._connection.loop.call_soon(self._flush_soon)

    def _make_room(self) -> None:
        """Let go of the oldest parcels; of some at once, as this looks at all that waits."""
        most = self._config.link_bytes * 3 // 4
        kept: deque[tuple[bytes, bool]] = deque()
        newest = self._waiting.pop()
        for message, parcel in self._waiting:
            if parcel and self.waiting_bytes > most:
                self.waiting_bytes -= len(message)
                self._counted.dropped += 1
            else:
                kept.append((message, parcel))
        kept.append(newest)
        self._waiting = kept
        if self.waiting_bytes > self._config.link_bytes and not newest[1]:
            log.warning("! %s does not read; the link is cut", self.peer)
            self.cut()

    def _flush_soon(self) -> None:
        self._flushing = False
        self.flush()

    def flush(self) -> None:
        """Write what waits, as far as the socket takes it."""
        connection = self._connection
        protocol = connection.protocol
        while self._waiting and not connection.paused:
            if protocol.state is not State.OPEN:
                return
            for frame in frames(self._next()):
                protocol.send_binary(frame)
            connection.transport.write(b"".join(protocol.data_to_send()))
        if self._is_drained:
            self._drained.set()

    @property
    def _is_drained(self) -> bool:
        return not self._waiting and not self._held

    def _next(self) -> Iterator[bytes]:
        """As much of what waits as is put together."""
        size = 0
        while self._waiting and size < LINK_LIMITS.joined_bytes:
            message, _ = self._waiting.popleft()
            self.waiting_bytes -= len(message)
            size += len(message)
            yield message

    def received(self, message: bytes) -> None:
        """One message of the peer; what can't be read, or fails, ends the link and nothing else."""
        self.handle(partial(self._receive, self, message))

    def handle(self, what: Callable[[], None]) -> None:
        """Do what the peer has asked for; where that is not of the protocol, or fails, the link ends and nothing else."""
        try:
            what()
        except ProtocolError as error:
            log.warning("! %s sends what is not of the protocol: %s", self.peer, error)
            self._counted.misfit += 1
            self._connection.fail(CLOSE_WRONG, str(error)[:100])
        except Exception:
            log.exception("! %s", self.peer)
            self._connection.fail(CLOSE_ERROR, "")

    async def run(self) -> None:
        """Hand on what comes, and measure round trips, until the link has ended."""
        connection = self._connection
        connection.link = self
        connection.heard = connection.loop.time()  # to be let in may have taken long
        early, connection.early = connection.early, []
        for message in early:
            self.received(message)
        pinging = asyncio.create_task(self._ping())
        try:
            await connection.wait_closed()
        finally:
            pinging.cancel()
            await asyncio.gather(pinging, return_exceptions=True)
            if self._closing is not None:
                await asyncio.gather(self._closing, return_exceptions=True)

    async def _ping(self) -> None:
        connection = self._connection
        try:
            while connection.loop.time() - connection.heard < self._config.silent_s:
                try:
                    # Not the loop's clock, which has whole milliseconds with uvloop
                    sent = time.perf_counter()
                    async with asyncio.timeout(self._config.ping_s):
                        pong = await connection.ping()
                    pong.add_done_callback(partial(self._measured, sent))  # type: ignore[attr-defined]
                except TimeoutError:
                    pass  # what waits before it is not read yet
                before = connection.loop.time()
                await asyncio.sleep(self._config.ping_s)
                late_s = connection.loop.time() - before - self._config.ping_s
                # This process slept, and heard nobody
                connection.heard = min(connection.heard + max(0.0, late_s), connection.loop.time())
        except ConnectionClosed:
            return
        log.warning("! %s was silent for %g s; the link is cut", self.peer, self._config.silent_s)
        connection.transport.abort()

    def _measured(self, sent: float, pong: asyncio.Future[float]) -> None:
        if not pong.cancelled() and pong.exception() is None:
            self._round_trips.append(time.perf_counter() - sent)

    def end(self, code: int, reason: str) -> None:
        """Write what waits, if the peer reads it in time, and say goodbye; `run` returns when that is done."""
        if self._closing is None:
            self.flush()
            self._closing = asyncio.create_task(self._end(code, reason))

    async def _end(self, code: int, reason: str) -> None:
        if not self._is_drained:
            self._drained.clear()
            gone = asyncio.ensure_future(self._connection.wait_closed())
            drained = asyncio.ensure_future(self._drained.wait())
            await asyncio.wait({gone, drained}, timeout=GOODBYE_S, return_when=asyncio.FIRST_COMPLETED)
            gone.cancel()
            drained.cancel()
        await self._connection.close(code, reason)

    def cut(self) -> None:
        """End without a word."""
        self._is_cut = True
        self._waiting.clear()
        self.waiting_bytes = 0
        self._connection.transport.abort()
