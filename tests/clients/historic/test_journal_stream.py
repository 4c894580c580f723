"""Offsets of the stream: places in the journal, bounded batches, and an end where only what is there is wanted."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes

from triplewire.clients.historic.journal_options import JournalOptions
from triplewire.clients.historic.journal_place import OriginError, Place
from triplewire.clients.historic.journal_stream import JournalStream, Piece, first_place, number, rows_between

from .histories import append

PAST = datetime.now(UTC) - timedelta(hours=1)


def stream(directory, **options):
    return JournalStream({"data": str(directory), **options})


def test_offsets(tmp_path):
    """They begin where the journal does, rise with it, and stay where nothing came."""
    append(tmp_path, PAST, 10)
    one = stream(tmp_path)
    start = one.initialOffset()
    assert start["sequence"] == 0
    end = one.latestOffset(start, ReadAllAvailable())
    assert end["sequence"] == 10
    assert one.latestOffset(end, ReadAllAvailable()) is end
    assert one.partitions(end, end) == []
    append(tmp_path, PAST, 3)
    later = one.latestOffset(end, ReadAllAvailable())
    assert later["sequence"] == 13
    assert later["epoch"] != end["epoch"]
    assert stream(tmp_path, after="5", epoch="e").initialOffset() == {"sequence": 5, "epoch": "e"}


def test_batches_are_bounded(tmp_path):
    """By the limit that Spark is told by default."""
    append(tmp_path, PAST, 10)
    one = stream(tmp_path, batch_bytes="300")
    assert one.getDefaultReadLimit() == ReadMaxBytes(300)
    end = one.latestOffset(one.initialOffset(), one.getDefaultReadLimit())
    assert 0 < end["sequence"] < 5


def test_only_what_is_there(tmp_path):
    """With the trigger `availableNow` it ends, however much comes meanwhile."""
    append(tmp_path, PAST, 4)
    one = stream(tmp_path)
    one.prepareForTriggerAvailableNow()
    start = one.initialOffset()
    half = one.latestOffset(start, ReadMaxBytes(1))
    append(tmp_path, PAST, 4)
    end = one.latestOffset(half, ReadAllAvailable())
    assert (half["sequence"], end["sequence"]) == (1, 4)
    assert one.latestOffset(end, ReadAllAvailable()) is end


def test_the_rows_of_pieces(tmp_path):
    """On an executor, whither reader and pieces are sent."""
    append(tmp_path, PAST, 6)
    one = pickle.loads(pickle.dumps(stream(tmp_path)))
    pieces = pickle.loads(
        pickle.dumps(one.partitions({"sequence": 1, "epoch": ""}, {"sequence": 5, "epoch": ""}))
    )
    rows = [row for piece in pieces for batch in one.read(piece) for row in batch.to_pylist()]
    assert sorted({row["sequence"] for row in rows}) == [2, 3, 4, 5]
    assert len(rows) == 8
    again = rows_between(JournalOptions(data=str(tmp_path)), Piece(Place(1, ""), 5))
    assert [row for batch in again for row in batch.to_pylist()] == rows


def test_options():
    """Numbers, and one that must be there."""
    assert first_place({}) is None
    assert first_place({"after": "3", "epoch": "e"}) == Place(3, "e")
    assert number({}, "snapshot", 4) == 4
    for options in ({}, {"snapshot": "-1"}, {"snapshot": "x"}, {"snapshot": "\u0663"}):
        with pytest.raises(OriginError, match="`snapshot` must be a number"):
            number(options, "snapshot")
