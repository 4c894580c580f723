"""The journal as a table of Spark's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyoxigraph import Store
from pyspark.errors import PySparkException
from support.archives import archived, told

from triplewire.broker.config import JournalConfig
from triplewire.broker.journal.checkpoint import checkpoint
from triplewire.broker.journal.journal import Journal
from triplewire.clients.historic.journal_source import JOURNAL, SNAPSHOT, register

from .histories import append

PAST = datetime.now(UTC) - timedelta(hours=1)
SMALL = JournalConfig(segment_bytes=1_000)


def test_records_and_a_snapshot_as_rows(spark, tmp_path):
    """In pieces by segment; between two records; and the quads of a snapshot."""
    register(spark)
    append(tmp_path, PAST, 30, SMALL)
    read = spark.read.format(JOURNAL).option("data", str(tmp_path))
    everything = read.load()
    assert everything.rdd.getNumPartitions() > 3
    assert archived(everything) == told(tmp_path)
    some = read.option("after", "10").option("upto", "12").load()
    assert archived(some) == [row for row in told(tmp_path) if 10 < row[0] <= 12]
    journal = Journal.open(tmp_path, SMALL)
    store = Store()
    store.update("INSERT DATA { <a:a> <a:b> 'x' }")
    checkpoint(journal, store, SMALL, PAST.timestamp())
    journal.close()
    read = spark.read.format(SNAPSHOT).option("data", str(tmp_path))
    (row,) = read.option("snapshot", "30").load().collect()
    assert (row.sequence, row.added, row.graph, row.subject, row.object) == (30, True, None, "<a:a>", '"x"')
    with pytest.raises(PySparkException, match="snapshot 4 is not there any more"):
        read.option("snapshot", "4").load().collect()


def test_no_token_in_a_plan(spark, tmp_path):
    """Plans are shown and logged."""
    register(spark)
    append(tmp_path, PAST, 1)
    frame = spark.read.format(JOURNAL).option("data", str(tmp_path)).option("token", "very-secret").load()
    assert frame.count() == 2
    assert "very-secret" not in frame._jdf.queryExecution().toString()
    assert JOURNAL in frame._jdf.queryExecution().toString()
