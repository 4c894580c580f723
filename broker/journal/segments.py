"""The segments of one journal, the last of them open for appending."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triplewire.broker import meters
from triplewire.broker.errors import JournalDamaged, StoreError

from .files import sync_folder
from .quad_lines import WRITER
from .retention import StoredSegment, dispensable
from .segment import EVERY, FOLDER, HEADER_BYTES, SegmentReader, first_sequences, read_header, segment_path
from .segment_writer import SegmentWriter

if TYPE_CHECKING:
    from pathlib import Path

    from triplewire.broker.config import JournalConfig


@dataclass(frozen=True, slots=True)
class End:
    """Where the records end: the last one's number and time, and what of a torn tail was cut off behind it."""

    sequence: int
    time_ms: int
    torn_bytes: int


class Segments:
    """What is on disk; `append` and `cut` are the writer's, the rest may be called by other threads too."""

    def __init__(self, directory: Path, config: JournalConfig) -> None:
        self._directory = directory
        self._config = config
        self._files = threading.Lock()  # which segments there are, and which one is written
        self._stored: list[StoredSegment] = []
        self._writer: SegmentWriter | None = None
        self._failure = ""

    def find_end(self) -> End:
        """Read the last segment to its end, cut off a torn tail, and make ready to append.

        Raises:
            JournalDamaged: it can't be trusted.
            StoreError, OSError: it can't be read or written.
        """
        firsts = first_sequences(self._directory)
        unbegun = self._remove_unbegun(firsts[-1]) if firsts else None
        if unbegun is not None:
            firsts.pop()
        self._stored = [self._look_at(first) for first in firsts]
        if not firsts:
            return End(0, 0, unbegun or 0)
        reader = SegmentReader(segment_path(self._directory, firsts[-1]))
        try:
            return self._read_last(reader, unbegun)
        finally:
            reader.close()

    def _remove_unbegun(self, first: int) -> int | None:
        """Take away a segment whose header was never written in full; how many bytes it had, None where it was."""
        reader = SegmentReader(segment_path(self._directory, first))
        try:
            if reader.header is not None:
                return None
            torn = reader.finish(last=True)
        finally:
            reader.close()
        reader.path.unlink()
        sync_folder(reader.path.parent)
        return torn

    def _look_at(self, first: int) -> StoredSegment:
        path = segment_path(self._directory, first)
        header = read_header(path)
        if header is None:
            raise JournalDamaged(str(path), 0, "a segment's header: later segments follow")
        return StoredSegment(first, header.time_ms, path.stat().st_size)

    def _read_last(self, reader: SegmentReader, unbegun: int | None) -> End:
        time_ms = self._stored[-1].time_ms
        for frame in reader.frames():
            time_ms = frame.time_ms
        # The next segment is begun when this one is safe on disk.
        torn = reader.finish(last=unbegun is None)
        self._stored[-1] = StoredSegment(reader.first, self._stored[-1].time_ms, reader.offset)
        assert reader.header is not None
        # A segment is of one version: another version begins a new one with its next record.
        if reader.header.writer == WRITER:
            self._writer = SegmentWriter.reopen(reader.path, reader.first, reader.offset)
        elif torn:
            SegmentWriter.reopen(reader.path, reader.first, reader.offset).close()
        return End(reader.next - 1, time_ms, torn + (unbegun or 0))

    @property
    def first(self) -> int | None:
        """The first record that is kept, None where there is no segment."""
        with self._files:
            return self._stored[0].first if self._stored else None

    @property
    def count(self) -> int:
        """How many there are."""
        with self._files:
            return len(self._stored)

    @property
    def size(self) -> int:
        """How much they take on disk."""
        return sum(segment.size for segment in self.stored())

    def size_after(self, sequence: int) -> int:
        """How much there is behind a record; the whole of the segment that it is in."""
        stored = self.stored()
        ends = [segment.first - 1 for segment in stored[1:]] + [EVERY]
        return sum(segment.size for segment, end in zip(stored, ends, strict=False) if end > sequence)

    def stored(self) -> list[StoredSegment]:
        """All of them, oldest first."""
        with self._files:
            stored = list(self._stored)
            if self._writer is not None:
                stored[-1] = stored[-1].grown(self._writer.size)
            return stored

    def append(self, data: bytes, sequence: int, time_ms: int) -> None:
        """Write one record, into a new segment where this one is full.

        Raises:
            StoreError: it can't be written; nothing has changed.
        """
        if self._failure:
            raise StoreError(self._failure)
        writer = self._writer
        if writer is None or (
            writer.size > HEADER_BYTES and writer.size + len(data) > self._config.segment_bytes
        ):
            writer = self._begin(sequence, time_ms)
        writer.append(data)

    def cut(self, count: int) -> None:
        """Take back the last `count` bytes, safely.

        Raises:
            StoreError: the disk failed; nothing more can be appended.
        """
        assert self._writer is not None
        try:
            self._writer.cut(self._writer.size - count)
        except StoreError as error:
            self._failure = (
                f"the journal holds a change that the store has not, start the broker anew: {error}"
            )
            raise

    def sync(self) -> None:
        """Make all that was appended safe from a loss of power.

        Raises:
            StoreError: the disk failed; what it lost can't be known, so nothing more can be appended.
        """
        with self._files:
            if self._writer is None:
                return
            fd = self._writer.duplicate()
        try:
            with meters.SYNC_SECONDS.time():
                os.fsync(fd)
        except OSError as error:
            meters.SYNC_FAILED.inc()
            raise self._unsafe(str(error.strerror)) from error
        finally:
            os.close(fd)

    def retain(self, covered: int, now_ms: int) -> int:
        """Drop what the settings let go of what every snapshot holds; returns how many went."""
        return self._drop(dispensable(self.stored(), covered, self._config, now_ms))

    def drop_before(self, sequence: int, covered: int) -> int:
        """Drop those with no record from `sequence` on, as far as every snapshot holds them; how many went."""
        upto = min(sequence, covered + 1)
        return self._drop(sum(segment.first <= upto for segment in self.stored()[1:]))

    def close(self) -> None:
        """Make everything safe and let go of the files.

        Raises:
            StoreError: the disk failed.
        """
        self.sync()
        with self._files:
            if self._writer is not None:
                self._stored[-1] = self._stored[-1].grown(self._writer.size)
                self._writer.close()
                self._writer = None

    def _begin(self, sequence: int, time_ms: int) -> SegmentWriter:
        previous = self._writer
        if previous is not None:
            self.sync()  # so that only the last segment can have a torn tail
        writer = SegmentWriter.create(self._directory, sequence, time_ms)
        with self._files:
            if self._stored and self._stored[-1].first == sequence:  # empty, and of another version
                self._stored.pop()
            elif previous is not None:
                self._stored[-1] = self._stored[-1].grown(previous.size)
            self._stored.append(StoredSegment(sequence, time_ms, writer.size))
            self._writer = writer
        if previous is not None:
            previous.close()
        return writer

    def _unsafe(self, reason: str) -> StoreError:
        self._failure = f"the journal can't be made safe, start the broker anew: {reason}"
        return StoreError(self._failure)

    def _drop(self, count: int) -> int:
        with self._files:
            dropped, self._stored[:count] = self._stored[:count], []
        for segment in dropped:
            segment_path(self._directory, segment.first).unlink(missing_ok=True)
        if dropped:
            sync_folder(self._directory / FOLDER)
        return len(dropped)
