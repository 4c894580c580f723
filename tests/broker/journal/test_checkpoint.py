"""Snapshots of a store that changes, and what they make dispensable."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

import pyoxigraph
import pytest
from support.deltas import World, record, replacement, replacements

from triplewire.broker.config import JournalConfig
from triplewire.broker.delta_writer import write_delta
from triplewire.broker.errors import StoreError
from triplewire.broker.journal import checkpoint as checkpoint_module
from triplewire.broker.journal.checkpoint import checkpoint
from triplewire.broker.journal.recovery import recover
from triplewire.broker.journal.segment import first_sequences
from triplewire.broker.journal.snapshot import snapshot_sequences

CONFIG = JournalConfig(segment_bytes=1000, keep_bytes=0, snapshots_kept=2)


def recovered(directory):
    store = pyoxigraph.Store()
    return recover(directory, store), World.of(store)


def test_the_newest_are_kept(journal, tmp_path):
    """As many as is set, and of the journal what the oldest of them needs."""
    store = pyoxigraph.Store()
    for begin in range(0, 40, 10):
        record(journal, replacements(begin + 10).deltas[begin:], store)
        checkpoint(journal, store, CONFIG, 2000)
    assert snapshot_sequences(tmp_path) == [30, 40]
    assert first_sequences(tmp_path)[0] <= 31
    shutil.rmtree(tmp_path / "snapshots" / f"{40:020}")
    assert recovered(tmp_path)[1] == replacements(40).worlds[-1]


def test_one_is_always_kept(journal, tmp_path):
    """Whatever is set."""
    store = pyoxigraph.Store()
    for number in (1, 2):
        record(journal, [replacement(number)], store)
        checkpoint(journal, store, JournalConfig(snapshots_kept=0), 0)
    assert snapshot_sequences(tmp_path) == [2]


def test_nothing_new_nothing_written(journal, tmp_path):
    """The snapshot that is there will do, if it is whole."""
    store = pyoxigraph.Store()
    record(journal, [replacement(1)], store)
    first = checkpoint(journal, store, CONFIG, 1)
    assert checkpoint(journal, store, CONFIG, 2).manifest == first.manifest
    (first.path / "part-00000.nq.gz").write_bytes(b"")
    again = checkpoint(journal, store, CONFIG, 5000)
    assert again.manifest.time_ms == 5_000_000
    again.check()


def test_its_time_is_not_before_its_records(journal):
    """Whatever the clock says."""
    store = pyoxigraph.Store()
    record(journal, [replacement(1)], store, now=500)
    assert checkpoint(journal, store, CONFIG, 20).manifest.time_ms == 500_000


def test_it_waits_for_the_record_on_its_way(journal, monkeypatch):
    """The store may have it already; whether it stays is not known before it is settled or taken back."""
    store = pyoxigraph.Store()
    record(journal, [replacement(1)], store)
    for end in (journal.settle, journal.undo_last):
        journal.append(replacement(2), "", 0)
        write_delta(store, replacement(2))
        timer = threading.Timer(0.05, end)
        timer.start()
        began = time.monotonic()
        manifest = checkpoint(journal, store, CONFIG, 0).manifest
        assert time.monotonic() - began >= 0.04
        assert manifest.until == journal.last_sequence
        timer.join()
    record(journal, [replacement(3)], store)
    monkeypatch.setattr(checkpoint_module, "_SETTLE_S", 0.01)
    journal.append(replacement(4), "", 0)
    with pytest.raises(StoreError, match="was not settled"):
        checkpoint(journal, store, CONFIG, 0)
    assert not list(journal.directory.glob("snapshots/*.draft"))


def test_the_journal_is_safe_before_the_snapshot_is_there(journal, tmp_path, monkeypatch):
    """Else a loss of power could leave a snapshot of what the journal has lost."""
    store = pyoxigraph.Store()
    record(journal, [replacement(1)], store)
    synced = []
    real = os.fsync

    def sync(fd):
        synced.append((str(Path(f"/proc/self/fd/{fd}").readlink()), snapshot_sequences(tmp_path)))
        real(fd)

    monkeypatch.setattr(os, "fsync", sync)
    checkpoint(journal, store, CONFIG, 0)
    assert (str(tmp_path / "journal" / f"{1:020}.twj"), []) in synced


def test_a_failure_leaves_all_as_it_was(journal, tmp_path):
    """The older snapshots, and the journal behind them."""
    store = pyoxigraph.Store()
    record(journal, replacements(20).deltas, store)
    checkpoint(journal, store, CONFIG, 0)
    record(journal, replacements(40).deltas[20:], store)
    before = snapshot_sequences(tmp_path), first_sequences(tmp_path)

    def fail(*_):
        raise StoreError("the disk is full")

    with pytest.raises(StoreError):
        checkpoint(journal, store, CONFIG, 0, fail)
    assert (snapshot_sequences(tmp_path), first_sequences(tmp_path)) == before


def test_while_updates_go_on(journal, tmp_path):
    """Snapshots of a store that never stands still, and each of them leads to the dataset as it is."""
    store = pyoxigraph.Store()
    done = threading.Event()
    made = []

    def snapshots():
        while not done.is_set():
            made.append(checkpoint(journal, store, JournalConfig(snapshots_kept=1000), 0).manifest)

    writer = threading.Thread(target=snapshots)
    writer.start()
    for number in range(1, 401):
        journal.append(replacement(number), "", number)
        write_delta(store, replacement(number))
        journal.settle()
    done.set()
    writer.join()
    assert any(manifest.until > manifest.sequence for manifest in made)
    worlds = replacements(400).worlds
    for sequence in sorted(snapshot_sequences(tmp_path), reverse=True)[:25]:
        found, world = recovered(tmp_path)
        assert (found.sequence, found.snapshot) == (400, sequence)
        assert world == worlds[400]
        shutil.rmtree(tmp_path / "snapshots" / f"{sequence:020}")
