"""How each protocol puts messages into bytes: incremental readers that take any split, and can be copied.

A reader is fed what came and gives the payloads that are whole now. What it can't read is a `Garbled`: a peer that
sends wrong frames must not be measured.
"""

from __future__ import annotations

import copy
import zlib
from typing import Self


class Garbled(Exception):
    """These are not bytes of the protocol; says what was read where."""


class Framing:
    """The reader of one protocol; `_one` takes a message from `self._bytes` at `self._at`, or says None: not yet whole."""

    def __init__(self) -> None:
        self._bytes = b""
        self._at = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The payloads that are whole with this.

        Raises:
            Garbled: these are not bytes of the protocol.
        """
        self._bytes, self._at = self._bytes + data, 0
        payloads = []
        while (payload := self._one()) is not None:
            payloads.append(payload)
        self._bytes = self._bytes[self._at :]
        return payloads

    @property
    def rest(self) -> bytes:
        """What was fed and is not whole yet."""
        return self._bytes

    def copy(self) -> Self:
        """One that has read the same."""
        return copy.copy(self)

    def _one(self) -> bytes | None:
        raise NotImplementedError

    def _take(self, header: int, size: int) -> bytes | None:
        """The payload of `size` bytes behind `header` bytes, where all is there."""
        begin = self._at + header
        if len(self._bytes) < begin + size:
            return None
        self._at = begin + size
        return self._bytes[begin : self._at]

    def _there(self, size: int) -> bool:
        return len(self._bytes) >= self._at + size


class Chunks(Framing):
    """HTTP/1.1's chunked coding (RFC 9112 section 7.1), and inside it, where there is one, zlib's (RFC 1950)."""

    def __init__(self, *, deflate: bool = False) -> None:
        super().__init__()
        self._inflater = zlib.decompressobj() if deflate else None

    def copy(self) -> Self:
        other = super().copy()
        if self._inflater is not None:
            other._inflater = self._inflater.copy()
        return other

    def _one(self) -> bytes | None:
        end = self._bytes.find(b"\r\n", self._at, self._at + 20)
        if end < 0:
            if self._there(20):
                raise Garbled(f"no chunk begins with {self._bytes[self._at : self._at + 20]!r}")
            return None
        try:
            size = int(self._bytes[self._at : end].split(b";")[0], 16)
        except ValueError as error:
            raise Garbled(f"no chunk begins with {self._bytes[self._at : end]!r}") from error
        payload = self._take(end + 2 - self._at, size + 2)
        if payload is None:
            return None
        if payload[-2:] != b"\r\n":
            raise Garbled(f"a chunk of {size} bytes ends with {payload[-2:]!r}")
        return payload[:-2] if self._inflater is None else self._inflater.decompress(payload[:-2])


class WebSocketFrames(Framing):
    """A server's frames (RFC 6455 section 5.2), whole messages only: unmasked, no fragments."""

    def _one(self) -> bytes | None:
        if not self._there(2):
            return None
        first, size = self._bytes[self._at], self._bytes[self._at + 1]
        if first & 0x70 or not first & 0x80 or size & 0x80:
            raise Garbled(f"a frame begins with {first:#x} {size:#x}")
        width = {126: 2, 127: 8}.get(size, 0)
        if not self._there(2 + width):
            return None
        if width:
            size = int.from_bytes(self._bytes[self._at + 2 : self._at + 2 + width], "big")
        return self._take(2 + width, size)


class ZmtpFrames(Framing):
    """ZeroMQ's frames (ZMTP 3.0: flags, size, body)."""

    def _one(self) -> bytes | None:
        if not self._there(2):
            return None
        flags = self._bytes[self._at]
        if flags & ~0x07:
            raise Garbled(f"a frame has the flags {flags:#x}")
        width = 8 if flags & 0x02 else 1
        if not self._there(1 + width):
            return None
        size = int.from_bytes(self._bytes[self._at + 1 : self._at + 1 + width], "big")
        return self._take(1 + width, size)


class MqttPackets(Framing):
    """MQTT 3.1.1's packets (section 2.2); the payload is the packet with its first byte and without its length."""

    def _one(self) -> bytes | None:
        size = 0
        for place in range(4):
            if not self._there(place + 2):
                return None
            digit = self._bytes[self._at + 1 + place]
            size |= (digit & 0x7F) << 7 * place
            if not digit & 0x80:
                first = self._bytes[self._at : self._at + 1]
                body = self._take(place + 2, size)
                return None if body is None else first + body
        raise Garbled(f"a packet's length begins with {self._bytes[self._at + 1 : self._at + 5]!r}")


def mqtt_packet(first: int, body: bytes) -> bytes:
    """A packet with its remaining length (MQTT 3.1.1 section 2.2.3)."""
    size, digits = len(body), bytearray()
    while True:
        size, digit = divmod(size, 128)
        digits.append(digit | (0x80 if size else 0))
        if not size:
            return bytes([first]) + digits + body


def websocket_frame(payload: bytes) -> bytes:
    """A client's text frame; masked with zeros, which changes nothing (RFC 6455 section 5.3)."""
    size = len(payload)
    if size < 126:
        return bytes([0x81, 0x80 | size]) + bytes(4) + payload
    return b"\x81\xfe" + size.to_bytes(2, "big") + bytes(4) + payload
