"""The dataset of any moment, from snapshots before and after it."""

from __future__ import annotations

import logging
import shutil
from datetime import UTC, datetime

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.deltas import World, examples, fresh_directory, histories, record, replacement, replacements

from triplewire.broker.config import JournalConfig, StoreConfig
from triplewire.broker.dataset.offline import OfflineLoad
from triplewire.broker.dataset.opening import open_dataset
from triplewire.broker.delta_writer import write_delta
from triplewire.broker.errors import JournalDamaged, StoreError
from triplewire.broker.journal.checkpoint import checkpoint
from triplewire.broker.journal.journal import Journal
from triplewire.broker.journal.past import past
from triplewire.broker.journal.quad_lines import read_graph, read_lines
from triplewire.broker.journal.segment import first_sequences, segment_path
from triplewire.broker.journal.snapshot import snapshot_sequences
from triplewire.broker.journal.snapshot_writer import write_draft

CONFIG = JournalConfig(segment_bytes=1000, snapshots_kept=1000)


def world(found):
    text = b"".join(found.texts())
    quads = list(read_lines(text))
    assert len(quads) == len(set(quads)) == text.count(b"\n") - text.count(b"\n\n")
    return World(frozenset(quads), frozenset(map(read_graph, found.graphs)))


@given(histories(max_size=12), st.data())
@examples(60)
def test_every_moment(history, data):
    """From snapshots that were written at any time, and late, between any two records."""
    count = len(history.deltas)
    with fresh_directory() as directory:
        journal = Journal.open(directory, CONFIG)
        record(journal, history.deltas, now=1000)
        for _ in range(data.draw(st.integers(0, 3))):
            sequence = data.draw(st.integers(0, count))
            held = data.draw(st.integers(sequence, count))
            until = data.draw(st.integers(held, count))
            store = pyoxigraph.Store()
            for delta in history.deltas[:held]:
                write_delta(store, delta)
            write_draft(directory, store, sequence).publish(until, 0)
        journal.close()
        assert world(past(directory)) == history.worlds[-1]
        for at, expected in enumerate(history.worlds):
            found = past(directory, at)
            assert found.sequence == at
            assert world(found).quads == expected.quads
            assert world(found).graphs >= expected.graphs
            if at:
                assert past(directory, datetime.fromtimestamp(999 + at, UTC)).sequence == at


@pytest.fixture
def held(journal):
    """Forty records, and snapshots after 10, 20 and 30."""
    store = pyoxigraph.Store()
    for begin in range(0, 40, 10):
        record(journal, replacements(begin + 10).deltas[begin:], store)
        if begin < 30:
            checkpoint(journal, store, CONFIG, 0)
    return journal.directory


def snapshot_of(found):
    return found.snapshot.manifest.sequence if found.snapshot else None


def test_the_nearest_snapshot_before_it(held):
    """And the records between."""
    for up_to, snapshot, records in (
        (None, 30, 10),
        (40, 30, 10),
        (30, 30, 0),
        (29, 20, 9),
        (10, 10, 0),
        (9, 10, 1),  # none is before it: a later one, and back from there
    ):
        found = past(held, up_to)
        assert (snapshot_of(found), found.records) == (snapshot, records)
        assert world(found) == replacements(40).worlds[up_to or 40]


def test_a_broken_snapshot_is_passed_over(held, caplog):
    """With a warning, for an older one; in the end for the first record."""
    caplog.set_level(logging.WARNING)
    for sequence, older in ((30, 20), (20, 10), (10, None)):
        (held / "snapshots" / f"{sequence:020}" / "part-00000.nq.gz").write_bytes(b"x")
        found = past(held)
        assert snapshot_of(found) == older
        assert world(found) == replacements(40).worlds[-1]
        assert f"snapshot {sequence} is passed over: " in caplog.text


