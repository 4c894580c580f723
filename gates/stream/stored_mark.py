"""How far a kept stream has been stored: one number in a file, which a crash leaves as it was or as it is to be.

::

    "TWSs"  number u64  crc32(number, whose) u32     little endian, written in place

`whose` is the stream's Source-Id and the graph: the mark of another stream or graph is none.  The number is that of the last
item that was dealt with, so it is written after the store has answered.  The death of the process in between leaves an
item that is stored and not marked, and it is stored again.  Nothing is synced: after a loss of power a mark that is too low
does the same, and one that is ahead of the store is ahead by no more than `journal.fsync` leaves open.
"""

from __future__ import annotations

import logging
import os
import struct
import zlib
from typing import TYPE_CHECKING

from triplewire.broker.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

_log = logging.getLogger("triplewire.gates.stream")

_MAGIC = b"TWSs"
_FIELDS = struct.Struct("<4sQI")


class StoredMark:
    """The mark in the file at `path`, which is made where it is not there; `number` is 0 where there is none.

    A number beyond `last`, the last that the stream has given, is of a history that is gone, and counts for nothing.

    Raises:
        StoreError: the file can't be read or written.
    """

    def __init__(self, path: Path, whose: str, last: int) -> None:
        self._path = path
        self._whose = whose.encode("utf-8", "surrogatepass")
        self._failing = False
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            self.number = self._read(last)
        except OSError as error:
            raise StoreError(f"it can't be kept what was stored: {error.strerror} ({path})") from error
        self.put(self.number)

    def put(self, number: int) -> None:
        """Everything up to this number has been dealt with.

        Where that can't be written, it is logged and tried again with the next: it is stored again at worst.
        """
        self.number = number
        try:
            os.pwrite(self._fd, _FIELDS.pack(_MAGIC, number, self._check(number)), 0)
        except OSError as error:
            if not self._failing:
                _log.warning("! it can't be kept what was stored: %s (%s)", error.strerror, self._path)
            self._failing = True
        else:
            self._failing = False

    def close(self) -> None:
        """Let go of the file; may be called again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _read(self, last: int) -> int:
        data = os.pread(self._fd, _FIELDS.size, 0)
        if len(data) < _FIELDS.size:
            return 0
        magic, number, check = _FIELDS.unpack(data)
        right = magic == _MAGIC and check == self._check(number)
        return number if right and number <= last else 0

    def _check(self, number: int) -> int:
        return zlib.crc32(self._whose, zlib.crc32(number.to_bytes(8, "little")))
