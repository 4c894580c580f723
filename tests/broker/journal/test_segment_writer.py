"""Appending all of a record or nothing of it, whatever the disk says."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from contextlib import contextmanager

import pytest
from support.deltas import record, replacement, replacements

from triplewire.broker.config import JournalConfig
from triplewire.broker.errors import StoreError
from triplewire.broker.journal import segment_writer
from triplewire.broker.journal.journal import Journal
from triplewire.broker.journal.segment import HEADER_BYTES, segment_path
from triplewire.broker.journal.segment_writer import SegmentWriter


@pytest.fixture
def writer(tmp_path):
    """A new segment."""
    (tmp_path / "journal").mkdir()
    one = SegmentWriter.create(tmp_path, 1, 0)
    yield one
    one.close()


def content(writer):
    return writer.path.read_bytes()[HEADER_BYTES:]


def test_bytes_one_after_another(writer):
    """And its size is known without asking the system."""
    writer.append(b"one")
    writer.append(b"two")
    assert content(writer) == b"onetwo"
    assert writer.size == HEADER_BYTES + 6


def test_a_write_in_pieces(writer, monkeypatch):
    """The system may take a part at a time."""
    real = os.write
    monkeypatch.setattr(segment_writer.os, "write", lambda fd, data: real(fd, data[:2]))
    writer.append(b"seven77")
    assert content(writer) == b"seven77"


def test_what_was_written_in_part_is_taken_away(writer, monkeypatch):
    """The disk is full in the middle of a record."""
    writer.append(b"one")
    real = os.write

    def full(fd, data):
        if len(data) < 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data[:2])

    monkeypatch.setattr(segment_writer.os, "write", full)
    with pytest.raises(StoreError, match="can't be written: No space left on device"):
        writer.append(b"abcdef")
    assert content(writer) == b"one"
    monkeypatch.undo()
    writer.append(b"two")
    assert content(writer) == b"onetwo"


def test_what_can_t_be_taken_away_at_once_is_later(writer, monkeypatch):
    """Nothing is appended behind half a record."""
    real = os.write

    def broken(fd, data):
        if len(data) < 5:
            raise OSError(errno.EIO, "Input/output error")
        return real(fd, data[:2])

    def refuse(fd, size):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(segment_writer.os, "write", broken)
    monkeypatch.setattr(segment_writer.os, "ftruncate", refuse)
    for _ in range(2):
        with pytest.raises(StoreError):
            writer.append(b"abcdef")
    assert content(writer) == b"ab"
    monkeypatch.undo()
    writer.append(b"two")
    assert content(writer) == b"two"


def test_a_segment_that_can_t_be_begun_is_not_there(tmp_path, monkeypatch):
    """The journal goes on with the one before."""
    (tmp_path / "journal").mkdir()

    def full(fd, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(segment_writer.os, "write", full)
    with pytest.raises(StoreError, match="No space left"):
        SegmentWriter.create(tmp_path, 1, 0)
    assert not segment_path(tmp_path, 1).exists()
    with pytest.raises(StoreError, match="No such file"):
        SegmentWriter.create(tmp_path / "absent", 1, 0)


def test_reopened_without_its_tail(writer):
    """What lies behind the given size is cut off; a file that is gone can't be reopened."""
    writer.append(b"onetwo")
    again = SegmentWriter.reopen(writer.path, 1, HEADER_BYTES + 3)
    again.append(b"2")
    again.close()
    assert content(writer) == b"one2"
    with pytest.raises(StoreError, match="No such file"):
        SegmentWriter.reopen(writer.path.with_name("absent"), 1, 0)


def test_a_cut_that_is_not_safe(writer, monkeypatch):
    """Is told: after a loss of power, what was taken away could be there again."""

    def fail(fd):
        raise OSError(errno.EIO, "Input/output error")

    writer.append(b"one")
    monkeypatch.setattr(segment_writer.os, "fsync", fail)
    with pytest.raises(StoreError, match="Input/output error"):
        writer.cut(HEADER_BYTES)
    writer.path.write_bytes(b"longer")
    with pytest.raises(StoreError, match="Input/output error"):
        SegmentWriter.reopen(writer.path, 1, 3)


@contextmanager
def limited_files(size):
    """No file of this process may become larger."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_limit_of_the_system(tmp_path):
    """The real thing: the record that does not fit leaves no trace, and the next one comes when there is room."""
    journal = Journal.open(tmp_path, JournalConfig())
    record(journal, replacements(3).deltas)
    size = segment_path(tmp_path, 1).stat().st_size
    with limited_files(size + 50):
        for _ in range(2):
            with pytest.raises(StoreError, match="can't be written: File too large"):
                journal.append(replacement(4), "x", 0)
            assert segment_path(tmp_path, 1).stat().st_size == size
    assert journal.last_sequence == 3
    record(journal, [replacement(4)])
    assert [one.sequence for one in journal.read()] == [1, 2, 3, 4]
    journal.close()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one MiB."""
    path = tmp_path / "disk"
    path.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=1m", "triplewire-test", str(path)]
    try:
        mounted = subprocess.run(mounting, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if mounted.returncode:
        pytest.skip(f"a small disk can't be mounted: {mounted.stderr.decode().strip()}")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


def test_a_full_disk(small_disk):
    """Every record that was acknowledged is there, also after the disk was full, and no other."""
    journal = Journal.open(small_disk, JournalConfig(segment_bytes=100_000))
    number = 0

    def fill():
        nonlocal number
        while True:
            record(journal, [replacement(number + 1)], client="x" * 500)
            number += 1

    with pytest.raises(StoreError, match="No space left on device"):
        fill()
    with pytest.raises(StoreError, match="No space left on device"):
        journal.append(replacement(number + 1), os.urandom(5000).hex(), 0)
    assert [one.sequence for one in journal.read()] == list(range(1, number + 1))
    for path in sorted(small_disk.glob("journal/*"))[:2]:
        path.unlink()
    record(journal, [replacement(number + 1)])
    journal.close()
    journal = Journal.open(small_disk, JournalConfig())
    assert journal.last_sequence == number + 1
    assert journal.torn_bytes == 0
    journal.close()
