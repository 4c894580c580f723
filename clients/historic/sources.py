"""A source of the plan as a table, whatever its format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .columnar_source import columnar_table
from .csv_source import csv_table
from .errors import SourceError
from .items_source import items_table
from .journal_table import journal_table
from .json_source import json_lines_table, json_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from .plan import Source
    from .table import Table

READERS: Final[dict[str, Callable[[SparkSession, Source], Table]]] = {
    "csv": csv_table,
    "json": json_table,
    "jsonl": json_lines_table,
    "parquet": columnar_table,
    "orc": columnar_table,
    "items": items_table,
    "journal": journal_table,
}


def table_of(spark: SparkSession, source: Source) -> Table:
    """The rows of a source.

    Raises:
        SourceError: its format is not known, there is nothing at its path, or it is not of its format.
    """
    reader = READERS.get(source.format)
    if reader is None:
        raise SourceError(f"{source.name}: the format {source.format!r} is none of {', '.join(READERS)}")
    pin_splits(spark)
    # A mapping's names are exact, and a file may have both `Time` and `time`.
    spark.conf.set("spark.sql.caseSensitive", "true")
    return reader(spark, source)


def pin_splits(spark: SparkSession) -> None:
    """Files are cut at the same places each time they are read, also when executors come and go between."""
    setting = "spark.sql.files.minPartitionNum"
    if spark.conf.get(setting, None) is None:
        spark.conf.set(setting, str(spark.sparkContext.defaultParallelism))
