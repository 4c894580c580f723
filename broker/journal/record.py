"""One change of the dataset as bytes: a header that checks itself, and a payload that the header checks.

::

    "TWJr"  flags u32  length u32  crc32(payload) u32  sequence u64  time in ms u64  crc32(header) u32     little endian
    payload of `length` bytes: the body, deflated where that makes it smaller (flag 1), and a line feed
    body: four lengths u32, then client, graphs there after it, graphs dropped, quads deleted, quads inserted

The last byte is never zero: a record whose end reads as zeros was never written to its end.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

from triplewire.broker.model import QuadDelta

from .quad_lines import graph_text, graphs_of, lines, read_graph, read_lines

MAGIC = b"TWJr"
HEADER = struct.Struct("<4sIIIQQI")
_UNCHECKED_HEADER = struct.Struct("<4sIIIQQ")
_LENGTHS = struct.Struct("<IIII")
_DEFLATED = 1
_DEFLATE_BYTES = 4096  # below it, deflating costs more time than its bytes are worth
_END = b"\n"


class Frame(NamedTuple):
    """A record as it lies in a segment, its checksums right; `payload` is what they cover."""

    sequence: int
    time_ms: int
    flags: int
    payload: bytes


class Record(NamedTuple):
    """One change: who made it and when, and the quads as lines of N-Quads.

    `graphs` are the named graphs that are there because of it: created without a quad, or there with a quad inserted.
    """

    sequence: int
    time_ms: int
    client: str
    inserted: bytes
    deleted: bytes
    graphs: tuple[str, ...]
    dropped: tuple[str, ...]

    @classmethod
    def of(cls, delta: QuadDelta, sequence: int, time_ms: int, client: str) -> Record:
        """The record of `delta`.

        Raises:
            MalformedRequest: a term can't be written as N-Quads.
        """
        there = graphs_of(delta.inserted)
        if delta.created:
            there |= delta.created
        return cls(
            sequence,
            time_ms,
            client,
            lines(delta.inserted),
            lines(delta.deleted),
            tuple(map(graph_text, there)),
            tuple(map(graph_text, delta.dropped)),
        )

    def delta(self) -> QuadDelta:
        """The change itself."""
        inserted = frozenset(read_lines(self.inserted))
        implied = graphs_of(inserted)
        created = frozenset(map(read_graph, self.graphs)) - implied
        return QuadDelta(
            inserted,
            frozenset(read_lines(self.deleted)),
            created,  # type: ignore[arg-type]  # only graphs of quads can have blank nodes for names
            frozenset(map(read_graph, self.dropped)),  # type: ignore[arg-type]
        )


def encode(record: Record) -> bytes:
    """The record as the bytes of a segment."""
    client = record.client.encode("utf-8", "replace")
    graphs = "\n".join(record.graphs).encode()
    dropped = "\n".join(record.dropped).encode()
    lengths = _LENGTHS.pack(len(client), len(graphs), len(dropped), len(record.deleted))
    body = b"".join((lengths, client, graphs, dropped, record.deleted, record.inserted))
    flags = 0
    if len(body) > _DEFLATE_BYTES and len(deflated := zlib.compress(body, 1)) < len(body):
        body, flags = deflated, _DEFLATED
    payload = body + _END
    header = _UNCHECKED_HEADER.pack(
        MAGIC, flags, len(payload), zlib.crc32(payload), record.sequence, record.time_ms
    )
    return b"".join((header, zlib.crc32(header).to_bytes(4, "little"), payload))


def frame_bytes(frame: Frame) -> bytes:
    """The frame as the bytes of a segment."""
    header = _UNCHECKED_HEADER.pack(
        MAGIC, frame.flags, len(frame.payload), zlib.crc32(frame.payload), frame.sequence, frame.time_ms
    )
    return b"".join((header, zlib.crc32(header).to_bytes(4, "little"), frame.payload))


def decode(frame: Frame) -> Record:
    """The record in a frame.

    Raises:
        ValueError: the payload is not one; its checksum was right, so another program made it.
    """
    try:
        body = zlib.decompress(frame.payload[:-1]) + _END if frame.flags & _DEFLATED else frame.payload
        clients, graphs, dropped, deleted = _LENGTHS.unpack_from(body)
    except (zlib.error, struct.error) as error:
        raise ValueError(str(error)) from error
    at_graphs = _LENGTHS.size + clients
    at_dropped = at_graphs + graphs
    at_deleted = at_dropped + dropped
    at_inserted = at_deleted + deleted
    return Record(
        frame.sequence,
        frame.time_ms,
        body[_LENGTHS.size : at_graphs].decode(),
        body[at_inserted:-1],
        body[at_deleted:at_inserted],
        tuple(body[at_graphs:at_dropped].decode().split("\n")) if graphs else (),
        tuple(body[at_dropped:at_deleted].decode().split("\n")) if dropped else (),
    )
