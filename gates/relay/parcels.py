"""What walks between nodes: consecutive items of one chain, made and signed once, and passed on as the very same bytes.

::

    01                    what every parcel begins with: its type among the messages of a link (messages.py)
    chain                 8 bytes
    first                 varint: the number of the first item in its chain, from 1 on
    count                 varint: how many items there are, from 1 on
    length                varint: of the items in bytes
    items                 as on the wire (broker/wire/items.py), back to back
    signature             64 bytes: Ed25519 (RFC 8032) over `triplewire-parcel.1`, a zero byte, and all that stands before it

One item of 308 bytes costs 80 bytes more, as long as its number is below 2^28.  A parcel says where it ends, so that several
can stand in one message of a WebSocket.

A chain's name is made of who publishes it, so that nobody can have a certificate for another's (`chain_name`).

Nobody on the way parses items: `read` looks at the frame alone, and `verify` at the bytes.  Whoever gives the items to
somebody unpacks them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from triplewire.broker.errors import ProtocolError
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import FOLLOWED, PUBLISHED, encode_item

from .varints import MOST, read_varint, varint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from triplewire.broker.wire.items import Item

CHAIN_BYTES: Final = 8
SIGNATURE_BYTES: Final = 64
MARK: Final = b"\x01"
# What is signed begins with this, so that no signature for another purpose is one of a parcel.
_SIGNED: Final = b"triplewire-parcel.1\x00"
_NAMED: Final = b"triplewire-chain.1"
_PROVEN: Final = b"triplewire-chain-proof.1"
_AFTER_CHAIN: Final = len(MARK) + CHAIN_BYTES


@dataclass(frozen=True, slots=True)
class ParcelLimits:
    """How many items one parcel has at most, and how many bytes they have: the largest item that can be published fits in."""

    items: int = 10_000
    items_bytes: int = PUBLISHED.body_bytes + FOLLOWED.header_bytes

    @property
    def bytes(self) -> int:
        """Of a whole parcel, at most."""
        return self.items_bytes + _AFTER_CHAIN + 3 * len(varint(MOST)) + SIGNATURE_BYTES


LIMITS: Final = ParcelLimits()


@dataclass(frozen=True, slots=True)
class Parcel:
    """The items `first` to `last` of a chain; `data` is all of it, as it came and as it is passed on."""

    chain: bytes
    first: int
    count: int
    data: bytes = field(repr=False)
    start: int = field(repr=False)  # where in `data` the items begin

    @property
    def last(self) -> int:
        """The number of the last item."""
        return self.first + self.count - 1

    @property
    def items(self) -> bytes:
        """The items as on the wire, back to back."""
        return self.data[self.start : -SIGNATURE_BYTES]

    @property
    def signature(self) -> bytes:
        """Ed25519, 64 bytes."""
        return self.data[-SIGNATURE_BYTES:]


def chain_name(stream: str, node: str, key: bytes) -> bytes:
    """The chain (8 bytes) that a node publishes in a stream with an Ed25519 public key (32 bytes); each has its own key.

    Whoever wants another's chain for a key of theirs has to find a second preimage, of 2^64.
    """
    return hashlib.sha256(_said(_NAMED, stream, node, key)).digest()[:CHAIN_BYTES]


def prove(stream: str, node: str, key: Ed25519PrivateKey) -> bytes:
    """That a node has the key of the chain that it publishes in a stream: what its trackers want to see."""
    return key.sign(_said(_PROVEN, stream, node))


def is_proven(stream: str, node: str, key: bytes, proof: bytes) -> bool:
    """Whether whoever made the proof has the private key of an Ed25519 public key (32 bytes)."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(proof, _said(_PROVEN, stream, node))
    except (InvalidSignature, ValueError):
        return False
    return True


def _said(purpose: bytes, stream: str, node: str, *more: bytes) -> bytes:
    # Neither a stream's name nor a node's id has a zero byte in it
    return b"\x00".join((purpose, stream.encode("ascii"), node.encode("ascii"), *more))


