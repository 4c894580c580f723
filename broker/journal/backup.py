"""A copy of what is kept, from a directory that may be in use."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triplewire.broker.errors import JournalDamaged, StoreError

from .files import sync_folder
from .inspection import verify
from .segment import FOLDER, first_sequences, segment_path
from .snapshot import FOLDER as SNAPSHOTS
from .snapshot import Snapshot, snapshot_path, snapshot_sequences

if TYPE_CHECKING:
    from pathlib import Path

_TRIES = 5


@dataclass(frozen=True, slots=True)
class BackedUp:
    """The last record that the copy has, and its size in bytes."""

    sequence: int
    size: int


def back_up(directory: Path, out: Path) -> BackedUp:
    """Copy the newest whole snapshot and the journal behind it to `out`, a new directory a broker can start on.

    Snapshots never change and segments only grow, so nothing must stop for it; where one is dropped meanwhile, the
    copy begins again.  The copy is read and checked before this returns.

    Raises:
        StoreError: `out` is there already or can't be written, or there is nothing to copy.
        JournalDamaged: what is kept can't be trusted.
    """
    if out.exists() and any(out.iterdir()):
        raise StoreError(f"{out} is there already, and not empty")
    if not snapshot_sequences(directory) and not first_sequences(directory):
        raise StoreError(f"{directory} has neither a journal nor snapshots")
    for _ in range(_TRIES):
        try:
            _copy(directory, out)
            break
        except FileNotFoundError:
            shutil.rmtree(out, ignore_errors=True)
        except OSError as error:
            raise StoreError(f"{out} can't be written: {error.strerror}") from error
    else:
        raise StoreError(f"{directory} changes faster than it can be copied")
    report = verify(out)
    if report.problems:
        raise JournalDamaged(str(out), 0, f"a whole copy; {report.problems[0]}")
    ends = [segment.last for segment in report.segments] + [one.sequence for one in report.snapshots]
    size = sum(one.size for one in report.segments) + sum(one.size for one in report.snapshots)
    return BackedUp(max(ends), size)


def _copy(directory: Path, out: Path) -> None:
    (out / FOLDER).mkdir(parents=True)
    (out / SNAPSHOTS).mkdir()
    base = 0
    for sequence in reversed(snapshot_sequences(directory)):
        try:
            Snapshot.open(directory, sequence).check()
        except JournalDamaged:
            continue
        shutil.copytree(snapshot_path(directory, sequence), snapshot_path(out, sequence))
        base = sequence
        break
    firsts = first_sequences(directory)
    needed = [
        first
        for first, following in zip(firsts, [*firsts[1:], None], strict=True)
        if following is None or following - 1 > base
    ]
    for first in needed:
        shutil.copyfile(segment_path(directory, first), segment_path(out, first))
    sync_folder(out / FOLDER)
    sync_folder(out)
