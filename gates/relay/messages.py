"""What nodes say to each other over a link: a message is one byte of type and its form.

::

    01  PARCEL        as in parcels.py, whose first byte this is
    02  CERTIFICATE   length, JWT                     who publishes a chain, and with which key
    03  JOIN          length, {"stream":..,"ticket":..}   JSON: from now on we share this stream, as this ticket says
    04  LEAVE         length, the stream's name       we don't any more
    05  HEADS         length, (chain, oldest, old, recent)*  what the sender keeps of chains, from `oldest` on: how many old
                      items, and how many that a newcomer wants as well
    06  WANT          length, chain, first, last      give me these
    07  ABSENT        length, chain, first, last      I have none of these
    08  RESENT        a parcel (01 ..)                you asked for it: it is no duplicate, and not passed on
    09  NEED          length, chain*                  give me the certificates of these
    0a  BEGUN         length, JWT                     a CERTIFICATE of a chain of which there were items before

Lengths and numbers are varints, chains 8 bytes, texts UTF-8.  One message of the WebSocket, a frame, holds one or several,
back to back: under load a link writes what waits for it as one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from triplewire.broker.errors import ProtocolError
from triplewire.broker.stream_checks import is_stream_name

from .members import Members
from .parcels import CHAIN_BYTES, LIMITS, MARK, Parcel, ParcelLimits, read_at
from .varints import MOST, read_varint, varint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_PARCEL: Final = MARK[0]
_CERTIFICATE: Final = 2
_JOIN: Final = 3
_LEAVE: Final = 4
_HEADS: Final = 5
_WANT: Final = 6
_ABSENT: Final = 7
_RESENT: Final = 8
_NEED: Final = 9
_BEGUN: Final = 10

_MOST_NAME: Final = 255
_MOST_TOKEN: Final = 8_192
_MOST_HEADS: Final = 1_500  # in one message
MOST_NEEDED: Final = 200
# Compact serialization of a JWS (RFC 7515, 7.1)
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", re.ASCII)
_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class LinkLimits:
    """What is read of one frame: how long a parcel in it is, how long any other message, and how many there are."""

    parcel: ParcelLimits = LIMITS
    control_bytes: int = 65_536
    messages: int = 1_000
    joined_bytes: int = 262_144  # up to which a sender puts messages together

    @property
    def frame_bytes(self) -> int:
        """Of a frame, at most: a parcel that is resent, or as many messages as are put together."""
        return max(1 + self.parcel.bytes, self.control_bytes, self.joined_bytes)


LINK_LIMITS: Final = LinkLimits()


@dataclass(frozen=True, slots=True)
class Certified:
    """A chain's certificate, as its tracker signed it; where it has not `begun`, all items are still to come."""

    token: str = field(repr=False)
    begun: bool = False


@dataclass(frozen=True, slots=True)
class Join:
    """The sender shares the stream with whom it says so, by the leave of this ticket."""

    stream: str
    ticket: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Leave:
    """The sender does not share the stream any more."""

    stream: str