def seal(
    chain: bytes, first: int, items: Sequence[Item], key: Ed25519PrivateKey, limits: ParcelLimits = LIMITS
) -> Parcel:
    """The parcel of these items, of which the first has the number `first` in its chain.

    Raises:
        ValueError: the chain is not 8 bytes, `first` is no number of an item, there are no items, or they are over a limit.
    """
    wire = b"".join(map(encode_item, items))
    if len(chain) != CHAIN_BYTES:
        raise ValueError(f"a chain is named by {CHAIN_BYTES} bytes, not by {len(chain)}")
    try:
        _check(first, len(items), len(wire), limits)
    except ProtocolError as error:
        raise ValueError(str(error)) from error
    head = b"".join((MARK, chain, varint(first), varint(len(items)), varint(len(wire))))
    content = head + wire
    return Parcel(chain, first, len(items), content + key.sign(_SIGNED + content), len(head))


def read(data: bytes, limits: ParcelLimits = LIMITS) -> Parcel:
    """The parcel that these bytes are, and nothing behind it; its items are not looked at, nor its signature.

    Raises:
        ProtocolError: it is none, or over a limit; says what and at which byte.
    """
    parcel, end = read_at(data, 0, limits)
    if end != len(data):
        raise ProtocolError(
            f"a parcel: {len(data) - end} bytes behind its signature, which ends at byte {end}"
        )
    return parcel


def read_at(data: bytes, at: int, limits: ParcelLimits = LIMITS) -> tuple[Parcel, int]:
    """The parcel that begins at byte `at`, and where it ends.  The whole of `data` is taken as it is, without a copy.

    Raises:
        ProtocolError: there is none, or it is over a limit.
    """
    if data[at : at + 1] != MARK:
        raise ProtocolError(
            f"a parcel begins with the byte {MARK[0]}; byte {at} is {data[at : at + 1].hex()!r}"
        )
    place = at + _AFTER_CHAIN
    first, place = read_varint(data, place, "first")
    count, place = read_varint(data, place, "count")
    length, start = read_varint(data, place, "length")
    _check(first, count, length, limits)
    end = start + length + SIGNATURE_BYTES
    if end > len(data):
        raise ProtocolError(f"a parcel: {end - len(data)} bytes of its items and signature are missing")
    whole = data if not at and end == len(data) else data[at:end]
    return Parcel(whole[len(MARK) : _AFTER_CHAIN], first, count, whole, start - at), end


def verify(parcel: Parcel, key: Ed25519PublicKey) -> bool:
    """Whether whoever has the private key of `key` sealed it."""
    try:
        key.verify(parcel.signature, _SIGNED + parcel.data[:-SIGNATURE_BYTES])
    except InvalidSignature:
        return False
    return True


def unpack(parcel: Parcel) -> list[Item]:
    """The items, as many as the parcel says.

    Raises:
        ProtocolError: one is no item, or there are more or fewer.
    """
    reader = ItemReader(FOLLOWED)
    items = reader.feed(parcel.items)
    if reader.error is not None:
        raise reader.error
    reader.finish()
    if len(items) != parcel.count:
        raise ProtocolError(f"a parcel of {parcel.count} items has {len(items)}")
    return items


def _check(first: int, count: int, length: int, limits: ParcelLimits) -> None:
    if first < 1:
        raise ProtocolError(f"first: the items of a chain are numbered from 1 on, not from {first}")
    if not 1 <= count <= limits.items:
        raise ProtocolError(f"count: a parcel has 1 to {limits.items} items, not {count}")
    # Below MOST, so that whoever speaks of the number behind the last one can write it.
    if first + count > MOST:
        raise ProtocolError(f"count: the last item's number, {first + count - 1}, must be less than {MOST}")
    if length > limits.items_bytes:
        raise ProtocolError(f"length: the items have {length} bytes; {limits.items_bytes} are read")
