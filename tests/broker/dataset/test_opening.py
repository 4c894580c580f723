"""The dataset is what it was when the last process ended, with either engine, and after a change of engines."""

from __future__ import annotations

import gc
import shutil
import subprocess
import sys
from pathlib import Path

import pyoxigraph
import pytest
from pyoxigraph import BlankNode, NamedNode, Quad
from support.deltas import replacement

from triplewire.broker.config import JournalConfig, StoreConfig
from triplewire.broker.dataset import position
from triplewire.broker.dataset.opening import open_dataset
from triplewire.broker.errors import JournalDamaged, StoreError
from triplewire.broker.journal.inspection import dump, verify
from triplewire.broker.journal.repair import repair
from triplewire.broker.journal.segment import first_sequences, segment_path
from triplewire.broker.journal.snapshot import snapshot_sequences
from triplewire.broker.model import QuadDelta

G = NamedNode("urn:g")
BLANK = Quad(BlankNode("kept"), NamedNode("urn:p"), NamedNode("urn:o"), G)


def opened(directory, engine="memory", **journal):
    return open_dataset(StoreConfig(data=str(directory), engine=engine), JournalConfig(**journal))


def write(dataset, numbers):
    for number in numbers:
        dataset.write(replacement(number))


def content(dataset):
    return frozenset(dataset.store), frozenset(dataset.store.named_graphs())


@pytest.fixture(params=["memory", "disk"])
def engine(request):
    return request.param


def test_a_new_directory_is_empty(tmp_path, engine):
    """And is there afterwards."""
    dataset = opened(tmp_path / "a" / "b", engine)
    assert content(dataset) == (frozenset(), frozenset())
    dataset.close()
    assert (tmp_path / "a" / "b" / "journal").is_dir()


def test_everything_comes_back(tmp_path, engine):
    """Quads, blank nodes by their labels, graphs without a quad, and the count of quads."""
    dataset = opened(tmp_path, engine)
    write(dataset, range(1, 40))
    dataset.write(QuadDelta(frozenset({BLANK}), frozenset(), frozenset({NamedNode("urn:empty")})))
    before = content(dataset)
    dataset.close()
    again = opened(tmp_path, engine)
    assert content(again) == before
    assert BLANK in again.store
    assert again.churn.live == len(before[0])
    again.close()


DYING = """
import os, sys
sys.path += {paths!r}
from test_opening import BLANK, opened, write
dataset = opened({directory!r}, {engine!r})
write(dataset, range(1, 40))
{last}
os._exit(3)
"""


def die(directory, engine, last=""):
    """A process that writes 39 changes, does one more thing, and ends without a word."""
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[2])]
    code = DYING.format(paths=paths, directory=str(directory), engine=engine, last=last)
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 3


def test_a_process_that_died_loses_nothing(tmp_path, engine):
    """Nothing was closed or flushed."""
    die(tmp_path, engine)
    again = opened(tmp_path, engine)
    assert frozenset(again.store) == replacement(39).inserted
    again.close()


@pytest.mark.parametrize(("first", "second"), [("memory", "disk"), ("disk", "memory")])
def test_the_engine_may_change(tmp_path, first, second):
    """There and back: the journal has all of it."""
    numbers = iter(range(1, 1000))
    before = None
    for engine in (first, second, first, second):
        dataset = opened(tmp_path, engine)
        if before is not None:
            assert content(dataset) == before
        write(dataset, [next(numbers) for _ in range(5)])
        dataset.flush()
        before = content(dataset)
        dataset.close()


def test_files_of_before_there_was_a_journal_are_believed(tmp_path, engine):
    """A snapshot is made of them first."""
    store = pyoxigraph.Store(str(tmp_path / "store"))
    store.add(BLANK)
    store.flush()
    del store
    gc.collect()
    dataset = opened(tmp_path, engine)
    assert BLANK in dataset.store
    write(dataset, [1])
    before = content(dataset)
    dataset.close()
    assert snapshot_sequences(tmp_path) == [0]
    again = opened(tmp_path, engine)
    assert content(again) == before
    again.close()


def test_a_half_made_store_is_made_anew(tmp_path, caplog):
    """Its position is written when it is whole."""
    dataset = opened(tmp_path, "disk")
    write(dataset, range(1, 10))
    before = content(dataset)
    dataset.close()
    position.remove_position(tmp_path)
    again = opened(tmp_path, "disk")
    assert content(again) == before
    again.close()
    assert position.read_position(tmp_path).sequence == 9


