"""The journal on its way to a follower: a snapshot as one stream of bytes, then records and beats without end.

Snapshot: members of gzip one after another; the first is one line of JSON (`SnapshotHead`), the others are the parts
of the snapshot as they lie on disk.  Records: as in a segment, its header too (record.py).  Between them, and while
nothing happens, beats say how far the journal is::

    "TWJb"  last settled sequence u64  time in ms u64  crc32 u32                                        little endian
"""

from __future__ import annotations

import gzip
import json
import struct
import time
import zlib
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import IO, TYPE_CHECKING, NamedTuple, TypeAlias

from triplewire.broker.errors import JournalDamaged, StoreError

from .quad_lines import WRITER, by_blank_nodes, load_labeled, load_plain, read_graph, rewritten
from .record import HEADER, MAGIC, Frame, decode
from .segment import first_sequences
from .snapshot import Snapshot, snapshot_sequences

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyoxigraph

    from .record import Record

RECORDS_TYPE = "application/vnd.triplewire.journal"
SNAPSHOT_TYPE = "application/vnd.triplewire.snapshot"
BEAT_BYTES = 24
_BEAT_MAGIC = b"TWJb"
_BEAT = struct.Struct("<4sQQ")
_CHUNK = 256 * 1024
_GZIP = 31


class Beat(NamedTuple):
    """How far the journal is, and its clock."""

    sequence: int
    time_ms: int


Item: TypeAlias = "Frame | Beat"


def beat_bytes(sequence: int) -> bytes:
    """A beat of now."""
    unchecked = _BEAT.pack(_BEAT_MAGIC, sequence, int(time.time() * 1000))
    return unchecked + zlib.crc32(unchecked).to_bytes(4, "little")


class FeedParser:
    """Takes the bytes as they come, split anywhere."""

    def __init__(self, most: int) -> None:
        """A record of more than `most` bytes is none."""
        self._most = most
        self._data = bytearray()

    def feed(self, data: bytes) -> list[Item]:
        """The records and beats that are whole now.

        Raises:
            ValueError: the bytes are neither.
        """
        self._data += data
        items: list[Item] = []
        at = 0
        while (found := self._one(at)) is not None:
            item, size = found
            items.append(item)
            at += size
        del self._data[:at]
        return items

    def _one(self, at: int) -> tuple[Item, int] | None:
        data = self._data
        magic = bytes(data[at : at + 4])
        if len(magic) < len(MAGIC):
            return None
        if magic == _BEAT_MAGIC:
            return self._beat(at)
        if magic != MAGIC:
            raise ValueError(f"neither a record nor a beat: {magic!r}")
        if len(data) - at < HEADER.size:
            return None
        _, flags, length, check, sequence, time_ms, header_check = HEADER.unpack_from(data, at)
        if zlib.crc32(data[at : at + HEADER.size - 4]) != header_check or length > self._most:
            raise ValueError("a record's header is not what was sent")
        end = at + HEADER.size + length
        if len(data) < end:
            return None
        payload = bytes(data[at + HEADER.size : end])
        if zlib.crc32(payload) != check:
            raise ValueError(f"record {sequence} is not what was sent")
        return Frame(sequence, time_ms, flags, payload), end - at

    def _beat(self, at: int) -> tuple[Item, int] | None:
        raw = bytes(self._data[at : at + BEAT_BYTES])
        if len(raw) < BEAT_BYTES:
            return None
        if zlib.crc32(raw[:-4]) != int.from_bytes(raw[-4:], "little"):
            raise ValueError("a beat is not what was sent")
        _, sequence, time_ms = _BEAT.unpack(raw[:-4])
        return Beat(sequence, time_ms), BEAT_BYTES


def record_of(frame: Frame, writer: str) -> Record:
    """The record in a frame whose lines another version of Oxigraph may have written.

    Raises:
        ValueError, SyntaxError: it is not one.
    """
    record = decode(frame)
    if writer == WRITER:
        return record
    return record._replace(inserted=rewritten(record.inserted), deleted=rewritten(record.deleted))


@dataclass(frozen=True, slots=True)
class SnapshotHead:
    """What a snapshot says of itself; `sequence` 0 without quads is the empty dataset before record 1."""

    epoch: str
    sequence: int
    graphs: tuple[str, ...]
    quads: int
    writer: str = WRITER


class SnapshotStream:
    """The newest whole snapshot as bytes; a context manager that holds its files, so that it can't go meanwhile."""

    def __init__(self, directory: Path, epoch: str) -> None:
        """Opens it.

        Raises:
            StoreError: there is none, and the journal does not reach back to the beginning.
        """
        self._stack = ExitStack()
        self._files: list[IO[bytes]] = []
        self.head = self._open(directory, epoch)

    def _open(self, directory: Path, epoch: str) -> SnapshotHead:
        for sequence in reversed(snapshot_sequences(directory)):
            try:
                snapshot = Snapshot.open(directory, sequence)
                self._files = [
                    self._stack.enter_context((snapshot.path / part.name).open("rb"))
                    for part in snapshot.manifest.parts
                ]
            except (JournalDamaged, OSError):
                self._stack.close()
                continue
            manifest = snapshot.manifest
            return SnapshotHead(epoch, sequence, manifest.graphs, manifest.quads, manifest.writer)
        if first_sequences(directory)[:1] in ([], [1]):
            return SnapshotHead(epoch, 0, (), 0)
        raise StoreError("there is no whole snapshot to begin with")

    def chunks(self) -> Iterator[bytes]:
        """The bytes."""
        yield gzip.compress(json.dumps(asdict(self.head)).encode() + b"\n", mtime=0)
        for file in self._files:
            while chunk := file.read(_CHUNK):
                yield chunk

    def close(self) -> None:
        """Let go of the files."""
        self._stack.close()


def load_snapshot(file: IO[bytes], store: pyoxigraph.Store) -> SnapshotHead:
    """Fill an empty store from the bytes of a `SnapshotStream`.

    Raises:
        ValueError: they are not that, or not all of it.
        SyntaxError, OSError: Oxigraph could not read or write it.
    """
    members = _members(file)
    try:
        content = json.loads(next(members))
        head = SnapshotHead(**{**content, "graphs": tuple(content["graphs"])})
        quads = 0
        for text in members:
            lines = text if head.writer == WRITER else rewritten(text)
            quads += lines.count(b"\n")
            plain, labeled = by_blank_nodes(lines)
            load_plain(store, plain)
            load_labeled(store, labeled)
    except (zlib.error, KeyError, TypeError, StopIteration) as error:
        raise ValueError(f"it is no snapshot: {error!r}") from error
    if quads != head.quads:
        raise ValueError(f"the snapshot has {quads} quads of {head.quads}")
    for graph in head.graphs:
        store.add_graph(read_graph(graph))
    return head


def _members(file: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while rest or (rest := file.read(_CHUNK)):
        inflate = zlib.decompressobj(wbits=_GZIP)
        parts = []
        while not inflate.eof:
            if not rest and not (rest := file.read(_CHUNK)):
                raise ValueError("the snapshot is cut off")
            parts.append(inflate.decompress(rest))
            rest = inflate.unused_data
        yield b"".join(parts)
