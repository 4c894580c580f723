"""A stream's content coding undone as it comes: it never ends, so nothing may wait for its end (facts of RFC 1950).

What a server sends may be blocks of several compressors behind one header, each flushed: to zlib that is one stream.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from triplewire.broker.errors import BrokerMisbehaved

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE = 256 * 1024
_BITS = {"deflate": zlib.MAX_WBITS, "gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS}


class Inflating:
    """One response's content coding."""

    def __init__(self, coding: str) -> None:
        """`coding` is the value of Content-Encoding, "" for none.

        Raises:
            BrokerMisbehaved: it is one that was not asked for.
        """
        name = coding.strip().lower()
        if name not in _BITS and name not in {"", "identity"}:
            raise BrokerMisbehaved(f"the stream is encoded as {name!r}, which was not asked for")
        self._bits = _BITS.get(name)
        self._stream = None if self._bits is None else zlib.decompressobj(self._bits)
        self._began = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What the next bytes inflate to, at most 256 KiB at a time, so that a little can't become too much.

        Raises:
            BrokerMisbehaved: they are not of the coding.
        """
        if self._stream is None:
            yield data
            return
        while True:
            piece = self._inflated(data)
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            if self._stream.eof and self._bits is not None:
                self._stream = zlib.decompressobj(self._bits)
            if piece:
                yield piece
            if not data and len(piece) < _PIECE:
                return

    def _inflated(self, data: bytes) -> bytes:
        assert self._stream is not None
        began, self._began = self._began, self._began or bool(data)
        try:
            return self._stream.decompress(data, _PIECE)
        except zlib.error as error:
            if began or self._bits != zlib.MAX_WBITS:
                raise BrokerMisbehaved(f"the stream is not what its encoding says: {error}") from error
        # `deflate` without its zlib header is a common mistake (RFC 9110, 8.4.1.2).
        self._bits = -zlib.MAX_WBITS
        self._stream = zlib.decompressobj(self._bits)
        return self._inflated(data)
