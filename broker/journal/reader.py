"""The records of a journal in order, across its segments."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Self

from triplewire.broker.errors import JournalDamaged, StoreError

from .quad_lines import WRITER, rewritten
from .record import Record, decode, encode, frame_bytes
from .segment import EVERY, FOLDER, SegmentReader, first_sequences, segment_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import TracebackType

    from .record import Frame


class JournalReader:
    """The records after a sequence number.

    Iterating gives what is there and ends; iterating again goes on from there with what was appended meanwhile.  It
    needs no lock.  `settled`, where the journal is open in this process, tells how far readers may go: a record after
    it can still be taken back.
    """

    def __init__(self, directory: Path, after: int = 0, *, settled: Callable[[], int] | None = None) -> None:
        self._directory = directory
        self._after = after
        self._settled = settled
        self._segment: SegmentReader | None = None
        self.torn_bytes = 0

    @property
    def next(self) -> int:
        """The sequence number of the record that comes next."""
        return self._after + 1

    def __iter__(self) -> Iterator[Record]:
        """The records that are there.

        Raises:
            JournalDamaged: one can't be trusted, or is not where it should be.
            StoreError: the records asked for are not kept any more.
        """
        for frame in self.frames():
            segment = self._segment
            assert segment is not None
            assert segment.header is not None
            try:
                record = decode(frame)
                if segment.header.writer != WRITER:
                    record = record._replace(
                        inserted=rewritten(record.inserted), deleted=rewritten(record.deleted)
                    )
            except (ValueError, SyntaxError) as error:
                raise JournalDamaged(
                    str(segment.path), segment.offset, f"N-Quads before it: {error}"
                ) from error
            yield record

    def frames(self) -> Iterator[Frame]:
        """The same, their payloads checked but not looked into."""
        while True:
            limit = EVERY if self._settled is None else self._settled()
            # Looked up first: a segment that others follow is complete.
            firsts = first_sequences(self._directory)
            if self._after >= limit or not firsts:
                return
            segment = self._segment or self._enter(firsts)
            for frame in segment.frames(limit):
                if frame.sequence > self._after:
                    self._after = frame.sequence
                    yield frame
            at = bisect_right(firsts, segment.first)
            following = firsts[at] if at < len(firsts) else None
            if self._after >= limit:
                return
            if following is None:
                self.torn_bytes = segment.finish(last=True) if self._settled is None else 0
                return
            segment.finish(last=False)
            self._follow(segment, following, kept=segment.first in firsts)

    def encoded(self) -> Iterator[tuple[int, bytes]]:
        """The same as bytes of a segment that this version of Oxigraph would write, with their sequence numbers."""
        for frame in self.frames():
            segment = self._segment
            assert segment is not None
            assert segment.header is not None
            if segment.header.writer == WRITER:
                yield frame.sequence, frame_bytes(frame)
                continue
            record = decode(frame)
            inserted, deleted = rewritten(record.inserted), rewritten(record.deleted)
            yield frame.sequence, encode(record._replace(inserted=inserted, deleted=deleted))

    def damaged(self, expected: str) -> JournalDamaged:
        """An error that says where the reader stands."""
        if self._segment is None:
            return JournalDamaged(str(self._directory / FOLDER), 0, expected)
        return JournalDamaged(str(self._segment.path), self._segment.offset, expected)

    def close(self) -> None:
        """Let go of the file that is being read."""
        if self._segment is not None:
            self._segment.close()
            self._segment = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _enter(self, firsts: list[int]) -> SegmentReader:
        at = bisect_right(firsts, self.next)
        if at == 0:
            raise StoreError(f"the journal begins with record {firsts[0]}; record {self.next} is not kept")
        self._segment = self._open(firsts[at - 1])
        return self._segment

    def _follow(self, segment: SegmentReader, following: int, *, kept: bool) -> None:
        if following != segment.next:
            if not kept:
                raise StoreError(f"record {segment.next} is not kept any more; it was read too late")
            path = str(self._directory / FOLDER)
            raise JournalDamaged(
                path, 0, f"a segment that begins with record {segment.next}, not {following}"
            )
        segment.close()
        self._segment = self._open(following)

    def _open(self, first: int) -> SegmentReader:
        path = segment_path(self._directory, first)
        try:
            return SegmentReader(path)
        except FileNotFoundError as error:
            raise StoreError(f"record {first} is not kept any more; it was read too late") from error
