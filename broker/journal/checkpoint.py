"""A snapshot of the store as it is now, and what that makes dispensable."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from triplewire.broker.errors import JournalDamaged, StoreError

from .snapshot import Snapshot, remove_snapshot, snapshot_sequences
from .snapshot_writer import write_draft

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyoxigraph

    from triplewire.broker.config import JournalConfig

    from .journal import Journal
    from .snapshot_writer import Draft

_SETTLE_S = 60.0


def checkpoint(
    journal: Journal,
    store: pyoxigraph.Store,
    config: JournalConfig,
    now: float,
    make: Callable[[Path, pyoxigraph.Store, int], Draft] = write_draft,
) -> Snapshot:
    """Write a snapshot, let the oldest go, and drop segments that are not needed any more.

    One at a time, on any thread but the writer's, while updates go on.  `make` is `write_draft`, or does the same in
    another way.

    Raises:
        StoreError: it can't be written; the snapshots and segments are as they were.
    """
    appended_bytes = journal.appended_bytes
    sequence = journal.settled_sequence
    snapshot = _existing(journal, sequence) or _write(
        journal, partial(make, journal.directory, store), sequence, now
    )
    for old in snapshot_sequences(journal.directory)[: -max(config.snapshots_kept, 1)]:
        remove_snapshot(journal.directory, old)
    journal.snapshot_made(appended_bytes)
    journal.retain(now)
    return snapshot


def _existing(journal: Journal, sequence: int) -> Snapshot | None:
    if sequence not in snapshot_sequences(journal.directory):
        return None
    try:
        snapshot = Snapshot.open(journal.directory, sequence)
        snapshot.check()
    except JournalDamaged:
        return None
    return snapshot


def _write(journal: Journal, make: Callable[[int], Draft], sequence: int, now: float) -> Snapshot:
    draft = make(sequence)
    try:
        until = _last_held(journal)
        journal.sync()  # what the snapshot may hold must not be lost from the journal behind it
        return draft.publish(until, max(int(now * 1000), journal.last_time_ms))
    except StoreError:
        draft.discard()
        raise


def _last_held(journal: Journal) -> int:
    """The last record that the store can have had when the draft was done."""
    until = journal.last_sequence
    deadline = time.monotonic() + _SETTLE_S
    while journal.settled_sequence < until <= journal.last_sequence:
        if time.monotonic() > deadline:
            raise StoreError(
                f"record {until} of the journal was not settled in {_SETTLE_S:.0f} s; no snapshot is made"
            )
        time.sleep(0.001)
    return min(until, journal.settled_sequence)
