"""The dataset that was there before the first record that a journal still has.

The newest snapshot tells it, together with the records up to what the snapshot may hold: of a quad that they name, the
first of them has the word: it came with it, so it was not there before; or it went with it, so it was.  Of any other
quad the snapshot has the word (broker/journal/past.py).  Spark does that by one aggregation, whatever its size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from .change_rows import SCHEMA
from .journal_source import JOURNAL, SNAPSHOT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from .journal_options import JournalOptions
    from .journal_place import Beginning

_QUAD: Final = ("graph", "subject", "predicate", "object")
_COLUMNS: Final = [column.split()[0] for column in SCHEMA.split(", ")]


def dataset_before(spark: SparkSession, options: JournalOptions, beginning: Beginning) -> DataFrame | None:
    """Its quads as rows of an archive that came, `sequence` and `time` those of the beginning; None for surely none."""
    if beginning.snapshot is None:
        return None
    told = options.texts()
    place = beginning.place
    snapshot = spark.read.format(SNAPSHOT).options(**told, snapshot=str(beginning.snapshot)).load()
    words = snapshot.select(*_QUAD, F.lit(None).cast("bigint").alias("sequence"), F.lit(True).alias("there"))
    if beginning.until > place.sequence:
        between = {"after": str(place.sequence), "epoch": place.epoch, "upto": str(beginning.until)}
        records = spark.read.format(JOURNAL).options(**told, **between).load()
        words = words.unionByName(records.select(*_QUAD, "sequence", (~F.col("added")).alias("there")))
    # The snapshot's word comes last: after every number.
    order = F.coalesce("sequence", F.lit((1 << 63) - 1))
    first = words.groupBy(*_QUAD).agg(F.min_by("there", order).alias("there")).filter("there")
    time = F.timestamp_millis(F.lit(beginning.time_ms))
    rows = first.select(
        F.lit(place.sequence).cast("bigint").alias("sequence"),
        time.alias("time"),
        F.lit("").alias("client"),
        F.lit(True).alias("added"),
        *_QUAD,
    )
    return rows.select(*_COLUMNS, F.to_date("time").alias("day"))
