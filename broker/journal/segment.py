r"""One file of the journal: a header, then records one after another.

::

    "TWJ\r\n\x1a\n\0"  version u32  first sequence u64  time in ms u64  writer, 16 bytes  crc32 u32     little endian

The torn tail.  A process or a machine can die while it appends, so the last record of the last segment may be a
prefix, or end in zeros where the file was made longer before its bytes came.  That, and nothing else, is no damage: it
was never acknowledged as safe, is left out by readers, and is cut off when the journal is opened for appending.  A
whole record never ends in a zero byte, so no single wrong bit in it looks like a torn tail.
"""

from __future__ import annotations

import os
import re
import struct
import sys
import zlib
from typing import TYPE_CHECKING, NamedTuple

from triplewire.broker.errors import JournalDamaged

from .quad_lines import WRITER
from .record import HEADER, MAGIC, Frame

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

FOLDER = "journal"
EVERY = sys.maxsize
_SIGN = b"TWJ\r\n\x1a\n\0"  # as PNG's: a copy that changes line ends shows at once
_VERSION = 1
_FILE_HEADER = struct.Struct("<8sIQQ16sI")
HEADER_BYTES = _FILE_HEADER.size
_NAME = re.compile(r"(\d{20})\.twj")
_CHUNK = 1024 * 1024


class SegmentHeader(NamedTuple):
    """What a segment says of itself; the time is that of its first record."""

    first: int
    time_ms: int
    writer: str


def segment_path(directory: Path, first: int) -> Path:
    """Where the segment that begins with this record is; `directory` is the whole journal's."""
    return directory / FOLDER / f"{first:020}.twj"


def first_sequences(directory: Path) -> list[int]:
    """The first sequence numbers of the segments, by their names, in order."""
    try:
        names = [path.name for path in (directory / FOLDER).iterdir()]
    except FileNotFoundError:
        return []
    return sorted(int(found[1]) for name in names if (found := _NAME.fullmatch(name)))


def file_header(first: int, time_ms: int) -> bytes:
    """The bytes that a new segment begins with."""
    unchecked = _FILE_HEADER.pack(_SIGN, _VERSION, first, time_ms, WRITER.encode()[:16], 0)[:-4]
    return unchecked + zlib.crc32(unchecked).to_bytes(4, "little")


def read_header(path: Path) -> SegmentHeader | None:
    """A segment's header; None where its writing was cut short.

    Raises:
        JournalDamaged: it is not the header of this segment.
    """
    with path.open("rb") as file:
        data = file.read(HEADER_BYTES)
    written = data.rstrip(b"\0")
    if (len(data) < HEADER_BYTES or not written) and written[: len(_SIGN)] == _SIGN[: len(written)]:
        return None
    if len(data) < HEADER_BYTES:
        raise JournalDamaged(str(path), 0, "the beginning of a segment")
    sign, version, first, time_ms, writer, check = _FILE_HEADER.unpack(data)
    if sign != _SIGN:
        raise JournalDamaged(str(path), 0, "the beginning of a segment")
    if zlib.crc32(data[:-4]) != check:
        raise JournalDamaged(str(path), 0, "a segment's header with its checksum")
    if version != _VERSION:
        raise JournalDamaged(str(path), 8, f"version {_VERSION} of the format, not {version}")
    if path.name != f"{first:020}.twj":
        raise JournalDamaged(str(path), 12, f"the sequence number of the file's name, not {first}")
    return SegmentHeader(first, time_ms, writer.rstrip(b"\0").decode("ascii", "replace"))


class SegmentReader:
    """The records of one segment, from its first; `next` is the one at `offset`.

    It can be asked again after it came to the end, while another thread or process appends.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header = read_header(path)
        self.first = int(path.stem)
        self.next = self.first
        self.offset = HEADER_BYTES if self.header is not None else 0
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def frames(self, limit: int = EVERY) -> Iterator[Frame]:
        """The whole records that are there, up to `limit`; what lies after that one is not looked at.

        Raises:
            JournalDamaged: something is there that is neither a record nor a torn tail.
        """
        want = _CHUNK if self.header is not None else 0
        while want and self.next <= limit:
            data = os.pread(self._fd, want, self.offset)
            begin = self.offset
            more = yield from self._frames_in(data, limit)
            # A record longer than what was read is asked for as a whole.
            rest = _record_bytes(data, self.offset - begin)
            want = max(_CHUNK, rest) if more and len(data) == want else 0

    def _frames_in(self, data: bytes, limit: int) -> Generator[Frame, None, bool]:
        """The records in `data`; returns whether there can be more after it."""
        unpack, crc32, header_bytes = HEADER.unpack_from, zlib.crc32, HEADER.size  # a start reads millions
        at, last = 0, len(data) - header_bytes
        while at <= last and self.next <= limit:
            magic, flags, length, check, sequence, time_ms, header_check = unpack(data, at)
            body = at + header_bytes
            if magic != MAGIC or crc32(data[at : body - 4]) != header_check:
                self._stop("the beginning of a record" if magic != MAGIC else "a header with its checksum")
                return False
            end = body + length
            if end > len(data):
                return True
            payload = data[body:end]
            if crc32(payload) != check:
                self._stop("a record with its checksum")
                return False
            if sequence != self.next:
                raise self._damaged(f"record {self.next}, not {sequence}")
            self.offset += end - at
            self.next += 1
            at = end
            yield Frame(sequence, time_ms, flags, payload)
        return True

    def finish(self, *, last: bool) -> int:
        """How many bytes of a torn tail follow what was read.

        Raises:
            JournalDamaged: there are some, and it is not the last segment; or they are no torn tail.
        """
        rest = os.fstat(self._fd).st_size - self.offset
        if not last and self.header is None:
            raise self._damaged("a segment's header: later segments follow")
        if rest and not last:
            raise self._damaged(f"record {self.next} in full: later segments follow")
        if rest:
            self._stop("the beginning of a record")
        return rest

    def close(self) -> None:
        """Let go of the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _stop(self, expected: str) -> None:
        """Raises JournalDamaged where what is left is not something whose writing was cut short."""
        rest = os.pread(self._fd, os.fstat(self._fd).st_size, self.offset)
        written = rest.rstrip(b"\0")
        if self.header is None:
            torn = len(written) < HEADER_BYTES  # how it begins was looked at when it was opened
        else:
            torn = len(written) < _record_bytes(rest, 0) and written[: len(MAGIC)] == MAGIC[: len(written)]
        if not torn:
            raise self._damaged(expected)

    def _damaged(self, expected: str) -> JournalDamaged:
        return JournalDamaged(str(self.path), self.offset, expected)


def _record_bytes(data: bytes, at: int) -> int:
    """How long the record at `at` says it is; only its header where that is not there in full, or wrong."""
    header = data[at : at + HEADER.size]
    if len(header) < HEADER.size or zlib.crc32(header[:-4]) != int.from_bytes(header[-4:], "little"):
        return HEADER.size
    return HEADER.size + int(HEADER.unpack(header)[2])
