"""The forms of a stream over WebSocket (RFC 6455): a batch is framed once for all who follow.

A server's frames are not masked and nothing in them is the connection's own, so the same bytes go to everyone.  That is
also why permessage-deflate is not offered: its compressor is each connection's, and would cost each what `/compressed`
costs all together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from websockets.frames import Frame, Opcode

from triplewire.broker.wire.item_json import encode_lines
from triplewire.broker.wire.items import TEST_CONNECTION, encode_item

from .entry import Batch
from .forms import LDJSON, ZTREAMY, Form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .entry import Entry

# Client libraries refuse messages over 1 MiB unless they are told otherwise; an item that is larger can't be helped.
MESSAGE_BYTES = 256 * 1024


def frame(opcode: Opcode, data: bytes = b"") -> bytes:
    """One whole message, or a control frame."""
    return Frame(opcode, data).serialize(mask=False)


# A pong that nobody asked for: the heartbeat that needs no answer (RFC 6455, 5.5.3).  A ping would have tens of thousands
# of clients answer at the same moment; that one has gone, the kernel notices by what it does not acknowledge.
_SIGN_OF_LIFE: Final = frame(Opcode.PONG)


def _text(batch: Batch) -> bytes:
    return _framed(batch, Opcode.TEXT, lambda some: some.ldjson, lambda entry: encode_lines([entry.item]))


def _binary(batch: Batch) -> bytes:
    return _framed(batch, Opcode.BINARY, lambda some: some.plain, lambda entry: encode_item(entry.item))


def _framed(
    batch: Batch, opcode: Opcode, whole: Callable[[Batch], bytes], one: Callable[[Entry], bytes]
) -> bytes:
    """The batch as one message, or as few; a sign of life in it is a control frame, which a page does not see."""
    entries = tuple(entry for entry in batch.entries if entry.item.command != TEST_CONNECTION)
    alive = _SIGN_OF_LIFE if len(entries) < len(batch) else b""
    if not entries:
        return alive
    data = whole(batch if not alive else Batch(batch.stream, entries))
    parts = [data] if len(data) <= MESSAGE_BYTES else _parts(map(one, entries))
    return b"".join([*(frame(opcode, part) for part in parts), alive])


def _parts(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces put together, as long as that is not too much for one message."""
    part: list[bytes] = []
    size = 0
    for piece in pieces:
        if part and size + len(piece) > MESSAGE_BYTES:
            yield b"".join(part)
            part, size = [], 0
        part.append(piece)
        size += len(piece)
    yield b"".join(part)


TEXT: Final = Form(LDJSON.media_type, _text, alone=True, websocket=True)
BINARY: Final = Form(ZTREAMY.media_type, _binary, alone=True, websocket=True)
