"""A question and its answer; errors are ours, not Spark's."""

from __future__ import annotations

import shutil
import threading
from datetime import UTC, datetime, timedelta

import pytest

from triplewire.clients.historic.archive import Archive
from triplewire.clients.historic.archiving import ArchiveSettings, Archiving
from triplewire.clients.historic.asking import ask
from triplewire.clients.historic.errors import HistoryError
from triplewire.clients.historic.journal_options import JournalOptions
from triplewire.clients.historic.slices import Slice

from .histories import append

PAST = datetime(2026, 5, 4, 12, tzinfo=UTC)


def test_rows_in_order(spark, tmp_path):
    """By time and change; before the archive's beginning nothing is known; files that went are an error of ours."""
    data, out = tmp_path / "data", tmp_path / "out"
    append(data, PAST, 3)
    append(data, PAST + timedelta(hours=1), 2)
    archive = Archive(spark, str(out))
    Archiving(archive, JournalOptions(data=str(data)), ArchiveSettings()).run(threading.Event())
    asked = {"start": PAST, "end": PAST + timedelta(days=1), "predicate": "http://example.org/p"}
    answer = ask(archive, Slice(**asked, graph="http://example.org/g"))
    rows = list(answer.rows)
    assert [row[answer.columns.index("sequence")] for row in rows] == [1, 2, 3, 4, 5]
    with pytest.raises(HistoryError, match="begins at 2026-05-04T12:00:00"):
        ask(archive, Slice(**asked, as_of=PAST - timedelta(seconds=1)))
    for file in out.glob("live/*/changes/day=*/*.parquet"):
        file.unlink()
    with pytest.raises(HistoryError, match="parquet"):
        list(ask(archive, Slice(**asked)).rows)
    shutil.rmtree(out)
    with pytest.raises(HistoryError, match="there is no archive"):
        ask(archive, Slice(**asked))
