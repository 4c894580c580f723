"""Parcels for tests: sealed ones, and ones whose items and signature are only as long as such."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from triplewire.broker.wire.items import Item
from triplewire.gates.relay.parcels import Parcel, seal

CHAIN = bytes(range(8))
KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))


def items(first: int, count: int, body: bytes = b"<a> <b> <c> .") -> list[Item]:
    """Those with the numbers from `first` on."""
    return [Item(f"e{number}", "src-1", "text/turtle", body) for number in range(first, first + count)]


def sealed(first: int = 1, count: int = 1, chain: bytes = CHAIN, body: bytes = b"<a> <b> <c> .") -> Parcel:
    """A parcel of the key KEY."""
    return seal(chain, first, items(first, count, body), KEY)


def unsigned(first: int, count: int = 1, chain: bytes = CHAIN, size: int = 100) -> Parcel:
    """Only its numbers and its size matter."""
    return Parcel(chain, first, count, bytes(size), 20)


def chain_of(number: int) -> bytes:
    """The name of one of several chains."""
    return number.to_bytes(8, "big")