def test_a_store_that_is_too_old_is_made_anew(tmp_path):
    """The journal does not reach back to it."""
    dataset = opened(tmp_path, "disk", segment_bytes=500, keep_bytes=0, snapshots_kept=1)
    write(dataset, range(1, 30))
    dataset.flush()
    old = (tmp_path / "store.json").read_bytes().replace(b'"sequence": 29', b'"sequence": 2')
    dataset.snapshot()
    before = content(dataset)
    dataset.close()
    assert first_sequences(tmp_path)[0] > 3
    (tmp_path / "store.json").write_bytes(old)
    again = opened(tmp_path, "disk")
    assert content(again) == before
    again.close()


def test_a_store_that_outlived_its_journal_has_the_word(tmp_path):
    """The journal's end was lost; a new one begins behind a snapshot, and numbers go on."""
    dataset = opened(tmp_path, "disk")
    write(dataset, range(1, 10))
    dataset.close()
    before = frozenset(replacement(9).inserted)
    shutil.rmtree(tmp_path / "journal")
    for _ in range(2):
        dataset = opened(tmp_path, "disk")
        assert frozenset(dataset.store) == before
        dataset.close()
    dataset = opened(tmp_path, "disk")
    write(dataset, [10])
    assert dataset.kept.journal.last_sequence == 10
    dataset.close()
    dataset = opened(tmp_path)  # the journal alone tells the same
    assert frozenset(dataset.store) == replacement(10).inserted
    dataset.close()


def test_after_a_loss_of_power_the_store_has_the_word(tmp_path, monkeypatch):
    """It may have what the journal has lost: a snapshot says what there is."""
    die(tmp_path, "disk", "dataset.flush(); dataset.store.add(BLANK); dataset.store.flush()")
    monkeypatch.setattr(position, "this_boot", lambda: "another")
    again = opened(tmp_path, "disk")
    assert BLANK in again.store
    again.close()
    in_memory = opened(tmp_path)
    assert BLANK in in_memory.store
    in_memory.close()


def test_damage_stops_the_start_and_is_repaired(tmp_path, engine):
    """The place is told; what was before it comes back, what came after it is set aside."""
    dataset = opened(tmp_path, engine, segment_bytes=1500)
    write(dataset, range(1, 30))
    dataset.close()
    segments = first_sequences(tmp_path)
    damaged = segment_path(tmp_path, segments[1])
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    if engine == "disk":
        (tmp_path / "store.json").unlink()  # the store is of no use, and must be made anew
    with pytest.raises(JournalDamaged, match=damaged.name):
        opened(tmp_path, engine)
    done = repair(tmp_path)
    last = int(done.findings[-1].rsplit(" ", 1)[1])
    assert segments[1] <= last + 1 <= segments[2]
    assert damaged.name in done.findings[0]
    assert [path for path in (tmp_path / "journal").iterdir() if path.suffix == ".aside"]
    assert not verify(tmp_path).problems
    dataset = opened(tmp_path, engine)
    assert frozenset(dataset.store) == replacement(last).inserted
    write(dataset, [last + 1])
    dataset.close()
    assert [record.sequence for record in dump(tmp_path)] == list(range(1, last + 2))
    assert repair(tmp_path).findings == ()


def test_repair_goes_back_to_an_older_snapshot(tmp_path):
    """Where the newest is damaged, and the journal in front of it is not."""
    dataset = opened(tmp_path)
    write(dataset, range(1, 10))
    dataset.snapshot()
    write(dataset, range(10, 20))
    dataset.snapshot()
    before = content(dataset)
    dataset.close()
    part = next((tmp_path / "snapshots" / f"{19:020}").glob("part*"))
    part.write_bytes(part.read_bytes()[:-1])
    found = repair(tmp_path)
    assert found.findings == (
        "snapshot 00000000000000000019.0.aside is damaged, or can't be used without what is",
    )
    dataset = opened(tmp_path)
    assert content(dataset) == before
    dataset.close()


def test_nothing_whole_can_not_be_repaired(tmp_path):
    """And nothing is touched."""
    dataset = opened(tmp_path, segment_bytes=500, keep_bytes=0, snapshots_kept=1)
    write(dataset, range(1, 30))
    dataset.snapshot()
    dataset.close()
    shutil.rmtree(tmp_path / "snapshots")
    before = sorted(path.name for path in tmp_path.rglob("*"))
    with pytest.raises(JournalDamaged, match="a whole snapshot"):
        repair(tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def test_two_at_a_time_are_refused(tmp_path, engine):
    """And the first goes on."""
    dataset = opened(tmp_path, engine)
    with pytest.raises(StoreError, match="in use by another broker"):
        opened(tmp_path, engine)
    write(dataset, [1])
    dataset.close()
