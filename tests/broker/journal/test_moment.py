"""Moments as sequence numbers."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

import pyoxigraph
import pytest
from support.deltas import record, replacements

from triplewire.broker.config import JournalConfig
from triplewire.broker.errors import StoreError
from triplewire.broker.journal.checkpoint import checkpoint
from triplewire.broker.journal.moment import sequence_at
from triplewire.broker.journal.segment import first_sequences, segment_path


def at(seconds):
    return datetime.fromtimestamp(seconds, UTC)


def test_a_number_is_itself(tmp_path):
    """Whether it is kept is not asked here."""
    assert sequence_at(tmp_path, 17) == 17


def test_times_between_records(journal, tmp_path):
    """The last record that is not later; a record a second, from 1000 on, in several segments."""
    record(journal, replacements(30).deltas, now=1000)
    assert len(first_sequences(tmp_path)) > 3
    for number in range(1, 31):
        assert sequence_at(tmp_path, at(999 + number)) == number
        assert sequence_at(tmp_path, at(999.5 + number)) == number
    assert sequence_at(tmp_path, at(999.9)) == 0
    assert sequence_at(tmp_path, at(99999)) == 30


def test_any_zone_will_do(journal, tmp_path):
    """But there must be one."""
    record(journal, replacements(3).deltas, now=1000)
    from datetime import timezone

    assert sequence_at(tmp_path, at(1001).astimezone(timezone(timedelta(hours=5)))) == 2
    with pytest.raises(StoreError, match="needs a time zone"):
        sequence_at(tmp_path, datetime(2026, 1, 1))  # noqa: DTZ001 - the point


def test_equal_times(journal, tmp_path):
    """The last of them."""
    for delta in replacements(10).deltas:
        record(journal, [delta], now=1000)
    assert sequence_at(tmp_path, at(1000)) == 10
    assert sequence_at(tmp_path, at(999)) == 0


def test_nothing_at_all(tmp_path):
    """Was empty at any time."""
    assert sequence_at(tmp_path, at(1000)) == 0


def test_a_segment_that_was_hardly_begun(journal, tmp_path):
    """Has no time."""
    record(journal, replacements(3).deltas, now=1000)
    segment_path(tmp_path, 4).touch()
    assert sequence_at(tmp_path, at(2000)) == 3


def test_what_is_not_kept(journal, tmp_path):
    """Is said so; a snapshot tells where the kept records go on."""
    store = pyoxigraph.Store()
    deltas = replacements(40).deltas
    record(journal, deltas[:20], store, now=1000)
    checkpoint(journal, store, JournalConfig(), 1500)
    record(journal, deltas[20:21], now=2000, client=os.urandom(500).hex())  # too long for the same segment
    assert journal.drop_before(21) > 0
    assert journal.first_sequence == 21
    assert sequence_at(tmp_path, at(2000)) == 21
    assert sequence_at(tmp_path, at(1999)) == sequence_at(tmp_path, at(1500)) == 20
    with pytest.raises(StoreError, match="what was at 1970-01-01T00:24:59"):
        sequence_at(tmp_path, at(1499))
    (tmp_path / "snapshots" / f"{20:020}" / "manifest.json").write_bytes(b"")
    with pytest.raises(StoreError, match="is not kept"):
        sequence_at(tmp_path, at(1500))


def test_without_a_journal(journal, tmp_path):
    """The snapshot knows of itself only."""
    store = pyoxigraph.Store()
    record(journal, replacements(3).deltas, store, now=1000)
    checkpoint(journal, store, JournalConfig(), 1500)
    journal.close()
    segment_path(tmp_path, 1).unlink()
    assert sequence_at(tmp_path, at(1600)) == 3
    with pytest.raises(StoreError, match="is not kept"):
        sequence_at(tmp_path, at(1400))
