"""Writing, renewing and keeping, with and without a journal."""

from __future__ import annotations

import os
import subprocess
import threading
import time

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, NamedNode, Quad
from support.deltas import EX, World, examples, histories, replacement

from triplewire.broker.config import JournalConfig, StoreConfig
from triplewire.broker.dataset import dataset as module
from triplewire.broker.dataset.churn import Churn
from triplewire.broker.dataset.copying import copy_of
from triplewire.broker.dataset.dataset import Dataset
from triplewire.broker.dataset.opening import open_dataset
from triplewire.broker.errors import StoreError
from triplewire.broker.journal.inspection import dump
from triplewire.broker.journal.snapshot import snapshot_sequences
from triplewire.broker.model import QuadDelta

BLANK = Quad(BlankNode("kept"), NamedNode(f"{EX}p"), BlankNode("other"), BlankNode("graph"))


def opened(directory, engine="memory", **journal):
    return open_dataset(StoreConfig(data=str(directory), engine=engine), JournalConfig(**journal))


def in_memory():
    return Dataset(pyoxigraph.Store(), Churn(0))


@pytest.fixture(params=["none", "memory", "disk"])
def dataset(request, tmp_path):
    one = in_memory() if request.param == "none" else opened(tmp_path, request.param)
    yield one
    one.close()


@examples(60)
@given(histories(max_size=12), st.data())
def test_a_renewal_changes_nothing(history, data):
    """At any place of any history, blank nodes and empty graphs and all."""
    dataset = in_memory()
    at = data.draw(st.sets(st.integers(0, len(history.deltas) - 1), max_size=3))
    for number, delta in enumerate(history.deltas):
        if number in at:
            dataset.renew()
        dataset.write(delta)
    dataset.renew()
    assert World.of(dataset.store) == history.worlds[-1]
    assert dataset.upkeep.renewals == len(at) + 1


@examples(60)
@given(histories(max_size=6), histories(max_size=6))
def test_a_copy_is_what_was_copied(first, second):
    """And is a store of its own."""
    dataset = in_memory()
    for delta in first.deltas:
        dataset.write(delta)
    copy, quads = copy_of(dataset.store, lambda: None)
    assert World.of(copy) == first.worlds[-1]
    assert quads == len(first.worlds[-1].quads)
    for delta in second.deltas:
        dataset.write(delta)
    assert World.of(copy) == first.worlds[-1]


def test_renewals_while_changes_go_on(dataset):
    """Nothing is lost, nothing is told twice, and whoever reads sees whole changes."""
    numbers = 3000
    torn = []
    stop = threading.Event()

    def look():
        while not stop.is_set():
            values = list(dataset.store.quads_for_pattern(NamedNode(f"{EX}sensor"), None, None))
            if len(values) > 1:
                torn.append(values)

    def renew():
        while not stop.is_set():
            dataset.renew()

    told = []
    dataset.listen(told.append)
    threads = [threading.Thread(target=target) for target in (look, renew)]
    for thread in threads:
        thread.start()
    dataset.write(QuadDelta(frozenset({BLANK}), frozenset()))
    for number in range(1, numbers + 1):
        with dataset.quiet:
            dataset.write(replacement(number))
    stop.set()
    for thread in threads:
        thread.join()
    assert frozenset(dataset.store) == replacement(numbers).inserted | {BLANK}
    assert told[1:] == [replacement(number) for number in range(1, numbers + 1)]
    assert dataset.upkeep.renewals > 1
    assert not torn


def test_what_is_dead_is_renewed_when_it_costs(tmp_path):
    """By the keeper, and again only after a rest."""
    dataset = in_memory()
    for number in range(1, 3000):
        dataset.write(replacement(number))
    assert dataset.churn.dead == 2998
    assert dataset.churn.is_due
    assert dataset.is_keep_due()
    old = dataset.store
    dataset.keep()
    assert dataset.upkeep.renewals == 1
    assert dataset.store is not old
    assert dataset.churn.dead == 0
    assert not dataset.churn.is_due
    assert frozenset(dataset.store) == replacement(2999).inserted


def test_the_old_store_goes_at_a_quiet_moment(monkeypatch):
    """Not while changes come, unless they come for too long."""
    dataset = in_memory()
    dataset.write(replacement(1))
    dataset.renew()
    dataset.write(replacement(2))
    dataset.keep()
    assert dataset._retired is not None
    assert dataset.is_keep_due()
    monkeypatch.setattr(module, "_QUIET_WITHIN_S", 0.0)
    dataset.keep()
    assert dataset._retired is None
    assert not dataset.is_keep_due()


