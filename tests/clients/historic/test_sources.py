"""A source of any format as a table."""

from __future__ import annotations

import pytest

from triplewire.clients.historic.errors import SourceError
from triplewire.clients.historic.plan import Source
from triplewire.clients.historic.sources import pin_splits, table_of

PINNED = "spark.sql.files.minPartitionNum"


def test_a_format_that_is_not_known(spark):
    """The message says which are."""
    with pytest.raises(
        SourceError, match="s: the format 'xls' is none of csv, json, jsonl, parquet, orc, items"
    ):
        table_of(spark, Source("s", "x.xls", "xls"))


def test_files_are_cut_at_the_same_places_each_time(spark):
    """What was set before stays."""
    before = spark.conf.get(PINNED, None)
    try:
        spark.conf.unset(PINNED)
        pin_splits(spark)
        assert spark.conf.get(PINNED) == str(spark.sparkContext.defaultParallelism)
        spark.conf.set(PINNED, "7")
        pin_splits(spark)
        assert spark.conf.get(PINNED) == "7"
    finally:
        spark.conf.unset(PINNED)
        if before is not None:
            spark.conf.set(PINNED, before)
