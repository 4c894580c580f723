"""What a stream keeps over a restart: one file of records, appended to, and rewritten when it has grown too large.

::

    "TWSh"  length u32  crc32(payload) u32  number u64  taken at f64  crc32(header) u32     little endian
    payload of `length` bytes: an item as on the wire

The first record is the head: its payload is the stream's Source-Id, and its number the last that was given to an item
when the file was written, so that numbers go on rising although nothing may be kept.

What was appended survives the death of the process; a loss of power can take what came after the last `sync`.  A record
that was not written to its end is cut off when the file is opened, with what lies behind it; where that looks like more
than one torn record, the file is set aside beside the new one, and a line in the log says so.
"""

from __future__ import annotations

import logging
import os
import struct
import threading
import zlib
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from triplewire.broker.errors import ProtocolError, StoreError
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import ItemLimits, encode_item

from .entry import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

_log = logging.getLogger("triplewire.gates.stream")

_MAGIC = b"TWSh"
_FIELDS = struct.Struct("<4sIIQd")
_CHECK = struct.Struct("<I")
HEADER_BYTES = _FIELDS.size + _CHECK.size
_COPY_BYTES = 1024 * 1024
# Whoever published an item was held to the limits of that time; here only the record's own length bounds it.
_ANY = ItemLimits(header_bytes=2**31, headers=2**31, body_bytes=2**31)


class Kept(NamedTuple):
    """What a file has: whose stream it is, its entries, and the last number that was given."""

    source_id: str
    entries: list[Entry]
    last: int


