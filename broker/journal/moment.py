"""Moments of the dataset's past, as sequence numbers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

from triplewire.broker.errors import JournalDamaged, StoreError

from .reader import JournalReader
from .segment import first_sequences, read_header, segment_path
from .snapshot import Snapshot, snapshot_sequences

if TYPE_CHECKING:
    from pathlib import Path

# A sequence number, or a time that knows its zone.
Moment: TypeAlias = int | datetime


def sequence_at(directory: Path, moment: Moment) -> int:
    """The last record that is not later than a moment.

    Raises:
        StoreError: the time has no zone, or lies before what is kept.
        JournalDamaged: the journal can't be trusted.
    """
    if isinstance(moment, int):
        return moment
    if moment.tzinfo is None:
        raise StoreError(f"{moment} needs a time zone")
    time_ms = int(moment.timestamp() * 1000)
    firsts = first_sequences(directory)
    for first in reversed(firsts):
        header = read_header(segment_path(directory, first))
        if header is not None and (header.time_ms <= time_ms or first == 1):
            return _last_until(directory, first - 1, time_ms)
    return _held_until(directory, firsts, time_ms)


def _last_until(directory: Path, after: int, time_ms: int) -> int:
    last = after
    with JournalReader(directory, after) as reader:
        for frame in reader.frames():
            if frame.time_ms > time_ms:
                break
            last = frame.sequence
    return last


def _held_until(directory: Path, firsts: list[int], time_ms: int) -> int:
    """Where all records of before that time are gone, a snapshot can still tell which was the last of them."""
    sequences = snapshot_sequences(directory)
    if not firsts and not sequences:
        return 0
    for sequence in reversed(sequences):
        try:
            manifest = Snapshot.open(directory, sequence).manifest
        except JournalDamaged:
            continue
        if manifest.time_ms <= time_ms and (not firsts or manifest.until == firsts[0] - 1):
            return manifest.until
    wanted = datetime.fromtimestamp(time_ms / 1000, UTC).isoformat()
    raise StoreError(f"what was at {wanted} is not kept")
