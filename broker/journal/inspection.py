"""Looking at a journal that may be open, or damaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from triplewire.broker.errors import JournalDamaged

from .reader import JournalReader
from .segment import FOLDER, SegmentReader, first_sequences, segment_path
from .snapshot import Snapshot, snapshot_path, snapshot_sequences

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .record import Record


@dataclass(frozen=True, slots=True)
class SegmentReport:
    """What is in a segment; `last` is before `first` where it has no record, `problem` is empty where it is whole."""

    path: Path
    first: int
    last: int
    size: int
    torn_bytes: int
    problem: str


@dataclass(frozen=True, slots=True)
class SnapshotReport:
    """What is in a snapshot; `problem` is empty where it is whole."""

    path: Path
    sequence: int
    quads: int
    size: int
    problem: str


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that was found; `problems` are all that a start would stop at, and snapshots that are not whole."""

    segments: tuple[SegmentReport, ...]
    snapshots: tuple[SnapshotReport, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, one sentence each."""
        found = [report.problem for report in self.segments] + [report.problem for report in self.snapshots]
        return tuple(problem for problem in found if problem)


def verify(directory: Path) -> Report:
    """Read every byte of segments and snapshots; a damaged one does not keep the others from being looked at."""
    firsts = first_sequences(directory)
    segments = []
    expected: int | None = None
    for number, first in enumerate(firsts):
        report = _segment(directory, first, expected, last=number == len(firsts) - 1)
        segments.append(report)
        expected = None if report.problem else report.last + 1
    snapshots = [_snapshot(directory, sequence) for sequence in snapshot_sequences(directory)]
    return Report(tuple(segments), tuple(snapshots))


def dump(directory: Path, after: int = 0, up_to: int | None = None) -> Iterator[Record]:
    """The records after one sequence number and up to another, oldest first.

    Raises:
        JournalDamaged: one can't be trusted; those before it came.
        StoreError: the first ones are not kept any more.
    """
    with JournalReader(directory, after) as reader:
        for record in reader:
            if up_to is not None and record.sequence > up_to:
                return
            yield record


def _segment(directory: Path, first: int, expected: int | None, *, last: bool) -> SegmentReport:
    path = segment_path(directory, first)
    end, torn, problem = first - 1, 0, ""
    try:
        reader = SegmentReader(path)
        try:
            for frame in reader.frames():
                end = frame.sequence
            torn = reader.finish(last=last)
        finally:
            reader.close()
        if expected not in {None, first}:
            folder = str(directory / FOLDER)
            raise JournalDamaged(folder, 0, f"a segment that begins with record {expected}, not {first}")  # noqa: TRY301 - one of three ways to the same report
    except JournalDamaged as error:
        problem = str(error)
    return SegmentReport(path, first, end, path.stat().st_size, torn, problem)


def _snapshot(directory: Path, sequence: int) -> SnapshotReport:
    try:
        snapshot = Snapshot.open(directory, sequence)
        snapshot.check()
    except JournalDamaged as error:
        return SnapshotReport(snapshot_path(directory, sequence), sequence, 0, 0, str(error))
    return SnapshotReport(snapshot.path, sequence, snapshot.manifest.quads, snapshot.size, "")
