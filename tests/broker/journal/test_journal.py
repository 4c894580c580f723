"""Appending, taking back, syncing, and beginning again after the last record."""

from __future__ import annotations

import errno
import itertools
import os
import threading
from pathlib import Path

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.counting import counting
from support.deltas import examples, fresh_directory, record, replacement, replacements

from triplewire.broker import meters
from triplewire.broker.config import JournalConfig
from triplewire.broker.errors import JournalDamaged, StoreError
from triplewire.broker.journal import journal as journal_module
from triplewire.broker.journal import segment, segments
from triplewire.broker.journal.checkpoint import checkpoint
from triplewire.broker.journal.journal import Journal
from triplewire.broker.journal.segment import first_sequences, segment_path

CONFIG = JournalConfig(segment_bytes=1000)


def sequences(journal, after=0):
    with journal.read(after) as reader:
        return [one.sequence for one in reader]


def test_an_empty_one(journal):
    """There is nothing, and no file yet."""
    assert (journal.last_sequence, journal.settled_sequence, journal.first_sequence) == (0, 0, 1)
    assert sequences(journal) == []
    assert journal.statistics().segments == 0
    assert not journal.is_sync_due(0)
    journal.sync()


def test_records_are_numbered_from_one(journal):
    """And come back with who, when and what."""
    assert journal.append(replacement(1), "alice", 12.5) == 1
    journal.settle()
    assert journal.append(replacement(2), "bob", 13.25) == 2
    journal.settle()
    found = [(one.sequence, one.client, one.time_ms, one.delta()) for one in journal.read()]
    assert found == [(1, "alice", 12_500, replacement(1)), (2, "bob", 13_250, replacement(2))]


def test_time_never_goes_back(journal, tmp_path):
    """Also after a new start."""
    record(journal, [replacement(1)], now=50)
    record(journal, [replacement(2)], now=20)
    journal.close()
    again = Journal.open(tmp_path, CONFIG)
    record(again, [replacement(3)], now=10)
    assert [one.time_ms for one in again.read()] == [50_000] * 3
    again.close()


def test_an_append_is_one_call(journal, monkeypatch):
    """To the system, when a segment is open."""
    record(journal, [replacement(1)])
    calls = []
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: calls.append(fd) or real(fd, data))
    record(journal, [replacement(2)])
    assert len(calls) == 1


def test_readers_see_what_is_settled(journal):
    """A record that the store does not have yet may still be taken back; the next one settles it."""
    journal.append(replacement(1), "", 0)
    assert sequences(journal) == []
    journal.append(replacement(2), "", 0)
    assert (sequences(journal), journal.settled_sequence) == ([1], 1)
    journal.settle()
    assert sequences(journal) == [1, 2]


def test_taking_back(journal):
    """The record never was, and its number is used again."""
    record(journal, [replacement(1)])
    before = journal.statistics()
    journal.append(replacement(2), "", 0)
    journal.undo_last()
    assert journal.statistics() == before
    with pytest.raises(AssertionError):
        journal.undo_last()
    assert journal.append(replacement(3), "", 0) == 2
    journal.settle()
    assert [one.delta() for one in journal.read()] == [replacement(1), replacement(3)]


def test_taking_back_the_first_of_a_segment(journal, tmp_path):
    """The segment stays, and is none the worse for it after a new start either."""
    while len(first_sequences(tmp_path)) < 2:
        journal.settle()
        last = journal.append(replacement(1), "", 0)
    journal.undo_last()
    assert sequences(journal) == list(range(1, last))
    journal.close()
    again = Journal.open(tmp_path, CONFIG)
    assert again.append(replacement(1), "", 0) == last
    again.settle()
    assert sequences(again) == list(range(1, last + 1))
    again.close()


def test_what_can_t_be_taken_back_stops_the_journal(journal, monkeypatch):
    """It would hold a change that the store does not have."""
    journal.append(replacement(1), "", 0)

    def refuse(fd, size):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "ftruncate", refuse)
    with pytest.raises(StoreError):
        journal.undo_last()
    monkeypatch.undo()
    with pytest.raises(StoreError, match="the store has not, start the broker anew"):
        journal.append(replacement(2), "", 0)


