"""A consumer on a WebSocket.  It is sent what all of its lane are; what it says itself, the websockets library reads.

It has nothing to say but pings and its goodbye: until the first of these it costs what a chunked consumer does.  Each end
is told by its code: 1001 where the stream or the broker ends, 1008 where the token does, 1013 where it was too slow.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from websockets.frames import DATA_OPCODES, CloseCode, Frame
from websockets.protocol import Protocol, Side, State

from .consumers import Consumer
from .hanging_up import hang_up

if TYPE_CHECKING:
    from .lanes import Lane

MESSAGE_BYTES = 1024  # of what it may say
# More than this within so long is an attack: each few bytes of it are a frame to be read.
_SAID_BYTES = 16 * 1024
_SAID_S = 60.0
_CLOSE_S = 5.0  # that it has for its goodbye
_QUIET = logging.getLogger("triplewire.gates.stream.websocket")
_QUIET.setLevel(logging.CRITICAL)  # what a client breaks is not our error
_REASONS = {
    CloseCode.GOING_AWAY: "the stream ends; come back with last-seen",
    CloseCode.POLICY_VIOLATION: "the token is not good for this stream any more",
    CloseCode.TRY_AGAIN_LATER: "the items were not read fast enough (stream.unread)",
}


class SocketConsumer(Consumer):
    """See `Consumer`; in an `audience` until either side has said goodbye."""

    __slots__ = ("_said", "_since", "_talk")

    def __init__(self, transport: asyncio.Transport, lane: Lane, position: int) -> None:
        super().__init__(transport, lane, position)
        self._talk: Protocol | None = None
        self._said = 0
        self._since = 0.0

    def data_received(self, data: bytes) -> None:
        """A ping, its goodbye, or what it had better not have said."""
        talk = self._talking()
        if self._says_too_much(len(data)):
            if talk.state is State.OPEN:
                talk.fail(CloseCode.POLICY_VIOLATION, "a consumer has little to say")
        else:
            talk.receive_data(data)
        for event in talk.events_received():
            if isinstance(event, Frame) and event.opcode in DATA_OPCODES and talk.state is State.OPEN:
                talk.fail(
                    CloseCode.UNSUPPORTED_DATA, "this is only for reading; publish by POST to /NAME/publish"
                )
        self._say(talk)

    def say_goodbye(self, code: CloseCode) -> None:
        """A close frame with this code; the client answers it, or is cut."""
        talk = self._talking()
        if talk.state is State.OPEN:
            talk.send_close(code, _REASONS.get(code, ""))
        self._say(talk)

    def dismiss(self) -> None:
        """It is too slow."""
        self.lane.end_one(self, CloseCode.TRY_AGAIN_LATER)

    def _talking(self) -> Protocol:
        if self._talk is None:
            self._talk = Protocol(Side.SERVER, state=State.OPEN, max_size=MESSAGE_BYTES, logger=_QUIET)
        return self._talk

    def _says_too_much(self, size: int) -> bool:
        now = asyncio.get_running_loop().time()
        if now - self._since > _SAID_S:
            self._since, self._said = now, 0
        self._said += size
        return self._said > _SAID_BYTES

    def _say(self, talk: Protocol) -> None:
        writes = talk.data_to_send()
        if not writes:
            return
        if talk.state is State.OPEN:
            # Pongs only; whoever does not read them can't have them pile up
            if self.transport.get_write_buffer_size() <= self.lane.unread_bytes:
                self.transport.write(b"".join(writes))
            return
        self.lane.retire(self)  # nothing may stand behind a close frame
        self.transport.write(b"".join(writes))
        if b"" in writes:  # the library's sign that nothing follows
            hang_up(self.transport)
        asyncio.get_running_loop().call_later(_CLOSE_S, self.transport.abort)
