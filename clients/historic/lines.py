"""Line numbers for the few rows for which one is asked.

Counting lines while they are read would bind each file to one task.  So a row only has the byte at which its split begins and
a number that grows by one from row to row; here the lines of the splits before are counted, in files that have such rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from .table import BLOCK, FILE, HEIGHT, PLACE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from .table import Table


def numbered(rows: DataFrame, table: Table) -> DataFrame:
    """The rows (with `file`, `block` and `place`) with a column `line`, from 1; null where it can't be told any more."""
    files = rows.select(FILE).distinct()
    lines = table.lines.join(F.broadcast(files), FILE, "left_semi")
    if HEIGHT in lines.columns:
        return _by_height(rows, lines, table.skipped)
    splits = lines.groupBy(FILE, BLOCK).agg(F.min(PLACE).alias("_first"), F.count("*").alias("_count"))
    before = Window.partitionBy(FILE).orderBy(BLOCK).rowsBetween(Window.unboundedPreceding, -1)
    starts = splits.withColumn("_before", F.coalesce(F.sum("_count").over(before), F.lit(0)))
    # Rows of a JSON document and of Parquet are numbered from the start; what is not read there is no row.
    found = rows.join(F.broadcast(starts), [FILE, BLOCK], "left")
    line = F.col("_before") + F.col(PLACE) - F.col("_first") + table.skipped + 1
    return found.withColumn("line", line).drop("_first", "_count", "_before")


def _by_height(rows: DataFrame, lines: DataFrame, skipped: int) -> DataFrame:
    """Rows that take several lines: the heights of all rows before them are added up."""
    before = Window.partitionBy(FILE).orderBy(PLACE).rowsBetween(Window.unboundedPreceding, -1)
    starts = lines.select(FILE, PLACE, F.coalesce(F.sum(HEIGHT).over(before), F.lit(0)).alias("_before"))
    found = rows.join(starts, [FILE, PLACE], "left")
    return found.withColumn("line", F.col("_before") + skipped + 1).drop("_before")
