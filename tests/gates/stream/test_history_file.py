"""One file of records: what is in it after a tear, damage, a full disk, a rewriting."""

from __future__ import annotations

import errno
import logging
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.stepped import ids, item

from triplewire.broker.errors import StoreError
from triplewire.gates.stream import history_file
from triplewire.gates.stream.entry import Entry
from triplewire.gates.stream.history_file import HEADER_BYTES, HistoryFile, Kept


def entry(number, body=b"body"):
    return Entry(number, item(f"e{number}", body, headers=(("X-Foo", "bär"),)), 1000.25 + number)


def written(path, *numbers):
    """A file with these, closed; its bytes."""
    file, _ = HistoryFile.open(path, "source-1")
    for number in numbers:
        file.append([entry(number)])
    file.close()
    return path.read_bytes()


def read(path):
    file, kept = HistoryFile.open(path, "other")
    file.close()
    return kept


def test_what_was_written_is_read(tmp_path):
    """Items with all they have, their numbers and times, and whose stream it is."""
    path = tmp_path / "streams" / "events.items"
    written(path, 1, 2, 7)
    assert read(path) == Kept("source-1", [entry(1), entry(2), entry(7)], 7)


def test_an_empty_one(tmp_path):
    """Made for the stream that asks; another start finds the same Source-Id."""
    path = tmp_path / "events.items"
    file, kept = HistoryFile.open(path, "source-1")
    file.close()
    assert kept == Kept("source-1", [], 0)
    assert read(path) == kept


def test_a_tail_is_cut_wherever_it_was_torn(tmp_path, caplog):
    """Whatever part of the last record is there: the others are kept, and appending goes on."""
    path = tmp_path / "events.items"
    two = len(written(path, 1, 2))
    whole = written(path, 3)
    for length in range(two, len(whole)):
        path.write_bytes(whole[:length])
        file, kept = HistoryFile.open(path, "other")
        assert ids(kept.entries) == ["e1", "e2"]
        file.append([entry(4)])
        file.close()
        assert ids(read(path).entries) == ["e1", "e2", "e4"]
    assert not (tmp_path / "events.items.damaged").exists()
    assert "a torn record of 1 bytes was cut off" in caplog.text


def test_zeros_at_the_end_are_cut(tmp_path):
    """As a file system leaves them after a loss of power."""
    path = tmp_path / "events.items"
    whole = written(path, 1)
    path.write_bytes(whole + bytes(5000))
    assert ids(read(path).entries) == ["e1"]
    assert path.stat().st_size == len(whole)


def test_damage_is_not_passed_over_in_silence(tmp_path, caplog):
    """What is before it is kept; the file as it was is set aside, and the log says so."""
    path = tmp_path / "events.items"
    one = len(written(path, 1))
    bytes_ = bytearray(written(path, 2, 3))
    bytes_[one + HEADER_BYTES + 3] ^= 1
    path.write_bytes(bytes_)
    with caplog.at_level(logging.ERROR, logger="triplewire.gates.stream"):
        assert ids(read(path).entries) == ["e1"]
    assert (tmp_path / "events.items.damaged").read_bytes() == bytes_
    assert f"is damaged at byte {one}" in caplog.text


def test_a_file_that_is_none_of_ours_is_set_aside(tmp_path):
    """And a new one is begun."""
    path = tmp_path / "events.items"
    path.write_bytes(b"something else that stands here " * 10)
    assert read(path) == Kept("other", [], 0)
    assert (tmp_path / "events.items.damaged").read_bytes().startswith(b"something else")


@given(st.binary(max_size=200), st.integers(0, 400))
@settings(max_examples=50, deadline=None)
def test_any_end_of_a_file(tmp_path_factory, noise, at):
    """Whatever stands behind some byte: what is read is a beginning of what was written."""
    path = tmp_path_factory.mktemp("any") / "events.items"
    whole = written(path, 1, 2)
    path.write_bytes(whole[:at] + noise)
    kept = read(path)
    assert kept.entries == [entry(1), entry(2)][: len(kept.entries)]
    assert read(path) == kept