def test_segments_are_as_large_as_is_set(journal, tmp_path):
    """No record is in two; one that is larger has a segment of its own."""
    record(journal, replacements(30).deltas)
    record(journal, [replacement(31)], client="x" * 3000)
    record(journal, [replacement(32)])
    firsts = first_sequences(tmp_path)
    assert len(firsts) > 5
    assert firsts[-2:] == [31, 32]
    sizes = [segment_path(tmp_path, first).stat().st_size for first in firsts]
    assert all(size <= 1000 for size in sizes[:-2])
    assert sequences(journal) == list(range(1, 33))
    assert sequences(journal, after=17) == list(range(18, 33))
    statistics = journal.statistics()
    assert (statistics.size, statistics.segments) == (sum(sizes), len(sizes))


def test_a_new_start_goes_on(journal, tmp_path):
    """After the last record; in the same segment."""
    record(journal, replacements(3).deltas)
    journal.close()
    again = Journal.open(tmp_path, CONFIG)
    assert (again.last_sequence, again.settled_sequence) == (3, 3)
    record(again, [replacement(4)])
    assert sequences(again) == [1, 2, 3, 4]
    assert first_sequences(tmp_path) == [1]
    again.close()


def test_a_torn_tail_at_every_byte_is_cut_off():
    """And the next record takes its place."""
    with fresh_directory() as directory:
        journal = Journal.open(directory, CONFIG)
        record(journal, replacements(3).deltas)
        journal.close()
        path = segment_path(directory, 1)
        whole = path.read_bytes()
        for size in range(len(whole)):
            path.write_bytes(whole[:size])
            again = Journal.open(directory, CONFIG)
            kept = again.last_sequence
            assert again.torn_bytes == size - (path.stat().st_size if path.exists() else 0)
            record(again, replacements(3).deltas[kept:])
            assert [one.delta() for one in again.read()] == replacements(3).deltas
            again.close()


def test_damage_stops_the_start(journal, tmp_path):
    """And lets go of the lock, so that the tools of the next one can look."""
    record(journal, replacements(3).deltas)
    journal.close()
    path = segment_path(tmp_path, 1)
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    for _ in range(2):
        with pytest.raises(
            JournalDamaged, match=r"00000000000000000001\.twj is damaged at byte 48: expected"
        ):
            Journal.open(tmp_path, CONFIG)


def test_a_header_is_needed_before_the_last_segment(journal, tmp_path):
    """Only the last one can have been begun and no more."""
    record(journal, replacements(20).deltas)
    journal.close()
    firsts = first_sequences(tmp_path)
    os.truncate(segment_path(tmp_path, firsts[-2]), 10)
    with pytest.raises(JournalDamaged, match="a segment's header"):
        Journal.open(tmp_path, CONFIG)


def test_before_a_segment_that_was_hardly_begun_all_is_whole(journal, tmp_path):
    """A segment is begun when the one before it is safe: its tail can't be torn."""
    record(journal, replacements(3).deltas)
    journal.close()
    segment_path(tmp_path, 4).write_bytes(b"TWJ")
    again = Journal.open(tmp_path, CONFIG)
    assert (again.last_sequence, again.torn_bytes) == (3, 3)
    assert first_sequences(tmp_path) == [1]
    again.close()
    segment_path(tmp_path, 4).write_bytes(b"")
    os.truncate(segment_path(tmp_path, 1), segment_path(tmp_path, 1).stat().st_size - 1)
    with pytest.raises(JournalDamaged, match="record 3 in full"):
        Journal.open(tmp_path, CONFIG)


