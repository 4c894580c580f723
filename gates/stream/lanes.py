"""One way to read a stream: a form, compressed or not, in chunks or not; and those who read it so.

A batch is written in the form once, compressed once for each group, framed once, and given to everyone.  Who has too
much unread is left out, *between* two batches, so that nobody ever sees half of one; when it has read all, it is sent
what it missed from the history, piece by piece as it reads, and is live again.  A newcomer that asks for the past is
nothing else: it begins with its position in the past.  Whoever is that far back shares the pieces with all who are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from triplewire.broker.wire.items import encode_item

from .consumers import Audience, Consumer
from .deflate import HEADER, Groups, alone
from .entry import Batch
from .responses import LAST_CHUNK, chunk, stream_head

if TYPE_CHECKING:
    import asyncio

    from .fanout import Fanout
    from .forms import Form

# The past is given in pieces of so much, or one item.
PIECE_BYTES = 256 * 1024
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

    def __len__(self) -> int:
        return sum(map(len, self._audiences())) + len(self._behind) + len(self._ended)

    def follow(self, transport: asyncio.Transport, position: int) -> Consumer:
        """A newcomer that has got, or wants, everything up to `position`: the head and all that is there leave at once."""
        key = self.key
        head = stream_head(key.form, deflate=key.deflate, framed=key.framed)
        # Each write is tried at once, and `pause_writing` tells where something stays.  Over TLS 0 would be paused
        # whatever stays, and nothing would end it.
        secure = transport.get_extra_info("ssl_object") is not None
        transport.set_write_buffer_limits(high=int(secure), low=0)
        transport.write(head + self._frame(HEADER) if key.deflate else head)
        consumer = Consumer(transport, self, position)
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
        for audience, data in self._written(batch):
            for consumer in audience.write(self._frame(data), self._fanout.gate.unread_bytes):
                audience.remove(consumer)
                self._fell_behind(consumer, before)
        ahead, self._ahead = self._ahead, []
        for consumer in ahead:
            if consumer in self._behind:
                self.catch_up(consumer)

    def catch_up(self, consumer: Consumer) -> None:
        """Send what it has not got, as far as it reads on; when that is all, it is live."""
        while not consumer.paused:
            piece = self._piece(consumer.position)
            if not piece.data:
                self._is_live(consumer)
                return
            consumer.position = piece.last
            consumer.transport.write(piece.data)

    def end_one(self, consumer: Consumer) -> None:
        """End its response: nothing may stand behind that."""
        if consumer.audience is not None:
            consumer.audience.remove(consumer)
        self._behind.pop(consumer, None)
        self._ended.add(consumer)
        if self.key.framed:
            consumer.transport.write(LAST_CHUNK)
        consumer.transport.close()

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
            consumer.transport.abort()

    def _is_live(self, consumer: Consumer) -> None:
        if consumer.position > self._fanout.told:
            # It has seen what is still to leave, and is given the rest when that does.
            self._ahead.append(consumer)
            return
        del self._behind[consumer]
        (self._groups.newcomers() if self.key.deflate else self._audience).add(consumer)

    def _piece(self, position: int) -> Piece:
        found = self._pieces.get(position)
        if found is None:
            if len(self._pieces) >= _PIECES:
                self._pieces.clear()
            found = self._pieces[position] = self._make(position)
        return found

    def _make(self, position: int) -> Piece:
        missed = self._fanout.feed.history.since(position, upto=self._fanout.told)
        count = size = 0
        while count < len(missed) and size < PIECE_BYTES:
            size += len(encode_item(missed.entries[count].item))
            count += 1
        if not count:
            return Piece(b"", position)
        batch = Batch(missed.stream, missed.entries[:count])
        body = self.key.form.body(batch)
        return Piece(self._frame(alone(body, self._level) if self.key.deflate else body), batch.last)
