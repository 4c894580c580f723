"""Looking at a journal, whole or damaged, open or not."""

from __future__ import annotations

import pyoxigraph
import pytest
from support.deltas import record, replacement, replacements

from triplewire.broker.config import JournalConfig
from triplewire.broker.errors import JournalDamaged, StoreError
from triplewire.broker.journal.checkpoint import checkpoint
from triplewire.broker.journal.inspection import dump, verify
from triplewire.broker.journal.segment import first_sequences, segment_path


@pytest.fixture
def directory(journal):
    """Twenty records in several segments, and a snapshot after ten; the journal is open."""
    store = pyoxigraph.Store()
    deltas = replacements(20).deltas
    record(journal, deltas[:10], store)
    checkpoint(journal, store, JournalConfig(), 0)
    record(journal, deltas[10:], store)
    return journal.directory


def test_a_whole_one(directory):
    """Its segments one after another, its snapshots, and no problem."""
    report = verify(directory)
    assert report.problems == ()
    assert [segment.first for segment in report.segments] == first_sequences(directory)
    assert [segment.last + 1 for segment in report.segments] == [*first_sequences(directory)[1:], 21]
    assert all(segment.size == segment.path.stat().st_size for segment in report.segments)
    (snapshot,) = report.snapshots
    assert (snapshot.sequence, snapshot.quads, snapshot.problem) == (10, 1, "")
    assert snapshot.size > 0


def test_every_problem_is_found(directory):
    """A damaged file does not keep the others from being looked at."""
    firsts = first_sequences(directory)
    path = segment_path(directory, firsts[1])
    data = bytearray(path.read_bytes())
    data[-10] ^= 4
    path.write_bytes(data)
    segment_path(directory, firsts[-2]).unlink()
    with segment_path(directory, firsts[-1]).open("ab") as file:
        file.write(b"TW")
    (directory / "snapshots" / f"{10:020}" / "manifest.json").unlink()
    report = verify(directory)
    assert [segment.torn_bytes for segment in report.segments][-1] == 2
    damaged, missing, snapshot = report.problems
    assert f"{path} is damaged at byte" in damaged
    assert f"a segment that begins with record {firsts[-2]}, not {firsts[-1]}" in missing
    assert "manifest.json is damaged" in snapshot


def test_nothing_at_all(tmp_path):
    """Has no problem."""
    report = verify(tmp_path)
    assert (report.segments, report.snapshots, report.problems) == ((), (), ())


def test_records_between(directory):
    """After one number and up to another."""
    found = list(dump(directory, 3, 6))
    assert [one.sequence for one in found] == [4, 5, 6]
    assert [one.delta() for one in found] == [replacement(n) for n in (4, 5, 6)]
    assert len(list(dump(directory))) == 20
    assert list(dump(directory, 20)) == []


def test_records_before_damage(directory):
    """Come; then it is told."""
    path = segment_path(directory, first_sequences(directory)[1])
    path.write_bytes(path.read_bytes()[:-1])
    found = []
    with pytest.raises(JournalDamaged):
        found.extend(one.sequence for one in dump(directory))
    segment_path(directory, 1).unlink()
    with pytest.raises(StoreError, match="record 1 is not kept"):
        list(dump(directory))
