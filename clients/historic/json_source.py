"""JSON as tables: files of a value a line, and documents with their rows at a JSONPath.

Rows are JSON values (Spark's variants), so that each value keeps its own type, whatever the other rows have there.  A document
is read whole by one task; only what is at the iterator must fit into Spark's limit for one value, each row by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it
from pyspark.sql import types as T  # noqa: N812 - likewise

from .files import files_at, size_of
from .json_paths import json_path
from .json_values import all_of, at_each, json_at
from .reasons import Reason
from .table import BLOCK, FAULT, FILE, PLACE, RAW, ROW, Table, before_all

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from .plan import Source


def json_lines_table(spark: SparkSession, source: Source) -> Table:
    """A row for each line that is not empty.

    Raises:
        SourceError: there are no files.
    """
    files = files_at(spark, source.path)
    frame = spark.read.text(files).select(
        F.try_parse_json(F.col("value")).alias(ROW),
        F.col("_metadata.file_path").alias(FILE),
        F.col("_metadata.file_block_start").alias(BLOCK),
        F.monotonically_increasing_id().alias(PLACE),
        F.make_valid_utf8("value").alias(RAW),
        F.is_valid_utf8("value").alias("_valid"),
    )
    fault = F.when(~F.col("_valid"), Reason.BAD_ENCODING.value).when(
        F.col(ROW).isNull(), Reason.BAD_LINE.value
    )
    rows = frame.where(F.btrim(F.col(RAW)) != "").select(ROW, FILE, BLOCK, PLACE, RAW, fault.alias(FAULT))
    return Table(source, rows, frame.select(FILE, BLOCK, PLACE), bytes=size_of(spark, files))


def json_table(spark: SparkSession, source: Source) -> Table:
    """The rows at the iterator of each document; their lines are their numbers within it.

    Raises:
        SourceError: there are no files.
    """
    files = files_at(spark, source.path)
    documents = spark.read.text(files, wholetext=True)
    values, is_bad = _rows(F.col("value"), json_path(source.iterator or "$"))
    frame = documents.select(
        values.alias("_values"),
        is_bad.alias("_bad"),
        F.substring("value", 1, 1000).alias("_start"),
        F.col("_metadata.file_path").alias(FILE),
    )
    # A document that can't be read is one row that can't.
    one = F.array(F.lit(None).cast("variant"))
    exploded = frame.select(
        F.posexplode(F.when(F.col("_bad"), one).otherwise(F.col("_values"))).alias("_place", ROW),
        "_bad",
        "_start",
        FILE,
    )
    rows = exploded.select(
        ROW,
        FILE,
        F.lit(0).cast("bigint").alias(BLOCK),
        F.col("_place").cast("bigint").alias(PLACE),
        F.when(F.col("_bad"), F.col("_start")).otherwise(F.to_json(ROW)).alias(RAW),
        F.when(F.col("_bad"), Reason.BAD_LINE.value).alias(FAULT),
    )
    return Table(source, rows, _places(rows), bytes=size_of(spark, files))


def _places(rows: DataFrame) -> DataFrame:
    return rows.select(FILE, BLOCK, PLACE)


def _rows(text: Column, path: tuple[str | int | None, ...]) -> tuple[Column, Column]:
    """The rows of a document as an array of JSON values, and whether it is no JSON.

    Up to the first `[*]` only what is on the way is read, so that the document itself may be larger than a value.
    """
    start = before_all(path)
    if None not in path or any(isinstance(step, int) for step in start):
        value = F.try_parse_json(text)
        values = F.array_compact(F.array(json_at(value, start, "variant")))
        is_bad = value.isNull()
    else:
        type_: T.ArrayType | T.StructType = T.ArrayType(T.VariantType())
        for step in reversed(start):
            type_ = T.StructType([T.StructField(str(step), type_)])
        # A root of another kind is no row, but no reason to say that the document is broken either.
        read = F.from_json(text, type_, {"mode": "PERMISSIVE"})
        values = read
        for step in start:
            values = values.getField(str(step))
        values = F.coalesce(values, F.array().cast("array<variant>"))
        is_bad = read.isNull() & F.try_parse_json(text).isNull()
        path = path[len(start) + 1 :]
        start = ()
    for way in path[len(start) :]:
        values = all_of(values) if way is None else at_each(values, way)
    return F.filter(values, lambda value: value.isNotNull()), is_bad
