"""The dataset after a record, from a snapshot and the records between.

Theory of operation.  Let the snapshot lie between `sequence` and `until` (snapshot.py), and let the dataset after
record `at` be wanted.

- Of a quad that records up to `at` name, behind `sequence`, the last of them has the word.
- Of any other quad that records behind `at` name, up to `until`, the first of them has the word: it came with that
  record, so it was not there before; or it went with it, so it was.
- Of a quad that none of these records names, the snapshot has the word.

So a snapshot serves moments after it and moments before it, as far as the journal's records reach.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triplewire.broker.errors import JournalDamaged, StoreError

from .moment import sequence_at
from .net_change import NetChange
from .reader import JournalReader
from .segment import first_sequences
from .snapshot import FOLDER, Snapshot, snapshot_sequences

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .moment import Moment

_LOG = logging.getLogger(__name__)
_LINES_AT_ONCE = 100_000


@dataclass(frozen=True, slots=True)
class Past:
    """The dataset after record `sequence`, not yet read: quads as text, and all named graphs, also empty ones."""

    sequence: int
    records: int
    torn_bytes: int
    graphs: tuple[str, ...]
    snapshot: Snapshot | None
    net: NetChange

    def texts(self) -> Iterator[bytes]:
        """Its quads as N-Quads, each once, in pieces.

        Raises:
            JournalDamaged: the snapshot is not what was written.
        """
        if self.snapshot is not None:
            yield from map(self.net.without_named, self.snapshot.texts())
        there = self.net.there()
        for at in range(0, len(there), _LINES_AT_ONCE):
            yield b"\n".join([*there[at : at + _LINES_AT_ONCE], b""])


def past(directory: Path, up_to: Moment | None = None) -> Past:
    """The dataset as it was after a record or at a time; as it is, where `up_to` is None.

    Changes nothing and needs no lock.  A snapshot that is not whole is passed over for an older one, with a warning.

    Raises:
        JournalDamaged: the journal can't be trusted, or what is left of it does not make a dataset.
        StoreError: that moment is not kept, or has not come.
    """
    at = None if up_to is None else sequence_at(directory, up_to)
    snapshot = _base(directory, at)
    sequence, until = (snapshot.manifest.sequence, snapshot.manifest.until) if snapshot else (0, 0)
    net = NetChange()
    records = 0
    last = after = sequence if at is None else min(sequence, at)
    with JournalReader(directory, after) as reader:
        for record in reader:
            if at is None or record.sequence <= at:
                net.redo(record)
            elif record.sequence <= until:
                net.undo(record)
            else:
                break
            records += 1
            last = record.sequence
        _check_reach(reader, last, at, until)
        torn = reader.torn_bytes
    graphs = dict.fromkeys(snapshot.manifest.graphs if snapshot else (), True) | net.graphs
    named = tuple(graph for graph, is_there in graphs.items() if is_there)
    return Past(last if at is None else at, records, torn, named, snapshot, net)


def _check_reach(reader: JournalReader, last: int, at: int | None, until: int) -> None:
    """The records must reach to what the snapshot may hold, and to the moment asked for."""
    if at is not None and last == at < until:
        raise StoreError(f"there is no journal that leads back to record {at}")
    if last < until:
        raise reader.damaged(f"record {until}, which a snapshot may hold")
    if at is not None and last < at:
        raise StoreError(f"the journal ends with record {last}; record {at} has not come")


def _base(directory: Path, at: int | None) -> Snapshot | None:
    """The whole snapshot to start from; None is the empty dataset before record 1.

    A snapshot behind `at` is better than none: a dataset that began with a load was not empty before record 1, and
    snapshot 0 may be gone.
    """
    sequences = snapshot_sequences(directory)
    before = [sequence for sequence in sequences if at is None or sequence <= at]
    for sequence in reversed(before):
        if (snapshot := _whole(directory, sequence)) is not None:
            return snapshot
    for sequence in sequences[len(before) :]:
        if (snapshot := _whole(directory, sequence)) is not None:
            return snapshot
    firsts = first_sequences(directory)
    if 0 not in sequences and (not sequences or firsts[:1] == [1]):
        return None
    begin = f"the journal begins with record {firsts[0]}" if firsts else "there is no journal"
    raise JournalDamaged(str(directory / FOLDER), 0, f"a whole snapshot: {begin}")


def _whole(directory: Path, sequence: int) -> Snapshot | None:
    try:
        snapshot = Snapshot.open(directory, sequence)
        snapshot.check()
    except JournalDamaged as error:
        _LOG.warning("snapshot %d is passed over: %s", sequence, error)
        return None
    return snapshot
