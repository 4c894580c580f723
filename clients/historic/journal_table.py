"""The broker's journal as a table: a row for each quad that a change added or removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from .journal_source import JOURNAL, register
from .table import BLOCK, FAULT, FILE, PLACE, RAW, ROW, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .plan import Source


def journal_table(spark: SparkSession, source: Source) -> Table:
    """The changes in the journal of a broker's directory; a row's line is the change's sequence number.

    Raises:
        OriginError: there is no journal.
    """
    register(spark)
    changes = spark.read.format(JOURNAL).option("data", source.path).load()
    row = F.struct("*")
    frame = changes.select(
        row.alias(ROW),
        F.lit(source.path).alias(FILE),
        F.lit(0).cast("bigint").alias(BLOCK),
        (F.col("sequence") - 1).alias(PLACE),
    )
    rows = frame.withColumns({RAW: F.to_json(ROW), FAULT: F.lit(None).cast("string")})
    return Table(source, rows, frame.select(FILE, BLOCK, PLACE))
