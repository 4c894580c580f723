"""From a directory to the dataset that was there when the last process ended, however it ended.

The journal and its snapshots are the truth.  The engine in memory is filled from them; the files of the disk engine
(`DIR/store`) are brought up to them, and made anew where they are too old for that, or half made.  Only files that
came here without a journal are believed without it: a snapshot is made of them first.
"""

from __future__ import annotations

import logging
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph

from triplewire.broker.delta_writer import write_delta
from triplewire.broker.errors import StoreError
from triplewire.broker.journal.checkpoint import checkpoint
from triplewire.broker.journal.journal import Journal
from triplewire.broker.journal.reader import JournalReader
from triplewire.broker.journal.recovery import recover
from triplewire.broker.journal.snapshot import remove_snapshot, snapshot_sequences
from triplewire.broker.journal.snapshot_writer import write_draft

from .churn import Churn
from .copying import copy_of
from .dataset import Dataset, Kept
from .epochs import Epochs
from .position import read_position, remove_position, write_position

if TYPE_CHECKING:
    from triplewire.broker.config import JournalConfig, StoreConfig

log = logging.getLogger("triplewire.broker.dataset")


def open_dataset(config: StoreConfig, journal_config: JournalConfig) -> Dataset:
    """The dataset that the settings name, with everything that was acknowledged before.

    Raises:
        StoreError: another process has it, or its files can't be read or written.
        JournalDamaged: what is kept can't be trusted.
    """
    if not config.data:
        return Dataset(pyoxigraph.Store(), Churn(0))
    directory = Path(config.data)
    began = time.perf_counter()
    journal = Journal.open(directory, journal_config)
    try:
        on_disk = config.engine == "disk"
        store = (_on_disk if on_disk else _in_memory)(directory, journal, journal_config)
        quads = len(store)
        epochs = Epochs.begin(directory, journal.last_sequence)
    except BaseException:
        journal.close()
        raise
    log.info(
        "= %s: %d quads, record %d of the journal, in %.1f s%s",
        directory,
        quads,
        journal.last_sequence,
        time.perf_counter() - began,
        f"; {journal.torn_bytes} bytes of a record that was never acknowledged were cut off"
        if journal.torn_bytes
        else "",
    )
    flush_s = config.flush_s if on_disk else None
    return Dataset(store, Churn(quads), Kept(directory, journal, epochs, journal_config, flush_s))


def _has_history(directory: Path, journal: Journal) -> bool:
    return journal.last_sequence > 0 or bool(snapshot_sequences(directory))


def _in_memory(directory: Path, journal: Journal, config: JournalConfig) -> pyoxigraph.Store:
    path = directory / "store"
    if not _has_history(directory, journal) and path.is_dir():
        log.info("= %s came without a journal: it is read into memory", path)
        store, quads = copy_of(_open(path), lambda: None)
        if quads:
            checkpoint(journal, store, config, time.time())
        return store
    store = pyoxigraph.Store()
    recover(directory, store)
    return store


def _on_disk(directory: Path, journal: Journal, config: JournalConfig) -> pyoxigraph.Store:
    path = directory / "store"
    position = read_position(directory)
    if not _has_history(directory, journal) and (position is None or position.sequence == 0):
        remove_position(directory)
        store = _open(path)
        if next(store.quads_for_pattern(None, None, None), None) or next(store.named_graphs(), None):
            checkpoint(journal, store, config, time.time())
        write_position(directory, journal.last_sequence)
        return store
    if position is None or not path.is_dir() or position.sequence < journal.first_sequence - 1:
        return _rebuilt(directory, path, journal)
    if position.sequence > journal.last_sequence:
        return _ahead(directory, position.sequence, journal)
    store = _open(path)
    with JournalReader(directory, position.sequence) as reader:
        for record in reader:
            write_delta(store, record.delta())
    if not position.is_trusted:
        # The machine lost power: the store may have what the journal has lost.  Then the store has the word.
        checkpoint(journal, store, config, time.time())
    return store


def _ahead(directory: Path, sequence: int, journal: Journal) -> pyoxigraph.Store:
    """The store outlived the end of its journal, lost or set aside: it has the word, and a new journal begins."""
    log.warning(
        "= the store is at record %d and its journal ends at %d: it goes on from the store",
        sequence,
        journal.last_sequence,
    )
    store = _open(directory / "store")
    draft = write_draft(directory, store, sequence)
    draft.publish(sequence, max(int(time.time() * 1000), journal.last_time_ms))
    for old in snapshot_sequences(directory):
        if old != sequence:
            remove_snapshot(directory, old)
    journal.begin_after(sequence)
    return store


def _rebuilt(directory: Path, path: Path, journal: Journal) -> pyoxigraph.Store:
    log.info("= %s is not what the journal goes on from: it is made anew", path)
    remove_position(directory)
    shutil.rmtree(path, ignore_errors=True)
    store = _open(path)
    done = recover(directory, store)
    store.optimize()
    store.flush()
    write_position(directory, min(done.sequence, journal.last_sequence))
    return store


def _open(path: Path) -> pyoxigraph.Store:
    try:
        path.mkdir(parents=True, exist_ok=True)
        return pyoxigraph.Store(str(path))
    except OSError as error:
        raise StoreError(
            f"the store in {path} can't be opened: {' '.join(str(error).split())[:300]}"
        ) from error
