"""One way to read a stream: a form, compressed or not, in chunks or not; and those who read it so.

A batch is written in the form once, compressed once for each group, framed once, and given to everyone.  Who has too
much unread is left out, *between* two batches, so that nobody ever sees half of one; when it has read all, it is sent
what it missed from the history, piece by piece as it reads, and is live again.  A newcomer that asks for the past is
nothing else: it begins with its position in the past.  Whoever is that far back shares the pieces with all who are.

Where a part of that is not kept any more by then, its response ends: it comes back, and hears that something may be missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from websockets.frames import CloseCode

from triplewire.broker.wire.items import encode_item

from .consumers import Audience, Consumer
from .deflate import HEADER, Groups, alone
from .entry import Batch
from .responses import chunk, stream_head
from .socket_consumer import SocketConsumer

if TYPE_CHECKING:
    import asyncio

    from .fanout import Fanout
    from .forms import Form

# The past is given in pieces of so much, or one item; and they end at these numbers, so that those who begin at different
# places soon come to the same pieces.
PIECE_BYTES = 256 * 1024
PIECE_ITEMS = 256
_PIECES = 16


class LaneKey(NamedTuple):
    """What consumers of one lane have in common."""

    form: Form
    deflate: bool
    framed: bool


class Piece(NamedTuple):
    """Some of the past as it is written, and the number that it goes up to; none of it where there is no more."""

    data: bytes
    last: int
    full: bool = False  # it will not change when more comes


class Lane:
    """Those who read one stream in one way."""

    def __init__(self, fanout: Fanout, key: LaneKey) -> None:
        self.key = key
        self._fanout = fanout
        self._level = fanout.feed.config.level
        self._audience = Audience()
        self._groups: Groups[Audience] = Groups(self._level, Audience)
        self._behind: dict[Consumer, None] = {}
        self._ended = Audience()  # who have been sent the end, and not read it
        self._ahead: list[Consumer] = []
        self._pieces: dict[int, Piece] = {}  # by the position before them, until the next batch
        # Those that are full and compressed, as long as the history has them
        self._kept: dict[int, Piece] = {}
        self._kept_bytes = 0

    def __len__(self) -> int:
        return sum(map(len, self._audiences())) + len(self._behind) + len(self._ended)

    def follow(self, transport: asyncio.Transport, position: int, head: bytes = b"") -> Consumer:
        """A newcomer that has got, or wants, everything up to `position`: the head and all that is there leave at once.

        `head` must be given for a WebSocket, whose handshake is its own; other consumers of a lane have the same.
        """
        key = self.key
        head = head or stream_head(key.form, deflate=key.deflate, framed=key.framed)
        # Each write is tried at once, and `pause_writing` tells where something stays.  Over TLS 0 would be paused
        # whatever stays, and nothing would end it.
        secure = transport.get_extra_info("ssl_object") is not None
        transport.set_write_buffer_limits(high=int(secure), low=0)
        transport.write(head + self._frame(HEADER) if key.deflate else head)
        kind = SocketConsumer if key.form.websocket else Consumer
        consumer = kind(transport, self, position)
        transport.set_protocol(consumer)
        self._behind[consumer] = None
        self.catch_up(consumer)
        return consumer

    def remove(self, consumer: Consumer) -> None:
        """It has gone."""
        if consumer.audience is not None:
            consumer.audience.remove(consumer)
        self._behind.pop(consumer, None)
        self._fanout.left(consumer)

    def send(self, batch: Batch, before: int) -> None:
        """The next batch; `before` is the number of the last item of the one before it."""
        self._pieces.clear()
        self._let_go()
        for audience, data in self._written(batch):
            for consumer in audience.write(self._frame(data), self.unread_bytes):
                audience.remove(consumer)
                self._fell_behind(consumer, before)
        ahead, self._ahead = self._ahead, []
        for consumer in ahead:
            if consumer in self._behind:
                self.catch_up(consumer)

    def catch_up(self, consumer: Consumer) -> None:
        """Send what it has not got, as far as it reads on; when that is all, it is live."""
        while consumer in self._behind and not consumer.paused:  # one that was sent the end may read on
            if self._has_missed(consumer):
                self.end_one(consumer, CloseCode.TRY_AGAIN_LATER)
                return
            piece = self._piece(consumer.position)
            if not piece.data:
                self._is_live(consumer)
                return
            consumer.position = piece.last
            consumer.transport.write(piece.data)

    @property
    def unread_bytes(self) -> int:
        """How much a consumer may have unread."""
        return self._fanout.gate.unread_bytes

    def end_one(self, consumer: Consumer, code: CloseCode = CloseCode.GOING_AWAY) -> None:
        """End its response: nothing may stand behind that.  `code` is why, where that can be said."""
        self.retire(consumer)
        consumer.say_goodbye(code)

    def retire(self, consumer: Consumer) -> None:
        """It is sent nothing more."""
        if consumer.audience is not None:
            consumer.audience.remove(consumer)
        self._behind.pop(consumer, None)
        self._ended.add(consumer)

    def end(self) -> None:
        """End all responses that have not ended."""
        for consumer in [*self._behind, *(each for some in self._audiences() for each in some.all())]:
            self.end_one(consumer)

    def cut(self) -> None:
        """Hang up on whoever has not read the end."""
        self.end()
        for consumer in self._ended.all():
            consumer.transport.abort()

    def _audiences(self) -> list[Audience]:
        return self._groups.members() if self.key.deflate else [self._audience]

    def _written(self, batch: Batch) -> list[tuple[Audience, bytes]]:
        if not any(map(len, self._audiences())):
            return []
        body = self.key.form.body(batch)
        return self._groups.blocks(body) if self.key.deflate else [(self._audience, body)]

    def _frame(self, data: bytes) -> bytes:
        return chunk(data) if self.key.framed else data

    def _fell_behind(self, consumer: Consumer, before: int) -> None:
        consumer.position = before
        self._behind[consumer] = None
        self._fanout.skipped += 1
        if self._fanout.gate.unread == "close":
            consumer.dismiss()

    def _has_missed(self, consumer: Consumer) -> bool:
        """Whether something behind its position has gone that it was to be sent."""
        history = self._fanout.feed.history
        history.expire()  # or what has become too old goes when it is looked for, behind this question
        gone = min(history.gone, self._fanout.told)  # what is still to leave, leaves
        return gone > consumer.position

    def _is_live(self, consumer: Consumer) -> None:
        if consumer.position > self._fanout.told:
            # It has seen what is still to leave, and is given the rest when that does.
            self._ahead.append(consumer)
            return
        del self._behind[consumer]
        (self._groups.newcomers() if self.key.deflate else self._audience).add(consumer)

    def _piece(self, position: int) -> Piece:
        self._let_go()
        found = self._kept.get(position) or self._pieces.get(position)
        if found is None:
            found = self._make(position)
            if found.full and self.key.deflate:
                self._keep(position, found)
            else:
                if len(self._pieces) >= _PIECES:
                    self._pieces.clear()
                self._pieces[position] = found
        return found

    def _keep(self, position: int, piece: Piece) -> None:
        """Compressing the past costs milliseconds, and whoever comes with an unknown id asks for all of it."""
        if self._kept_bytes + len(piece.data) > self._fanout.feed.config.history_bytes:
            self._kept.clear()
            self._kept_bytes = 0
        self._kept[position] = piece
        self._kept_bytes += len(piece.data)

    def _let_go(self) -> None:
        first = self._fanout.feed.history.first
        for position in [each for each in self._kept if each + 1 < first]:
            self._kept_bytes -= len(self._kept.pop(position).data)

    def _make(self, position: int) -> Piece:
        missed = self._fanout.feed.history.since(position, upto=self._fanout.told)
        count = size = 0
        full = False
        while count < len(missed) and not full:
            size += len(encode_item(missed.entries[count].item))
            full = size >= PIECE_BYTES or missed.entries[count].number % PIECE_ITEMS == 0
            count += 1
        if not count:
            return Piece(b"", position)
        batch = Batch(missed.stream, missed.entries[:count])
        body = self.key.form.body(batch)
        return Piece(self._frame(alone(body, self._level) if self.key.deflate else body), batch.last, full)
