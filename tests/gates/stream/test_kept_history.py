"""A history that outlives its process, and SIGKILL."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from support.stepped import ids, item

from triplewire.broker.config import StreamConfig
from triplewire.broker.errors import StoreError
from triplewire.broker.wire.items import TEST_CONNECTION, command_item
from triplewire.gates.stream import history_file
from triplewire.gates.stream.entry import Entry
from triplewire.gates.stream.history_file import HEADER_BYTES, HistoryFile, Kept
from triplewire.gates.stream.kept_history import SPARE_BYTES, KeptHistory

TESTS = Path(__file__).parents[2]
# Adds items of 300 bytes for ever, and says of each that it was taken.
WRITER = """
import sys
from pathlib import Path
from support.stepped import item
from triplewire.broker.config import StreamConfig
from triplewire.gates.stream.entry import Entry
from triplewire.gates.stream.kept_history import KeptHistory
history = KeptHistory("events", StreamConfig(history_items=300), Path(sys.argv[1]), sync_s=0.01)
while True:
    number = history.last + 1
    history.add([Entry(number, item(f"e{number}", b"x" * 300), history.clock())])
    print(number, flush=True)
"""


def opened(path, clock=time.time, **settings):
    return KeptHistory("events", StreamConfig(**settings), path, clock, sync_s=0.005)


def add(history, *numbers):
    for number in numbers:
        history.add([Entry(number, item(f"e{number}"), history.clock())])


def wait_until(condition):
    end = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.005)


@pytest.fixture
def path(tmp_path):
    yield tmp_path / "events.items"
    assert not [each for each in threading.enumerate() if each.name.startswith("history of")]


def test_after_a_restart(path):
    """The same items, the same Source-Id, and the next number."""
    history = opened(path)
    add(history, 1, 2, 3)
    history.close()
    again = opened(path)
    assert ids(again) == ["e1", "e2", "e3"]
    assert again.source_id == history.source_id
    assert again.last == 3
    assert ids(again.after("e1")) == ["e2", "e3"]
    again.close()


def test_a_source_id_that_is_set_counts(path):
    """Whatever the file says."""
    opened(path).close()
    history = opened(path, source_id="mine")
    assert history.source_id == "mine"
    history.close()


def test_bounds_hold_after_a_restart(path):
    """Those of now, also that of age."""
    history = opened(path, clock=lambda: 1000.0)
    add(history, 1, 2, 3)
    history.close()
    smaller = opened(path, clock=lambda: 1000.0, history_items=2)
    assert ids(smaller.after("none")) == ["e2", "e3"]
    smaller.close()
    older = opened(path, clock=lambda: 2000.0, history_s=60.0)
    older.expire()
    assert (len(older), older.last) == (0, 3)
    older.close()


def test_numbers_go_on_where_nothing_is_kept(path):
    """All has become too old, and the file was rewritten."""
    file, _ = HistoryFile.open(path, "source-1")
    file.rewrite(Kept("source-1", [], 1000), file.size)
    file.close()
    history = opened(path)
    assert (history.first, history.last) == (1001, 1000)
    history.close()


def test_the_file_is_rewritten_when_it_is_twice_as_large(path):
    """It stays bounded for ever, and what is kept is all there."""
    history = opened(path, history_items=100)

    def is_small():
        add(history, history.last + 1)
        return path.stat().st_size < 2 * (len(history) * HEADER_BYTES + history.bytes) + SPARE_BYTES

    for _ in range(3):
        add(history, *range(history.last + 1, history.last + 1001))
        wait_until(is_small)
    wait_until(lambda: history._rewriting is None)
    last = history.last
    history.close()
    again = opened(path, history_items=100)
    assert ids(again.after("none")) == [f"e{number}" for number in range(last - 99, last + 1)]
    assert again.source_id == history.source_id
    again.close()


def test_signs_of_life_are_not_written(path):
    """They have a number, which may be given again after a restart: nobody keeps it."""
    history = opened(path)
    add(history, 1)
    size = path.stat().st_size
    history.add([Entry(2, command_item(TEST_CONNECTION, "t"), 1.0)])
    assert path.stat().st_size == size
    assert history.last == 2
    history.close()


def test_an_item_that_can_not_be_written_is_not_taken(path, monkeypatch):
    """It is nowhere, and the next one may be taken again."""
    history = opened(path)
    add(history, 1)

    def full(fd, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(history_file.os, "write", full)
        with pytest.raises(StoreError):
            add(history, 2)
    assert history.entry("e2") is None
    assert history.last == 1
    assert "No space left" in history.trouble
    add(history, 2)
    assert ids(history) == ["e1", "e2"]
    assert history.trouble == ""
    history.close()


def test_after_a_sync_that_failed_nothing_is_taken(path, monkeypatch, caplog):
    """Nobody can say what is on the disk, until all of it is in a new file."""
    history = opened(path)

    def broken(fd):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(history_file.os, "fsync", broken)
        add(history, 1)
        wait_until(lambda: history.trouble)
        for _ in range(3):
            with pytest.raises(StoreError, match="Input/output error"):
                add(history, 2)
            wait_until(lambda: history._rewriting is None)
        history.add([Entry(2, command_item(TEST_CONNECTION, "t"), 1.0)])
        inode = path.stat().st_ino
    with pytest.raises(StoreError, match="Input/output error"):
        add(history, 3)
    wait_until(lambda: not history.trouble)
    assert path.stat().st_ino != inode
    add(history, 3)
    assert ids(history) == ["e1", "e3"]
    history.close()
    again = opened(path)
    assert ids(again) == ["e1", "e3"]
    again.close()
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_a_rewriting_that_fails_harms_nobody(path, monkeypatch, caplog):
    """It is tried again with the next item."""
    history = opened(path, history_items=10)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(history_file, "_write_draft", full)
        add(history, *range(1, 1001))
        wait_until(lambda: "No space left on device" in caplog.text and history._rewriting is None)
    large = path.stat().st_size
    add(history, 1001)
    wait_until(lambda: path.stat().st_size < large)
    history.close()


def test_closing_makes_it_safe(path, monkeypatch):
    """What came last, too, without waiting for the time to come; and it may be said twice."""
    synced = []
    real = os.fsync
    history = KeptHistory("events", StreamConfig(), path, sync_s=60.0)
    monkeypatch.setattr(history_file.os, "fsync", lambda fd: synced.append(fd) or real(fd))
    add(history, 1)
    history.close()
    history.close()
    assert synced


def test_what_was_taken_survives_sigkill(path):
    """At any moment, a rewriting too: items that were taken are there, in order, and numbers go on rising."""
    rng = random.Random(7)
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    taken = 0
    for _ in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, env=environment
        ) as writer:
            assert writer.stdout is not None
            first = int(writer.stdout.readline())
            time.sleep(rng.uniform(0.05, 0.25))
            writer.kill()
            said = [first, *map(int, writer.stdout.read().split(b"\n")[:-1])]
        assert first == taken + 1
        assert said == list(range(first, said[-1] + 1))
        history = opened(path, history_items=300)
        # One more may be in the file than was said.
        assert said[-1] <= history.last <= said[-1] + 1
        taken = history.last
        kept = ids(history.after("none"))
        assert kept == [f"e{number}" for number in range(max(1, taken - 299), taken + 1)]
        history.close()
    assert taken > 1000
    assert path.stat().st_size < taken * 400