def test_before_the_first_record_that_is_kept(held):
    """What is gone is gone; what a later snapshot and the records before it tell is not."""
    firsts = first_sequences(held)
    kept = next(first for first in firsts if first > 11)
    for first in firsts[: firsts.index(kept)]:
        segment_path(held, first).unlink()
    shutil.rmtree(held / "snapshots" / f"{10:020}")
    assert kept < 19
    for at in range(kept - 1, 20):
        assert snapshot_of(past(held, at)) == 20
        assert world(past(held, at)) == replacements(40).worlds[at]
    with pytest.raises(
        StoreError, match=f"the journal begins with record {kept}; record {kept - 1} is not kept"
    ):
        past(held, kept - 2)


def test_what_has_not_come(held):
    """Is no moment yet."""
    with pytest.raises(StoreError, match="the journal ends with record 40; record 41 has not come"):
        past(held, 41)


def test_nothing_at_all(tmp_path):
    """A directory that never had a journal holds the empty dataset."""
    assert world(past(tmp_path)) == World()
    assert past(tmp_path).sequence == past(tmp_path, 0).sequence == 0


def test_without_a_whole_snapshot_or_a_beginning(held):
    """There is no dataset, and none is made up."""
    segment_path(held, 1).unlink()
    for sequence in (10, 20, 30):
        (held / "snapshots" / f"{sequence:020}" / "manifest.json").write_bytes(b"x")
    with pytest.raises(JournalDamaged, match="expected a whole snapshot: the journal begins with record"):
        past(held)
    shutil.rmtree(held / "journal")
    with pytest.raises(JournalDamaged, match="expected a whole snapshot: there is no journal"):
        past(held)
    shutil.rmtree(held / "snapshots")
    assert world(past(held)) == World()


def test_a_journal_that_begins_on_a_dataset(tmp_path):
    """Its first snapshot is number 0; without it, the records alone are not the dataset."""
    store = pyoxigraph.Store()
    write_delta(store, replacement(1))
    journal = Journal.open(tmp_path, CONFIG)
    base = checkpoint(journal, store, CONFIG, 0)
    record(journal, [replacement(2)], store)
    journal.close()
    assert world(past(tmp_path)) == replacements(2).worlds[-1]
    assert world(past(tmp_path, 0)) == replacements(1).worlds[-1]
    (base.path / "manifest.json").write_bytes(b"x")
    with pytest.raises(JournalDamaged, match="a whole snapshot"):
        past(tmp_path)


def test_records_that_a_snapshot_may_hold_must_be_there(tmp_path):
    """Half of what came after its number would make a dataset that never was."""
    store = pyoxigraph.Store()
    journal = Journal.open(tmp_path, JournalConfig())
    record(journal, replacements(5).deltas, store)
    write_draft(tmp_path, store, 2).publish(5, 0)
    journal.close()
    path = segment_path(tmp_path, 1)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(JournalDamaged, match="record 5, which a snapshot may hold"):
        past(tmp_path)
    path.unlink()
    with pytest.raises(StoreError, match="no journal that leads back to record 2"):
        past(tmp_path, 2)


def test_what_was_loaded_before_the_first_record_is_there_at_each(tmp_path):
    """Also when snapshot 0, which alone had it before record 1, is gone: a later one leads back."""
    (tmp_path / "data.nt").write_text("<urn:loaded> <urn:p> <urn:o> .\n")
    with OfflineLoad(tmp_path / "data", "memory") as into, (tmp_path / "data.nt").open("rb") as source:
        into.load(source, pyoxigraph.RdfFormat.N_TRIPLES, "http://localhost/", None)
    config = JournalConfig(segment_bytes=100_000, snapshot_bytes=2000)
    dataset = open_dataset(StoreConfig(data=str(tmp_path / "data")), config)
    for number in range(1, 200):
        dataset.write(replacement(number))
        if number % 20 == 0:
            dataset.keep()
    dataset.close()
    assert 0 not in snapshot_sequences(tmp_path / "data")
    assert first_sequences(tmp_path / "data")[0] == 1
    loaded = next(read_lines(b"<urn:loaded> <urn:p> <urn:o> .\n"))
    for at in (0, 1, 150, 199):
        assert loaded in world(past(tmp_path / "data", at)).quads
