"""A compressed body, piece by piece: what it inflates to is counted before there is more of it (RFC 9110, 8.4.1).

A kilobyte can become a megabyte, so nothing is ever inflated that has not been asked for.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from triplewire.broker.errors import MalformedRequest, UnsupportedMediaType

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE = 256 * 1024
_GZIP = 16 + zlib.MAX_WBITS
_CODINGS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": zlib.MAX_WBITS}
# A file may be several gzip members one after the other (RFC 1952, 2.2); each costs, even where it is empty.
_MEMBERS = 1000


class Inflating:
    """One body's content coding undone."""

    def __init__(self, coding: str) -> None:
        """Raises UnsupportedMediaType: the coding is not one that is read here, or several."""
        name = coding.strip().lower()
        if name not in _CODINGS:
            raise UnsupportedMediaType(
                f"Content-Encoding {coding:.100} is not read here: one of gzip and deflate is, or none"
            )
        self._name = name
        self._bits = _CODINGS[name]
        self._stream: zlib._Decompress | None = None
        self._members = 0

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What `data`, the next bytes of the body, inflate to, at most PIECE at a time.

        Raises:
            MalformedRequest: they are not of the coding.
        """
        piece = b""
        # What fills a piece may leave more of it inside the stream when all the data is read
        while data or (self._stream is not None and len(piece) == PIECE):
            stream = self._stream or self._begin(data)
            try:
                piece = stream.decompress(data, PIECE)
            except zlib.error as error:
                raise MalformedRequest(f"the body is not {self._name}: {error}") from error
            data = stream.unused_data if stream.eof else stream.unconsumed_tail
            if stream.eof:
                self._stream = None
            yield piece

    @staticmethod
    def is_full(piece: bytes) -> bool:
        """Whether there can be more of the same data: a quarter of a millisecond's work is done."""
        return len(piece) == PIECE

    def finish(self) -> None:
        """The body has no more bytes; raises MalformedRequest where it should have."""
        if self._stream is not None or not self._members:
            raise MalformedRequest(f"the body is not {self._name}: it ends in the middle")

    def _begin(self, data: bytes) -> zlib._Decompress:
        if self._members and self._bits != _GZIP:
            raise MalformedRequest(f"the body is not {self._name}: something follows its end")
        if self._members == _MEMBERS:
            raise MalformedRequest(f"the body has more than {_MEMBERS} gzip members")
        self._members += 1
        bits = self._bits
        # `deflate` is zlib's format, but some clients send the bare stream: RFC 9110, 8.4.1.2
        if bits != _GZIP and data[0] & 0x0F != zlib.DEFLATED:
            bits = -zlib.MAX_WBITS
        self._stream = zlib.decompressobj(bits)
        return self._stream