def test_numbers_of_a_lost_journal_are_not_used_again(journal, tmp_path):
    """The snapshots of before it still say what they mean."""
    store = pyoxigraph.Store()
    record(journal, replacements(5).deltas, store)
    checkpoint(journal, store, CONFIG, 0)
    journal.close()
    for first in first_sequences(tmp_path):
        segment_path(tmp_path, first).unlink()
    again = Journal.open(tmp_path, CONFIG)
    assert (again.last_sequence, again.first_sequence) == (5, 6)
    record(again, [replacement(6)])
    assert sequences(again, after=5) == [6]
    again.close()


def test_another_version_of_oxigraph_begins_a_segment(journal, tmp_path, monkeypatch):
    """So that the lines of a segment are of one version, and those of others can be written anew."""
    record(journal, replacements(2).deltas)
    journal.close()
    monkeypatch.setattr(segment, "WRITER", "9.9.9")
    monkeypatch.setattr(segments, "WRITER", "9.9.9")
    for _ in range(2):
        again = Journal.open(tmp_path, CONFIG)
        again.append(replacement(3), "", 0)
        again.undo_last()
        assert first_sequences(tmp_path) == [1, 3]
        again.close()
    monkeypatch.undo()
    with segment_path(tmp_path, 3).open("ab") as file:
        file.write(b"TW")
    again = Journal.open(tmp_path, CONFIG)
    assert again.torn_bytes == 2
    record(again, [replacement(3)])
    assert [one.delta() for one in again.read()] == replacements(3).deltas
    assert first_sequences(tmp_path) == [1, 3]
    assert again.statistics().segments == 2
    again.close()


@pytest.mark.parametrize(
    ("policy", "due"), [("always", [True, True]), ("interval", [False, True]), ("never", [False, False])]
)
def test_when_to_sync(tmp_path, policy, due):
    """The policy says; nothing is due when nothing was appended."""
    journal = Journal.open(tmp_path, JournalConfig(fsync=policy, fsync_s=10))
    journal.sync(100)
    assert not journal.is_sync_due(1000)
    record(journal, [replacement(1)])
    assert [journal.is_sync_due(now) for now in (105, 110)] == due
    assert journal.statistics().unsynced_bytes > 0
    journal.sync(110)
    assert journal.statistics().unsynced_bytes == 0
    assert not journal.is_sync_due(1000)
    journal.close()


def test_a_disk_that_can_t_sync_stops_the_journal(journal, monkeypatch):
    """What it lost can't be known: the system forgets that it failed."""
    record(journal, [replacement(1)])

    def fail(fd):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    failures = {"sync": meters.SYNC_FAILED, "append": meters.APPEND_FAILED}
    with counting(**failures, syncs=meters.SYNC_SECONDS) as counted:
        with pytest.raises(StoreError, match="can't be made safe, start the broker anew: Input/output error"):
            journal.sync()
        monkeypatch.undo()
        with pytest.raises(StoreError, match="can't be made safe"):
            journal.append(replacement(2), "", 0)
    assert counted == {"sync": 1, "append": 1, "syncs": 1}


def test_a_full_segment_is_safe_before_the_next_begins(journal, tmp_path, monkeypatch):
    """Else more than the last one could have a torn tail."""
    order = []
    real_sync, real_open = os.fsync, os.open
    monkeypatch.setattr(
        os, "fsync", lambda fd: order.append(str(Path(f"/proc/self/fd/{fd}").readlink())) or real_sync(fd)
    )
    monkeypatch.setattr(
        os, "open", lambda path, *rest: order.append(f"open {path}") or real_open(path, *rest)
    )
    record(journal, [replacement(1)])
    order.clear()
    while len(first_sequences(tmp_path)) < 2:
        record(journal, [replacement(1)])
    first, second = (str(segment_path(tmp_path, first)) for first in first_sequences(tmp_path))
    begun = order.index(f"open {second}")
    assert first in order[:begun]
    assert order[begun + 1 : begun + 4] == [second, f"open {tmp_path / 'journal'}", str(tmp_path / "journal")]


def test_another_process_is_kept_out(journal, tmp_path):
    """Until it is closed."""
    with pytest.raises(StoreError, match="in use by another broker"):
        Journal.open(tmp_path, CONFIG)
    journal.close()
    Journal.open(tmp_path, CONFIG).close()