@dataclass(frozen=True, slots=True)
class Heads:
    """What the sender keeps: by chain the oldest number and the newest; where it keeps nothing, the oldest is the one that comes next.

    `recent` are the numbers from which on a newcomer wants it, for those chains of which something is too old for one.
    """

    heads: Mapping[bytes, tuple[int, int]]
    recent: Mapping[bytes, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The sender misses these items of the chain."""

    chain: bytes
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Absent:
    """The sender was asked for these items of the chain, and has none of them."""

    chain: bytes
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Resent:
    """A parcel that was asked for."""

    parcel: Parcel


@dataclass(frozen=True, slots=True)
class Need:
    """The sender has no good certificates of these chains."""

    chains: tuple[bytes, ...]


Message: TypeAlias = Parcel | Certified | Join | Leave | Heads | Wanted | Absent | Resent | Need


def encode(message: Message) -> bytes:
    """The message's bytes; a parcel's are those that it has.

    Raises:
        ValueError: it would not be understood: a name, a token or numbers that are none, or too many heads.
    """
    match message:
        case Parcel(data=data):
            return data
        case Resent(parcel):
            return bytes((_RESENT,)) + parcel.data
        case Certified(token, begun):
            return _counted(_BEGUN if begun else _CERTIFICATE, _token(token).encode())
        case Join(stream, ticket):
            text = json.dumps({"stream": _name(stream), "ticket": _token(ticket)}, separators=(",", ":"))
            return _counted(_JOIN, text.encode())
        case Leave(stream):
            return _counted(_LEAVE, _name(stream).encode())
        case Heads(heads, recent):
            return _counted(_HEADS, _heads(heads, recent))
        case Wanted(chain, first, last):
            return _counted(_WANT, _range(chain, first, last))
        case Absent(chain, first, last):
            return _counted(_ABSENT, _range(chain, first, last))
        case Need(chains):
            return _counted(_NEED, _need(chains))


def heads_of(heads: Heads) -> Iterator[Heads]:
    """As many messages as these heads need; none where there are none."""
    entries = list(heads.heads.items())
    for at in range(0, len(entries), _MOST_HEADS):
        some = dict(entries[at : at + _MOST_HEADS])
        yield Heads(some, {chain: heads.recent[chain] for chain in some if chain in heads.recent})


def frames(encoded: Iterable[bytes], limits: LinkLimits = LINK_LIMITS) -> Iterator[bytes]:
    """Messages put together in their order, as few frames as the limits allow; one that stands alone is not copied."""
    waiting: list[bytes] = []
    size = 0
    for data in encoded:
        if waiting and (size + len(data) > limits.joined_bytes or len(waiting) >= limits.messages):
            yield waiting[0] if len(waiting) == 1 else b"".join(waiting)
            waiting, size = [], 0
        waiting.append(data)
        size += len(data)
    if waiting:
        yield waiting[0] if len(waiting) == 1 else b"".join(waiting)


def decode(frame: bytes, limits: LinkLimits = LINK_LIMITS) -> list[Message]:
    """The messages of a frame, at least one; a parcel that stands alone has the very bytes of the frame.

    Raises:
        ProtocolError: something in it is no message, or is over a limit; says what, and where.
    """
    if len(frame) > limits.frame_bytes:
        raise ProtocolError(f"a frame of {len(frame)} bytes; {limits.frame_bytes} are read")
    if not frame:
        raise ProtocolError("a frame without a message")
    messages: list[Message] = []
    at = 0
    while at < len(frame):
        if len(messages) == limits.messages:
            raise ProtocolError(f"byte {at}: more than {limits.messages} messages in a frame")
        try:
            message, at = _message(frame, at, limits)
        except ProtocolError as error:
            raise ProtocolError(f"message {len(messages) + 1} at byte {at}: {error}") from error
        messages.append(message)
    return messages


def _message(frame: bytes, at: int, limits: LinkLimits) -> tuple[Message, int]:
    kind = frame[at]
    if kind == _PARCEL:
        return read_at(frame, at, limits.parcel)
    if kind == _RESENT:
        parcel, end = read_at(frame, at + 1, limits.parcel)
        return Resent(parcel), end
    reader = _READERS.get(kind)
    if reader is None:
        raise ProtocolError(f"{kind} is no type of message")
    length, begin = read_varint(frame, at + 1, "length")
    if length > limits.control_bytes:
        raise ProtocolError(f"length: {length} bytes; {limits.control_bytes} are read")
    end = begin + length
    if end > len(frame):
        raise ProtocolError(f"length: {end - len(frame)} bytes of {length} are missing")
    return reader(frame[begin:end]), end


def _read_certificate(data: bytes, *, begun: bool = False) -> Certified:
    return Certified(_token(_text(data)), begun)


def _read_join(data: bytes) -> Join:
    members = Members.of(data)
    return Join(_name(members.string("stream", _MOST_NAME)), _token(members.string("ticket", _MOST_TOKEN)))


def _read_leave(data: bytes) -> Leave:
    return Leave(_name(_text(data)))


def _read_heads(data: bytes) -> Heads:
    heads: dict[bytes, tuple[int, int]] = {}
    recent: dict[bytes, int] = {}
    at = 0
    while at < len(data):
        chain, at = _read_chain(data, at)
        oldest, at = read_varint(data, at, "oldest")
        old, at = read_varint(data, at, "old")
        young, at = read_varint(data, at, "recent")
        following = oldest + old + young
        if not 1 <= oldest <= following <= MOST:
            raise ProtocolError(f"heads: from {oldest} up to the one before {following} is no range")
        if chain in heads:
            raise ProtocolError(f"heads: the chain {chain.hex()} is there twice")
        if len(heads) == _MOST_HEADS:
            raise ProtocolError(f"heads: there are more than {_MOST_HEADS}")
        heads[chain] = (oldest, following - 1)
        if old:
            recent[chain] = oldest + old
    return Heads(heads, recent)


def _read_range(data: bytes) -> tuple[bytes, int, int]:
    chain, at = _read_chain(data, 0)
    first, at = read_varint(data, at, "first")
    last, at = read_varint(data, at, "last")
    if at != len(data):
        raise ProtocolError(f"last: {len(data) - at} bytes behind it")
    if not 1 <= first <= last:
        raise ProtocolError(f"first and last: {first} to {last} is no range of items")
    return chain, first, last


def _read_need(data: bytes) -> Need:
    chains: list[bytes] = []
    at = 0
    while at < len(data):
        chain, at = _read_chain(data, at)
        chains.append(chain)
    if not 0 < len(chains) <= MOST_NEEDED:
        raise ProtocolError(f"need: {len(chains)} chains; 1 to {MOST_NEEDED} are read")
    return Need(tuple(chains))


def _read_chain(data: bytes, at: int) -> tuple[bytes, int]:
    chain = data[at : at + CHAIN_BYTES]
    if len(chain) < CHAIN_BYTES:
        raise ProtocolError(f"chain: {CHAIN_BYTES - len(chain)} bytes of {CHAIN_BYTES} are missing")
    return chain, at + CHAIN_BYTES


_READERS: Final[Mapping[int, Callable[[bytes], Message]]] = {
    _CERTIFICATE: _read_certificate,
    _JOIN: _read_join,
    _LEAVE: _read_leave,
    _HEADS: _read_heads,
    _WANT: lambda data: Wanted(*_read_range(data)),
    _ABSENT: lambda data: Absent(*_read_range(data)),
    _NEED: _read_need,
    _BEGUN: partial(_read_certificate, begun=True),
}


def _counted(kind: int, data: bytes) -> bytes:
    return b"".join((bytes((kind,)), varint(len(data)), data))


def _heads(heads: Mapping[bytes, tuple[int, int]], recents: Mapping[bytes, int]) -> bytes:
    if len(heads) > _MOST_HEADS:
        raise ProtocolError(f"heads: there are more than {_MOST_HEADS}")
    parts: list[bytes] = []
    for chain, (oldest, newest) in heads.items():
        recent = recents.get(chain, oldest)
        if len(chain) != CHAIN_BYTES or not 1 <= oldest <= recent <= newest + 1 <= MOST:
            raise ProtocolError(f"heads: {oldest} to {newest} of {chain.hex()} is no range")
        parts += (chain, varint(oldest), varint(recent - oldest), varint(newest + 1 - recent))
    return b"".join(parts)


def _need(chains: tuple[bytes, ...]) -> bytes:
    if not 0 < len(chains) <= MOST_NEEDED or any(len(chain) != CHAIN_BYTES for chain in chains):
        raise ProtocolError(
            f"need: {len(chains)} chains; 1 to {MOST_NEEDED} are read, of {CHAIN_BYTES} bytes each"
        )
    return b"".join(chains)


def _range(chain: bytes, first: int, last: int) -> bytes:
    if len(chain) != CHAIN_BYTES or not 1 <= first <= last:
        raise ProtocolError(f"first and last: {first} to {last} of {chain.hex()} is no range of items")
    return chain + varint(first) + varint(last)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ProtocolError(f"byte {error.start} is not UTF-8") from error


def _name(stream: str) -> str:
    if len(stream) > _MOST_NAME or not is_stream_name(stream):
        raise ProtocolError(f"stream: {_elided(stream)} is no name of a stream")
    return stream


def _token(token: str) -> str:
    if len(token) > _MOST_TOKEN or _TOKEN.fullmatch(token) is None:
        raise ProtocolError(f"token: {_elided(token)} is no JWT of at most {_MOST_TOKEN} characters")
    return token


def _elided(text: str) -> str:
    return ascii(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")
