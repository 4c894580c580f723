"""Whole numbers in as few bytes as they need: seven bits a byte, the lowest first, and a mark on each but the last (LEB128).

A number has one form only: what is longer than need be is refused.
"""

from __future__ import annotations

from typing import Final

from triplewire.broker.errors import ProtocolError

MOST: Final = 2**63 - 1  # what other languages have without trouble, too
_MOST_BYTES: Final = 9


def varint(number: int) -> bytes:
    """The number from 0 to MOST as bytes.

    Raises:
        ValueError: it is not one of these.
    """
    if not 0 <= number <= MOST:
        raise ValueError(f"{number} is not a number from 0 to {MOST}")
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def read_varint(data: bytes, at: int, what: str) -> tuple[int, int]:
    """The number that begins at byte `at`, and where it ends; `what` it is, for the error.

    Raises:
        ProtocolError: it does not end, is too large, or longer than need be.
    """
    if at < len(data) and data[at] <= 0x7F:  # most are
        return data[at], at + 1
    number = shift = 0
    for place in range(at, min(at + _MOST_BYTES, len(data))):
        byte = data[place]
        number |= (byte & 0x7F) << shift
        if byte <= 0x7F:
            if not byte and place > at:
                raise ProtocolError(f"{what} at byte {at}: a number that is longer than need be")
            return number, place + 1
        shift += 7
    if at + _MOST_BYTES <= len(data):
        raise ProtocolError(f"{what} at byte {at}: a number that is greater than {MOST}")
    raise ProtocolError(f"{what} at byte {at}: the bytes end before the number does")
