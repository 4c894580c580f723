"""How far a kept stream has been stored."""

from __future__ import annotations

import os

import pytest

from triplewire.broker.errors import StoreError
from triplewire.gates.stream.stored_mark import StoredMark


def marked(path, number, whose="s urn:g"):
    """A mark that was put, and let go of."""
    mark = StoredMark(path, whose, 10**9)
    mark.put(number)
    mark.close()
    mark.close()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "events.stored"


@pytest.mark.parametrize("number", [0, 1, 2**40])
def test_it_is_there_again(path, number):
    """After the file was let go of, and after a process that did not."""
    marked(path, number)
    mark = StoredMark(path, "s urn:g", 2**41)
    assert mark.number == number
    mark.put(number + 1)
    again = StoredMark(path, "s urn:g", 2**41)
    assert again.number == number + 1
    for each in (mark, again):
        each.close()
    assert path.stat().st_size == 16


@pytest.mark.parametrize(("whose", "last"), [("other urn:g", 100), ("s urn:h", 100), ("s urn:g", 4)])
def test_another_streams_graphs_or_histories_mark_is_none(path, whose, last):
    """And it is written over at once: what comes later must not look like it."""
    marked(path, 5)
    mark = StoredMark(path, whose, last)
    assert mark.number == 0
    mark.close()
    mark = StoredMark(path, whose, 100)
    assert mark.number == 0
    mark.close()


def test_every_damage_is_seen(path):
    """Whatever byte is another, and wherever the file ends: then all that is kept is stored again."""
    marked(path, 77)
    data = path.read_bytes()
    for place in range(len(data)):
        for broken in (data[:place], data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]):
            path.write_bytes(broken)
            mark = StoredMark(path, "s urn:g", 10**9)
            assert mark.number == 0
            mark.close()


def test_a_file_that_cannot_be_had_is_told(tmp_path):
    """Where it is, and why."""
    with pytest.raises(StoreError, match=rf"it can't be kept what was stored: Is a directory \({tmp_path}"):
        StoredMark(tmp_path, "s", 1)


def test_a_disk_that_fails_stops_nothing(path, monkeypatch, caplog):
    """It is logged once, and tried again with the next number."""
    mark = StoredMark(path, "s", 100)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        mark.put(1)
        mark.put(2)
    assert [record.message for record in caplog.records] == [
        f"! it can't be kept what was stored: No space left on device ({path})"
    ]
    mark.put(3)
    mark.close()
    mark = StoredMark(path, "s", 100)
    assert mark.number == 3
    mark.close()