class HistoryFile:
    """A file that is open for appending.  One thread appends, another may sync and rewrite at the same time."""

    def __init__(self, path: Path, fd: int, size: int) -> None:
        self.path = path
        self.size = size
        self._fd = fd
        self._lock = (
            threading.Lock()
        )  # held while the file changes: for an append, and the last step of a rewriting
        self._ragged = False

    @classmethod
    def open(cls, path: Path, source_id: str) -> tuple[HistoryFile, Kept]:
        """The file, made for `source_id` where there is none, and what it has.

        Raises:
            StoreError: it can't be read or written.
        """
        try:
            if not path.exists():
                _write_new(path, source_id, (), 0)
            kept, size = _read(path)
            if kept is None or size != path.stat().st_size:
                _cut(path, size)
            if kept is None:
                _write_new(path, source_id, (), 0)
                kept, size = Kept(source_id, [], 0), path.stat().st_size
            return cls(path, os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC), size), kept
        except OSError as error:
            raise _failed(path, error) from error

    def append(self, entries: Sequence[Entry]) -> None:
        """Write these at the end.

        Raises:
            StoreError: there is no room, or the disk failed; nothing of them is there.
        """
        data = b"".join(map(_record_of, entries))
        with self._lock:
            try:
                if self._ragged:
                    self._truncate()
                self._ragged = True
                _write(self._fd, data)
            except OSError as error:
                self._try_truncate()
                raise _failed(self.path, error) from error
            self._ragged = False
            self.size += len(data)

    def sync(self) -> None:
        """Make safe from a loss of power what was appended.

        Raises:
            StoreError: the disk failed.
        """
        try:
            with self._lock:
                fd = os.dup(self._fd)  # a sync takes long, and appending goes on
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
        except OSError as error:
            raise _failed(self.path, error) from error

    def rewrite(self, kept: Kept, offset: int) -> None:
        """Put `kept`, which is all that counts of the first `offset` bytes, in their place; the rest stays behind it.

        Raises:
            StoreError: the disk is full or failed; the file is as it was.
        """
        draft = _draft(self.path)
        try:
            _write_draft(draft, *kept)
            with self._lock:
                fd = os.open(draft, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
                try:
                    self._copy_rest(fd, offset)
                    draft.replace(self.path)
                except BaseException:
                    os.close(fd)
                    raise
                os.close(self._fd)
                self._fd, self.size, self._ragged = fd, os.fstat(fd).st_size, False
            os.fsync(fd)
            _sync_folder(self.path.parent)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise _failed(self.path, error) from error

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            os.close(self._fd)

    def _copy_rest(self, fd: int, offset: int) -> None:
        while offset < self.size:
            piece = os.pread(self._fd, min(_COPY_BYTES, self.size - offset), offset)
            if not piece:
                raise OSError(0, "the file is shorter than it was")
            _write(fd, piece)
            offset += len(piece)

    def _truncate(self) -> None:
        os.ftruncate(self._fd, self.size)
        self._ragged = False

    def _try_truncate(self) -> None:
        """Where this fails, too, the next append tries again before it writes."""
        try:
            self._truncate()
        except OSError:
            _log.warning("%s: half a record can't be taken away yet", self.path)


def _record(number: int, taken_at: float, payload: bytes) -> bytes:
    fields = _FIELDS.pack(_MAGIC, len(payload), zlib.crc32(payload), number, taken_at)
    return b"".join((fields, _CHECK.pack(zlib.crc32(fields)), payload))


def _record_of(entry: Entry) -> bytes:
    return _record(entry.number, entry.taken_at, encode_item(entry.item))


def _records(file: BinaryIO, size: int) -> Iterator[tuple[int, float, bytes, int]]:
    """Number, time, payload and end of each record, up to the first that is not whole."""
    end = 0
    while end + HEADER_BYTES <= size:
        header = file.read(HEADER_BYTES)
        magic, length, check, number, taken_at = _FIELDS.unpack_from(header)
        right = magic == _MAGIC and header[_FIELDS.size :] == _CHECK.pack(zlib.crc32(header[: _FIELDS.size]))
        if not right or end + HEADER_BYTES + length > size:
            return
        payload = file.read(length)
        if zlib.crc32(payload) != check:
            return
        end += HEADER_BYTES + length
        yield number, taken_at, payload, end


def _read(path: Path) -> tuple[Kept | None, int]:
    """What the file has, None where it has no head, and the end of the last record that is whole."""
    with path.open("rb") as file:
        records = _records(file, os.fstat(file.fileno()).st_size)
        head = next(records, None)
        if head is None:
            return None, 0
        last, _, source_id, end = head
        entries: list[Entry] = []
        for number, taken_at, payload, after in records:
            try:
                (item,) = ItemReader(_ANY).feed(payload)
            except (ProtocolError, ValueError):
                break  # a version of the broker wrote it that allowed more
            entries.append(Entry(number, item, taken_at))
            last, end = max(last, number), after
        return Kept(source_id.decode("utf-8", "replace"), entries, last), end


def _cut(path: Path, size: int) -> None:
    """Take away what lies after `size`; what is more than a torn record is kept beside."""
    with path.open("rb") as file:
        file.seek(size + 1)
        more = any(_MAGIC in piece for piece in iter(lambda: file.read(_COPY_BYTES), b""))
    lost = path.stat().st_size - size
    if size and not more:
        _log.warning("%s: a torn record of %d bytes was cut off", path, lost)
    else:
        aside = path.with_name(f"{path.name}.damaged")
        _copy(path, aside)
        _log.error(
            "%s is damaged at byte %d: %d bytes are lost, the file is kept as %s", path, size, lost, aside
        )
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.ftruncate(fd, size)
        os.fsync(fd)
    finally:
        os.close(fd)


def _copy(path: Path, other: Path) -> None:
    with path.open("rb") as source, other.open("wb") as target:
        for piece in iter(lambda: source.read(_COPY_BYTES), b""):
            target.write(piece)
        target.flush()
        os.fsync(target.fileno())


def _draft(path: Path) -> Path:
    return path.with_name(f"{path.name}.draft")


def _write_new(path: Path, source_id: str, entries: Iterable[Entry], last: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = _draft(path)
    _write_draft(draft, source_id, entries, last)
    draft.replace(path)
    _sync_folder(path.parent)


def _write_draft(draft: Path, source_id: str, entries: Iterable[Entry], last: int) -> None:
    with draft.open("wb") as file:
        file.write(_record(last, 0.0, source_id.encode()))
        file.writelines(map(_record_of, entries))
        file.flush()
        os.fsync(file.fileno())


def _write(fd: int, data: bytes) -> None:
    written = os.write(fd, data)
    while written < len(data):
        written += os.write(fd, data[written:])


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _failed(path: Path, error: OSError) -> StoreError:
    return StoreError(f"the history of a stream can't be kept: {error.strerror} ({path})")
