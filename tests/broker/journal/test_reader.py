"""Records in order, across segments, read late, and read on."""

from __future__ import annotations

import pyoxigraph
import pytest
from support.deltas import record, replacement, replacements

from triplewire.broker.config import JournalConfig
from triplewire.broker.errors import JournalDamaged, StoreError
from triplewire.broker.journal import reader as reader_module
from triplewire.broker.journal.checkpoint import checkpoint
from triplewire.broker.journal.reader import JournalReader
from triplewire.broker.journal.segment import first_sequences, segment_path


def sequences(reader):
    return [one.sequence for one in reader]


def test_no_journal_no_records(tmp_path):
    """A directory that never had one."""
    with JournalReader(tmp_path) as reader:
        assert sequences(reader) == []


def test_from_any_record_on(journal, tmp_path):
    """Whatever segment it is in; behind the last there is nothing."""
    record(journal, replacements(30).deltas)
    for after in range(33):
        with JournalReader(tmp_path, after) as reader:
            assert sequences(reader) == list(range(after + 1, 31))


def test_reading_on(journal):
    """What was appended meanwhile, each record once, also where the reader stopped in the middle."""
    record(journal, replacements(10).deltas)
    with journal.read(2) as reader:
        assert next(iter(reader)).sequence == 3
        assert next(iter(reader)).sequence == 4
        assert reader.next == 5
        assert sequences(reader) == list(range(5, 11))
        assert sequences(reader) == []
        record(journal, replacements(20).deltas)
        assert sequences(reader) == list(range(11, 31))


def test_a_torn_tail_is_left_out_and_counted(journal, tmp_path):
    """Other processes may be writing it."""
    record(journal, replacements(3).deltas)
    with segment_path(tmp_path, 1).open("ab") as file:
        file.write(b"TWJr, the beginning of")
    with JournalReader(tmp_path) as reader:
        assert sequences(reader) == [1, 2, 3]
        assert reader.torn_bytes == 22


def test_a_missing_segment_is_damage(journal, tmp_path):
    """In the middle; records may not be skipped."""
    record(journal, replacements(30).deltas)
    firsts = first_sequences(tmp_path)
    segment_path(tmp_path, firsts[2]).unlink()
    with JournalReader(tmp_path) as reader:
        with pytest.raises(
            JournalDamaged, match=f"a segment that begins with record {firsts[2]}, not {firsts[3]}"
        ):
            sequences(reader)
        assert reader.next == firsts[2]


def test_a_segment_that_ends_too_early_is_damage(journal, tmp_path):
    """At a record's end too: later segments show that some are missing."""
    record(journal, replacements(30).deltas)
    whole = segment_path(tmp_path, 1).read_bytes()
    segment_path(tmp_path, 1).write_bytes(whole[:-1])
    with JournalReader(tmp_path) as reader, pytest.raises(JournalDamaged, match="later segments follow"):
        sequences(reader)
    second = segment_path(tmp_path, first_sequences(tmp_path)[1])
    segment_path(tmp_path, 1).write_bytes(whole)
    second.write_bytes(second.read_bytes()[:60])
    with JournalReader(tmp_path) as reader, pytest.raises(JournalDamaged, match="in full"):
        sequences(reader)


def test_records_that_are_not_kept(tmp_path, journal):
    """A reader that asks for them, or is too slow for them, is told; those it has open it still gets."""
    store = pyoxigraph.Store()
    record(journal, replacements(30).deltas, store)
    slow = journal.read()
    assert next(iter(slow)).sequence == 1
    checkpoint(journal, store, JournalConfig(), 0)
    journal.drop_before(30)
    kept = journal.first_sequence
    with pytest.raises(StoreError, match=f"the journal begins with record {kept}; record 3 is not kept"):
        sequences(journal.read(2))
    with pytest.raises(StoreError, match="is not kept any more; it was read too late"):
        sequences(slow)
    assert 1 < slow.next < kept
    slow.close()


def test_a_segment_that_goes_as_it_is_opened(tmp_path, journal, monkeypatch):
    """Between the look at the folder and the opening."""
    record(journal, replacements(3).deltas)
    monkeypatch.setattr(reader_module, "first_sequences", lambda _: [2])
    with JournalReader(tmp_path, 2) as reader, pytest.raises(StoreError, match="read too late"):
        sequences(reader)


def test_lines_of_another_version(tmp_path, journal, monkeypatch):
    """Are written anew, so that they compare with today's."""
    record(journal, [replacement(1)])
    monkeypatch.setattr(reader_module, "WRITER", "9.9.9")
    monkeypatch.setattr(reader_module, "rewritten", lambda text: text.upper())
    with JournalReader(tmp_path) as reader:
        (one,) = reader
    assert b"HTTP://EXAMPLE.ORG/SENSOR" in one.inserted


def test_a_payload_of_another_program_is_damage(tmp_path, journal, monkeypatch):
    """The checksum is right, and yet it is no record."""
    record(journal, [replacement(1)])
    monkeypatch.setattr(reader_module, "WRITER", "9.9.9")

    def refuse(text):
        raise SyntaxError("not N-Quads")

    monkeypatch.setattr(reader_module, "rewritten", refuse)
    with JournalReader(tmp_path) as reader, pytest.raises(JournalDamaged, match="not N-Quads"):
        sequences(reader)


def test_where_a_reader_stands(tmp_path, journal):
    """For errors that are found by others."""
    with JournalReader(tmp_path) as reader:
        assert reader.damaged("x").path == str(tmp_path / "journal")
        record(journal, [replacement(1)])
        sequences(reader)
        path = segment_path(tmp_path, 1)
        assert (reader.damaged("x").path, reader.damaged("x").offset) == (str(path), path.stat().st_size)
