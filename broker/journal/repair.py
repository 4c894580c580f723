"""Going on without what is damaged, when the operator says so.

What can be trusted is kept: everything up to the first damage behind the newest snapshot that is of use.  What comes
after it is set aside, not thrown away: what is set aside ends in `.aside`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from triplewire.broker.errors import JournalDamaged

from .files import sync_folder
from .segment import FOLDER, HEADER_BYTES, SegmentReader, first_sequences, segment_path
from .snapshot import Snapshot, snapshot_path, snapshot_sequences

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Repaired:
    """What was found and done, one sentence each; nothing where nothing was damaged."""

    findings: tuple[str, ...]


def repair(directory: Path) -> Repaired:
    """Make a damaged journal one that can be opened again; for a directory that no broker has open.

    Raises:
        JournalDamaged: there is nothing whole to begin with.
        OSError: the files can't be written.
    """
    sequences = snapshot_sequences(directory)
    useless: list[int] = []
    for sequence in reversed(sequences):
        until = _until(directory, sequence)
        if until is not None:
            reach = _Reach(directory, sequence)
            if reach.last >= until:
                return Repaired(tuple(_aside_snapshots(directory, useless) + reach.cut()))
        useless.append(sequence)
    firsts = first_sequences(directory)
    if firsts[:1] not in ([], [1]) or (sequences and not firsts):
        begin = f"the journal begins with record {firsts[0]}" if firsts else "there is no journal"
        raise JournalDamaged(str(directory / FOLDER), 0, f"a whole snapshot: {begin}")
    reach = _Reach(directory, 0)
    return Repaired(tuple(_aside_snapshots(directory, useless) + reach.cut()))


def _until(directory: Path, sequence: int) -> int | None:
    """The last record that a snapshot may hold; None where it is not whole."""
    try:
        snapshot = Snapshot.open(directory, sequence)
        snapshot.check()
    except JournalDamaged:
        return None
    return snapshot.manifest.until


class _Reach:
    """How far records can be trusted behind a snapshot, and what ends them."""

    def __init__(self, directory: Path, base: int) -> None:
        self.last = base
        self._directory = directory
        self._problem: tuple[int, JournalDamaged] | None = None
        self._later: list[int] = []
        firsts = first_sequences(directory)
        expected: int | None = None
        for number, first in enumerate(firsts):
            following = firsts[number + 1] if number + 1 < len(firsts) else None
            if following is not None and following - 1 <= base:
                continue  # the snapshot holds all of it: a start does not read it
            problem = self._read(first, expected, last=following is None)
            if problem is not None:
                self._problem = (first, problem)
                self._later = firsts[number + 1 :]
                return
            expected = self.last + 1

    def _read(self, first: int, expected: int | None, *, last: bool) -> JournalDamaged | None:
        path = segment_path(self._directory, first)
        if first > self.last + 1 or expected not in {None, first}:
            return JournalDamaged(str(path), 0, f"record {self.last + 1}")
        try:
            reader = SegmentReader(path)
        except JournalDamaged as error:
            return error
        try:
            for _ in reader.frames():
                pass
            reader.finish(last=last)
        except JournalDamaged as error:
            return JournalDamaged(error.path, reader.offset, error.expected)
        finally:
            self.last = max(self.last, reader.next - 1)
            reader.close()
        return None

    def cut(self) -> list[str]:
        """Set aside what can't be trusted, and what comes after it; says what was done."""
        if self._problem is None:
            return []
        first, problem = self._problem
        said = [str(problem), *_cut(self._directory, first, problem.offset, self._later)]
        return [*said, f"the dataset is what it was after record {self.last}"]


def _aside_snapshots(directory: Path, sequences: list[int]) -> list[str]:
    said = []
    for sequence in sequences:
        path = snapshot_path(directory, sequence)
        said.append(f"snapshot {_aside(path).name} is damaged, or can't be used without what is")
    return said


def set_aside(directory: Path) -> None:
    """Set all segments aside: something else has the word.

    Raises:
        OSError: a file can't be renamed.
    """
    for first in first_sequences(directory):
        _aside(segment_path(directory, first))


def _cut(directory: Path, first: int, offset: int, later: list[int]) -> list[str]:
    path = segment_path(directory, first)
    kept = None
    if offset > HEADER_BYTES:
        kept = path.with_name(f"{path.name}.kept")
        with path.open("rb") as source, kept.open("wb") as target:
            target.write(source.read(offset))
            target.flush()
    said = [f"{_aside(path).name} holds what was damaged, {path.name} what came before it"]
    if kept is not None:
        kept.replace(path)
    said += [f"{_aside(segment_path(directory, sequence)).name} came after it" for sequence in later]
    sync_folder(directory / FOLDER)
    return said


def _aside(path: Path) -> Path:
    number = 0
    while (target := path.with_name(f"{path.name}.{number}.aside")).exists():
        number += 1
    path.rename(target)
    return target
