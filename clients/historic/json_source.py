"""JSON as tables: files of a value a line, and documents with their rows at a JSONPath.

Rows are JSON values (Spark's variants), so that each value keeps its own type, whatever the other rows have there.  A document
is read whole by one task; only what is at the iterator must fit into Spark's limit for one value, each row by itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it
from pyspark.sql import types as T  # noqa: N812 - likewise

from .charsets import UTF_8, charset_of
from .files import files_at, paths_of, size_of
from .json_paths import json_path
from .json_values import END, all_of, at_each, json_at, unwrapped, wrapped
from .line_sample import sampled_lines
from .reasons import Reason
from .table import BLOCK, FAULT, FILE, PLACE, RAW, ROW, Table, before_all

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from .plan import Source


_BOM: Final = "\ufeff"
_ALL: Final = 2**31 - 1


def json_lines_table(spark: SparkSession, source: Source) -> Table:
    """A row for each line that is not empty.

    Raises:
        SourceError: there are no files.
    """
    charset = charset_of(spark, source)
    files = files_at(spark, source.path)
    value = F.col("value")
    if charset != UTF_8:  # Spark's lines are bytes, whatever they mean
        value = F.decode(value.cast("binary"), charset)
    frame = spark.read.text(paths_of(files)).select(
        value.alias("value"),
        F.col("_metadata.file_path").alias(FILE),
        F.col("_metadata.file_block_start").alias(BLOCK),
        F.monotonically_increasing_id().alias(PLACE),
    )

    def some(fraction: float) -> DataFrame | None:
        lines = sampled_lines(spark, files, fraction, charset)
        nowhere = [F.lit(0).cast("bigint").alias(name) for name in (BLOCK, PLACE)]
        return None if lines is None else _values(lines.select("value", F.lit("").alias(FILE), *nowhere))

    size = size_of(spark, files)
    return Table(source, _values(frame), frame.select(FILE, BLOCK, PLACE), bytes=size, some=some)


def _values(lines: DataFrame) -> DataFrame:
    """Lines (`value`) as rows."""
    value = F.col("value")
    frame = lines.select(
        wrapped(value).alias("_wrapped"),
        FILE,
        BLOCK,
        PLACE,
        F.make_valid_utf8(value).alias(RAW),
        F.is_valid_utf8(value).alias("_valid"),
    )
    frame = frame.withColumn(ROW, unwrapped(F.col("_wrapped")))
    fault = F.when(~F.col("_valid"), Reason.BAD_ENCODING.value).when(
        F.col(ROW).isNull(), Reason.BAD_LINE.value
    )
    return frame.where(F.btrim(F.col(RAW)) != "").select(ROW, FILE, BLOCK, PLACE, RAW, fault.alias(FAULT))


def json_table(spark: SparkSession, source: Source) -> Table:
    """The rows at the iterator of each document; their lines are their numbers within it.

    Raises:
        SourceError: there are no files.
    """
    files = files_at(spark, source.path)
    documents = _documents(spark, files, charset_of(spark, replace(source, multiline=True)))
    # Spark's reader of lines drops the mark, that of whole files does not.
    text = F.when(F.col("value").startswith(_BOM), F.substring("value", 2, _ALL)).otherwise(F.col("value"))
    values, is_bad = _rows(text, json_path(source.iterator or "$"))
    fault = F.when(~F.is_valid_utf8("value"), Reason.BAD_ENCODING.value).when(is_bad, Reason.BAD_LINE.value)
    frame = documents.where(F.btrim("value") != "").select(
        values.alias("_values"),
        fault.alias(FAULT),
        F.substring(F.make_valid_utf8("value"), 1, 1000).alias("_start"),
        FILE,
    )
    # A document that can't be read is one row that can't.
    one = F.array(F.lit(None).cast("variant"))
    exploded = frame.select(
        F.posexplode(F.when(F.col(FAULT).isNotNull(), one).otherwise(F.col("_values"))).alias("_place", ROW),
        FAULT,
        "_start",
        FILE,
    )
    rows = exploded.select(
        ROW,
        FILE,
        F.lit(0).cast("bigint").alias(BLOCK),
        F.col("_place").cast("bigint").alias(PLACE),
        F.when(F.col(FAULT).isNotNull(), F.col("_start")).otherwise(F.to_json(ROW)).alias(RAW),
        FAULT,
    )
    return Table(source, rows, _places(rows), bytes=size_of(spark, files))


def _documents(spark: SparkSession, files: list[str], charset: str) -> DataFrame:
    """Each file as a `value`."""
    name = F.col("_metadata.file_path").alias(FILE)
    if charset == UTF_8:
        return spark.read.text(paths_of(files), wholetext=True).select("value", name)
    whole = spark.read.format("binaryFile").load(paths_of(files))
    return whole.select(F.decode("content", charset).alias("value"), name)


def _places(rows: DataFrame) -> DataFrame:
    return rows.select(FILE, BLOCK, PLACE)


def _rows(text: Column, path: tuple[str | int | None, ...]) -> tuple[Column, Column]:
    """The rows of a document as an array of JSON values, and whether it is no JSON.

    Up to the first `[*]` only what is on the way is read, so that the document itself may be larger than a value.
    """
    start = before_all(path)
    if None not in path or any(isinstance(step, int) for step in start):
        value = unwrapped(wrapped(text))
        values = F.array_compact(F.array(json_at(value, start, "variant")))
        is_bad = value.isNull()
    else:
        elements, is_whole = _read(text, start, T.ArrayType(T.VariantType()))
        members, is_whole_too = _read(text, start, T.MapType(T.StringType(), T.VariantType()))
        # What is neither array nor object has no rows, but is no reason to say that the document is broken.
        values = F.coalesce(elements, F.map_values(members), F.array().cast("array<variant>"))
        is_bad = ~(is_whole | is_whole_too)
        path = path[len(start) + 1 :]
        start = ()
    for way in path[len(start) :]:
        values = all_of(values) if way is None else at_each(values, way)
    return F.filter(values, lambda value: value.isNotNull()), is_bad


def _read(text: Column, start: tuple[str | int, ...], type_: T.DataType) -> tuple[Column, Column]:
    """What is of this type at a place in a document, null where it is another; and whether all was read.

    The document is a member of an object, so that what stands behind it is one, too, or it came to no end.
    """
    for step in reversed(start):
        type_ = T.StructType([T.StructField(str(step), type_)])
    whole = T.StructType([T.StructField("in", type_), T.StructField("end", T.StringType())])
    wrapping = F.concat(F.lit('{"in":'), text, F.lit(f',"end":"{END}"}}'))
    read = F.from_json(wrapping, whole, {"mode": "PERMISSIVE"})
    found = read.getField("in")
    for step in start:
        found = found.getField(str(step))
    return found, F.coalesce(read.getField("end") == END, F.lit(False))