def test_a_failed_renewal_leaves_the_store(monkeypatch):
    """And the next one goes."""
    dataset = in_memory()
    for number in range(1, 3000):
        dataset.write(replacement(number))

    def fail(*_):
        raise StoreError("no")

    with monkeypatch.context() as broken:
        broken.setattr(module, "copy_of", fail)
        dataset.keep()
    assert dataset.upkeep.failures == 1
    assert dataset.upkeep.renewals == 0
    dataset.write(replacement(3000))
    dataset.renew()
    assert frozenset(dataset.store) == replacement(3000).inserted


def test_a_change_that_the_store_refuses_is_not_in_the_journal(tmp_path, monkeypatch):
    """Nor anywhere else, and the next one is."""
    dataset = opened(tmp_path)
    dataset.write(replacement(1))

    def fail(*_):
        raise StoreError("full")

    with monkeypatch.context() as broken:
        broken.setattr(module, "write_delta", fail)
        with pytest.raises(StoreError, match="full"):
            dataset.write(replacement(2))
    assert frozenset(dataset.store) == replacement(1).inserted
    dataset.write(replacement(2))
    dataset.close()
    assert [record.delta() for record in dump(tmp_path)] == [replacement(1), replacement(2)]


def test_snapshots_are_written_when_due(tmp_path):
    """And the journal in front of them goes."""
    dataset = opened(tmp_path, snapshot_bytes=2000, segment_bytes=1000, keep_bytes=0)
    for number in range(1, 200):
        dataset.write(replacement(number))
        if number % 20 == 0 and dataset.is_keep_due():  # the keeper asks before it begins
            dataset.keep()
    assert dataset.upkeep.snapshots > 3
    assert len(snapshot_sequences(tmp_path)) == 2
    assert dataset.kept.journal.first_sequence > 1
    dataset.close()
    again = opened(tmp_path)
    assert frozenset(again.store) == replacement(199).inserted
    again.close()


def test_without_a_directory_there_is_no_snapshot():
    """It is told."""
    with pytest.raises(StoreError, match=r"store\.data"):
        in_memory().snapshot()


def test_closed_twice_and_kept_afterwards(dataset):
    """Nothing happens."""
    dataset.write(replacement(1))
    dataset.close()
    dataset.keep()
    dataset.sync()
    dataset.close()


@pytest.mark.parametrize("fsync", ["always", "interval", "never"])
def test_syncing(tmp_path, fsync):
    """As the settings say; closing makes all of it safe."""
    dataset = opened(tmp_path, fsync=fsync)
    assert dataset.answers_when_synced is (fsync == "always")
    dataset.write(replacement(1))
    dataset.sync()
    unsynced = dataset.kept.journal.statistics().unsynced_bytes
    assert (unsynced > 0) is (fsync == "never")
    dataset.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small file system")
@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_full_disk(tmp_path, engine):
    """Changes are refused with a reason, what was there stays and can be read, and it goes on when there is room."""
    mount = tmp_path / "small"
    mount.mkdir()
    size = "8m" if engine == "memory" else "16m"
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", mount], check=False)
    if made.returncode:
        pytest.skip("no small file system can be mounted here")
    dataset = opened(mount / "data", engine, fsync="never")
    filler = mount / "filler"
    try:
        dataset.write(replacement(1))
        free = os.statvfs(mount)
        filler.write_bytes(bytes(free.f_bavail * free.f_bsize - 16384))
        number = 2
        with pytest.raises(StoreError, match="No space left"):  # noqa: PT012 - sooner or later
            while True:
                dataset.write(replacement(number))
                number += 1
        assert frozenset(dataset.store) == replacement(number - 1).inserted
        with pytest.raises(StoreError):
            dataset.write(replacement(number))
        filler.unlink()
        for _ in range(5):
            dataset.write(replacement(number))
            number += 1
        assert frozenset(dataset.store) == replacement(number - 1).inserted
        dataset.close()
        again = opened(mount / "data", engine)
        assert frozenset(again.store) == replacement(number - 1).inserted
        again.close()
    finally:
        time.sleep(0.1)
        del dataset
        subprocess.run(["umount", "--lazy", mount], check=True)
