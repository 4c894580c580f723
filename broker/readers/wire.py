"""Frames between the broker and its reader processes, over a stream socket.

::

    kind u8  length u32  payload      little endian

    to the child      QUESTION  pickled: the text, Oxigraph's options, the form that the answer likely has ("" for none)
                                and the format to write it in then
                      FORMAT    after FORM: the format to write the answer in, its kind and media type
                      FORGET    after FORM: the answer is not wanted
                      CHANGES   what was written to the store since (backlog.py)
                      REOPEN    something was written: open the files anew
    to the broker     FORM      the query is good, and of this form, not the likely one; FORMAT or FORGET is waited for
                      LIKELY    the query is good, and of the likely form
                      DATA      bytes of the answer
                      END       the answer is whole
                      ERROR     the query failed: the class of the exception and its message, a line each
                      MEMORY    the query failed for want of memory; the child ends
                      PANIC     something failed that must not; the child ends
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import socket

    from .question import Check

Frame: TypeAlias = tuple[int, bytes]

QUESTION, FORMAT, FORGET, CHANGES, REOPEN = range(1, 6)
FORM, LIKELY, DATA, END, ERROR, MEMORY, PANIC = range(11, 18)

# How often whoever waits looks whether it still should.
POLL_S = 0.05
_HEADER = struct.Struct("<BI")
_RECEIVE_BYTES = 256 * 1024


class ChannelClosed(Exception):
    """The process at the other end is gone."""


class Channel:
    """One end of the socket; one thread at a time uses it."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._received = bytearray()

    def send(self, *frames: Frame, check: Check | None = None) -> None:
        """Send frames in one go; where the socket has a time-out, `check` is called at each.

        Raises:
            ChannelClosed: nobody is there.
        """
        parts: list[bytes] = []
        for kind, payload in frames:
            parts += (_HEADER.pack(kind, len(payload)), payload)
        rest = memoryview(b"".join(parts))
        while rest:
            try:
                rest = rest[self._end.send(rest) :]
            except TimeoutError:
                if check is not None:
                    check()
            except OSError as error:
                raise ChannelClosed from error

    def receive(self, check: Check | None = None) -> Frame:
        """The next frame; where the socket has a time-out, `check` is called at each.

        Raises:
            ChannelClosed: nobody is there.
        """
        received = self._received
        size = _HEADER.size
        while len(received) < size:
            self._fill(check)
        kind, length = _HEADER.unpack_from(received)
        end = size + length
        while len(received) < end:
            self._fill(check)
        with memoryview(received) as view:
            payload = bytes(view[size:end])
        del received[:end]
        return kind, payload

    def close(self) -> None:
        """Close the socket."""
        self._end.close()

    def _fill(self, check: Check | None) -> None:
        try:
            data = self._end.recv(_RECEIVE_BYTES)
        except TimeoutError:
            if check is not None:
                check()
            return
        except OSError as error:
            raise ChannelClosed from error
        if not data:
            raise ChannelClosed
        self._received += data
