"""The files of one journal: where they end, how large they are, and which may go."""

from __future__ import annotations

import pytest
from support.deltas import record, replacements

from triplewire.broker.config import JournalConfig
from triplewire.broker.errors import JournalDamaged, StoreError
from triplewire.broker.journal.segment import file_header, first_sequences, segment_path
from triplewire.broker.journal.segments import End, Segments

CONFIG = JournalConfig(segment_bytes=200, keep_bytes=0)


@pytest.fixture
def segments(tmp_path):
    """Three of them, a record of 100 bytes in each; what is in a record is of no account here."""
    (tmp_path / "journal").mkdir()
    some = Segments(tmp_path, CONFIG)
    assert some.find_end() == End(0, 0, 0)
    for sequence in (1, 2, 3):
        some.append(bytes(100) + b"\n", sequence, sequence * 1000)
    yield some
    some.close()


def sizes(segments):
    return [(segment.first, segment.time_ms, segment.size) for segment in segments.stored()]


def test_a_full_one_is_followed_by_the_next(segments, tmp_path):
    """Each begins with its first record's number and time."""
    size = len(file_header(1, 0)) + 101
    assert sizes(segments) == [(1, 1000, size), (2, 2000, size), (3, 3000, size)]
    assert (segments.first, segments.count, segments.size) == (1, 3, 3 * size)
    assert [segment_path(tmp_path, first).stat().st_size for first in (1, 2, 3)] == [size] * 3
    assert [segments.size_after(sequence) for sequence in (0, 1, 2, 3)] == [3 * size, 2 * size, size, size]


def test_what_goes(segments, tmp_path):
    """As far as snapshots hold it."""
    assert segments.retain(0, 9000) == 0
    assert segments.drop_before(3, 1) == 1
    assert segments.first == 2
    assert segments.retain(3, 9000) == 1
    assert segments.retain(3, 9000) == 0
    assert first_sequences(tmp_path) == [3]


def test_nothing_after_a_failure(segments, tmp_path, monkeypatch):
    """The last segment's records are kept as they are."""
    monkeypatch.setattr(segments, "_failure", "the disk is gone")
    with pytest.raises(StoreError, match="the disk is gone"):
        segments.append(b"x", 4, 0)
    assert first_sequences(tmp_path) == [1, 2, 3]


def test_the_end_of_real_records(journal, tmp_path):
    """Is found again, with the last one's time; damage is told."""
    record(journal, replacements(12).deltas, now=1000)
    journal.close()
    again = Segments(tmp_path, JournalConfig())
    assert again.find_end() == End(12, 1_011_000, 0)
    again.close()
    path = segment_path(tmp_path, first_sequences(tmp_path)[-1])
    path.write_bytes(path.read_bytes()[:-1] + b"\x0b")
    with pytest.raises(JournalDamaged, match="a record with its checksum"):
        Segments(tmp_path, JournalConfig()).find_end()
