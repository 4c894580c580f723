"""Parquet and ORC as tables: their columns keep their types, and directories named `day=2026-01-01` are columns too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from .errors import SourceError
from .files import size_of
from .table import BLOCK, FAULT, FILE, PLACE, RAW, ROW, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .plan import Source


def columnar_table(spark: SparkSession, source: Source) -> Table:
    """The rows of the files; a row's line is its number within its file.

    Raises:
        SourceError: there are none, or they are of another format.
    """
    try:
        read = spark.read.format(source.format).load(source.path)
        files = read.inputFiles()
    except PySparkException as error:
        raise _unreadable(source, error.getMessage()) from error
    except Py4JJavaError as error:
        raise _unreadable(source, error.java_exception.getMessage()) from error
    if not files or not read.columns:
        raise SourceError(f"{source.path}: there are no files in it")
    row = F.struct("*")
    if source.format == "parquet":
        place, block = F.col("_metadata.row_index"), F.lit(0).cast("bigint")
    else:
        place, block = F.monotonically_increasing_id(), F.col("_metadata.file_block_start")
    frame = read.select(
        row.alias(ROW), F.col("_metadata.file_path").alias(FILE), block.alias(BLOCK), place.alias(PLACE)
    )
    rows = frame.withColumns({RAW: F.to_json(ROW), FAULT: F.lit(None).cast("string")})
    return Table(source, rows, frame.select(FILE, BLOCK, PLACE), bytes=size_of(spark, list(files)) * 3)


def _unreadable(source: Source, why: object) -> SourceError:
    return SourceError(f"{source.path} can't be read as {source.format}: {why!s:.300}")