def test_a_full_disk(tmp_path, monkeypatch):
    """Nothing of what did not fit is there, and later there is room again."""
    path = tmp_path / "events.items"
    file, _ = HistoryFile.open(path, "source-1")
    file.append([entry(1)])
    real = os.write

    def full(fd, data):
        if len(data) < 100:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data[: len(data) // 2])

    with monkeypatch.context() as patched:
        patched.setattr(history_file.os, "write", full)
        with pytest.raises(StoreError, match="No space left on device"):
            file.append([entry(2), entry(3)])
    file.append([entry(4)])
    file.close()
    assert ids(read(path).entries) == ["e1", "e4"]


def test_half_a_record_that_can_not_be_taken_away_at_once(tmp_path, monkeypatch):
    """It is before the next one is written."""
    path = tmp_path / "events.items"
    file, _ = HistoryFile.open(path, "source-1")
    real = os.write

    def failing(fd, data):
        real(fd, data[:40])
        raise OSError(errno.EIO, "Input/output error")

    def no_truncate(fd, size):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(history_file.os, "write", failing)
        patched.setattr(history_file.os, "ftruncate", no_truncate)
        for _ in range(2):
            with pytest.raises(StoreError):
                file.append([entry(1)])
    file.append([entry(2)])
    file.close()
    assert ids(read(path).entries) == ["e2"]


def test_rewriting(tmp_path):
    """What counts of the first part, and all that was appended since; appending goes on in the new file."""
    path = tmp_path / "events.items"
    file, _ = HistoryFile.open(path, "source-1")
    for number in range(1, 101):
        file.append([entry(number)])
    offset, large = file.size, path.stat().st_size
    file.append([entry(101)])
    file.rewrite(Kept("source-1", [entry(99), entry(100)], 100), offset)
    file.append([entry(102)])
    assert file.size == path.stat().st_size < large / 10
    file.sync()
    file.close()
    assert read(path) == Kept("source-1", [entry(99), entry(100), entry(101), entry(102)], 102)


def test_numbers_go_on_where_nothing_is_kept(tmp_path):
    """The head has the last one."""
    path = tmp_path / "events.items"
    file, _ = HistoryFile.open(path, "source-1")
    file.append([entry(1000)])
    file.rewrite(Kept("source-1", [], 1000), file.size)
    file.close()
    assert read(path) == Kept("source-1", [], 1000)


def test_numbers_go_on_behind_those_that_are_not_written(tmp_path):
    """A sign of life has one, and may have been the last."""
    path = tmp_path / "events.items"
    file, _ = HistoryFile.open(path, "source-1")
    file.append([entry(4)])
    file.rewrite(Kept("source-1", [entry(4)], 6), file.size)
    file.close()
    assert read(path).last == 6


def test_an_append_is_one_call_to_the_system(tmp_path, monkeypatch):
    """Whatever it has; nothing is cut where nothing is ragged."""
    file, _ = HistoryFile.open(tmp_path / "events.items", "source-1")
    calls = []
    real = os.write
    monkeypatch.setattr(history_file.os, "write", lambda fd, data: calls.append(len(data)) or real(fd, data))
    monkeypatch.setattr(history_file.os, "ftruncate", lambda *_: calls.append("cut"))
    before = file.size
    file.append([entry(1), entry(2)])
    first = file.size
    file.append([entry(3)])
    file.close()
    assert calls == [first - before, file.size - first]


def test_a_rewriting_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    """And no draft."""
    path = tmp_path / "events.items"
    file, _ = HistoryFile.open(path, "source-1")
    file.append([entry(1), entry(2)])

    def full(fd):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(history_file.os, "fsync", full)
        with pytest.raises(StoreError):
            file.rewrite(Kept("source-1", [entry(2)], 2), file.size)
        with pytest.raises(StoreError):
            file.sync()
    file.append([entry(3)])
    file.close()
    assert ids(read(path).entries) == ["e1", "e2", "e3"]
    assert [each.name for each in tmp_path.iterdir()] == ["events.items"]


def test_a_folder_that_can_not_be_written(tmp_path):
    """It is said at the start."""
    (tmp_path / "streams").write_text("a file")
    with pytest.raises(StoreError, match="can't be kept"):
        HistoryFile.open(tmp_path / "streams" / "events.items", "source-1")