def test_a_place_that_can_t_be_written_into(tmp_path, monkeypatch):
    """Is told before anything is lost."""
    (tmp_path / "journal").touch()
    with pytest.raises(StoreError, match="can't be written into"):
        Journal.open(tmp_path, CONFIG)
    monkeypatch.setattr(journal_module, "sync_folder", lambda _: None)
    (tmp_path / "journal").unlink()
    Journal.open(tmp_path, CONFIG).close()


def test_old_segments_go_when_snapshots_hold_them(tmp_path):
    """By number, or by what the settings say; never what no snapshot holds."""
    config = JournalConfig(segment_bytes=1000, keep_bytes=3000, snapshots_kept=2)
    journal = Journal.open(tmp_path, config)
    store = pyoxigraph.Store()
    record(journal, replacements(40).deltas, store)
    assert journal.retain(0) == 0
    assert journal.drop_before(100) == 0
    checkpoint(journal, store, config, 0)
    assert journal.statistics().size <= 3000
    firsts = first_sequences(tmp_path)
    assert journal.first_sequence == firsts[0] > 20
    assert journal.drop_before(firsts[1]) == 1
    assert journal.drop_before(firsts[1]) == 0
    assert journal.drop_before(1000) == len(firsts) - 2
    assert first_sequences(tmp_path) == firsts[-1:]
    record(journal, [replacement(41)])
    assert sequences(journal, after=40) == [41]
    journal.close()


def test_when_a_snapshot_is_due(tmp_path):
    """After so many bytes of records, also of those of before the start."""
    config = JournalConfig(segment_bytes=1000, snapshot_bytes=2000)
    journal, store = Journal.open(tmp_path, config), pyoxigraph.Store()
    numbers = itertools.count(1)
    while not journal.is_snapshot_due():
        record(journal, [replacement(next(numbers))], store)
    assert 2000 <= journal.statistics().bytes_since_snapshot < 2300
    journal.close()
    journal = Journal.open(tmp_path, config)
    assert journal.is_snapshot_due()
    checkpoint(journal, store, config, 0)
    assert not journal.is_snapshot_due()
    assert journal.statistics().bytes_since_snapshot == 0
    journal.close()
    journal = Journal.open(tmp_path, config)
    assert journal.statistics().bytes_since_snapshot == 0
    journal.close()


@given(st.lists(st.sampled_from(["append", "undo", "reopen", "tear"]), max_size=25))
@examples(60)
def test_any_life_of_a_journal(steps):
    """Whatever is appended, taken back and torn, what was settled is what there is."""
    with fresh_directory() as directory:
        journal = Journal.open(directory, CONFIG)
        kept = []
        for number, step in enumerate(steps):
            if step == "append":
                record(journal, [replacement(number)])
                kept.append(replacement(number))
            elif step == "undo":
                journal.append(replacement(number), "x" * 300, 0)
                journal.undo_last()
            else:
                journal.close()
                firsts = first_sequences(directory)
                if step == "tear" and firsts:
                    with segment_path(directory, firsts[-1]).open("ab") as file:
                        file.write(b"TWJr torn")
                journal = Journal.open(directory, CONFIG)
            assert journal.last_sequence == len(kept)
        assert [one.delta() for one in journal.read()] == kept
        journal.close()


def test_a_reader_follows_a_writer(tmp_path):
    """On another thread, across segments, and past records that are taken back again."""
    journal = Journal.open(tmp_path, JournalConfig(segment_bytes=5000))
    count = 1000
    found = []

    def follow():
        with journal.read() as reader:
            while len(found) < count:
                found.extend(one.delta() for one in reader)

    reader = threading.Thread(target=follow)
    reader.start()
    for number in range(1, count + 1):
        if number % 7 == 0:
            journal.append(replacement(number + 1), "not to be seen", 0)
            journal.undo_last()
        record(journal, [replacement(number)])
    reader.join(60)
    assert found == replacements(count).deltas
    journal.close()
