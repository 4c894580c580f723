"""Generations are folded without loss, whenever it is interrupted, and only when a day is over."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from support.archives import archived, told

from triplewire.clients.historic.archive import Archive
from triplewire.clients.historic.archive_folding import fold, write_generation
from triplewire.clients.historic.archiving import ArchiveSettings, Archiving
from triplewire.clients.historic.errors import HistoryError
from triplewire.clients.historic.journal_options import JournalOptions

from .histories import append

YESTERDAY = datetime.now(UTC) - timedelta(days=1)


def keep(archive, data, *, compact):
    settings = ArchiveSettings(compact=compact)
    Archiving(archive, JournalOptions(data=str(data)), settings).run(threading.Event())


def test_days_that_are_over_become_few_files(spark, tmp_path):
    """The rows stay, the live generation begins after them, and the next compaction takes the old files away."""
    data, out = tmp_path / "data", tmp_path / "out"
    archive = Archive(spark, str(out))
    append(data, YESTERDAY, 5)
    keep(archive, data, compact=False)
    append(data, YESTERDAY, 5)
    keep(archive, data, compact=True)
    manifest = archive.whole()
    assert (manifest.generation, manifest.folded, manifest.place.sequence) == (2, (0, 1), 10)
    assert archived(archive.changes()) == told(data)
    assert archive.live(manifest).isEmpty()
    append(data, datetime.now(UTC), 5)
    keep(archive, data, compact=True)
    assert archive.whole() == manifest, "today is not over"
    assert archived(archive.changes()) == told(data)
    assert len(list(out.glob("days/day=*/generation=1/*.parquet"))) == 1
    keep(archive, data, compact=False)
    second = fold(archive, archive.whole())
    assert second.folded == (0, 1, 2)
    assert not (out / "live/00000001").exists()
    assert (out / "live/00000002").exists(), "who has just read the manifest before can still read on"
    assert archived(archive.changes()) == told(data)


def test_folding_that_is_cut_short_is_done_again(spark, tmp_path):
    """What was written before the manifest does not count, and is written over."""
    data, out = tmp_path / "data", tmp_path / "out"
    archive = Archive(spark, str(out))
    append(data, YESTERDAY, 4)
    keep(archive, data, compact=False)
    write_generation(archive, 1, archive.live(archive.whole()))
    assert archived(archive.changes()) == told(data)
    append(data, datetime.now(UTC), 4)
    keep(archive, data, compact=True)
    assert archive.whole().folded == (0, 1)
    assert archived(archive.changes()) == told(data)


def test_another_process_is_noticed(spark, tmp_path):
    """A generation is begun by one process only."""
    data = tmp_path / "data"
    archive = Archive(spark, str(tmp_path / "out"))
    append(data, YESTERDAY, 1)
    keep(archive, data, compact=False)
    before = archive.whole()
    fold(archive, before)
    with pytest.raises(HistoryError, match="another process"):
        fold(archive, before)
