"""CSV files as tables (RFC 4180, with other delimiters, quotes and encodings).

A file is read as lines of text, which Spark splits and which keep what stood there; `from_csv` makes cells of each.  Where
cells may hold line ends (`multiline`), Spark's own reader takes whole files.  Files with other headers, or the same names in
another order, are frames of their own: a header is never taken on trust from another file.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from .charsets import LOST, UTF_8, charset_of, is_single_byte
from .errors import SourceError
from .files import files_at, first_line, paths_of, shown, size_of
from .line_sample import sampled_lines
from .reasons import Reason
from .table import BLOCK, FAULT, FILE, HEADER, HEIGHT, PLACE, RAW, ROW, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

    from .plan import Source

# No header can have it: a control that no file of text has.
_BAD: Final = "bad\u0001"
_BOM: Final = "\ufeff"


def csv_table(spark: SparkSession, source: Source) -> Table:
    """The files of a source, as one table with the columns of all.

    Raises:
        SourceError: there are none, all are empty, a header is empty or has a name twice, or the encoding is not known.
    """
    charset = charset_of(spark, source)
    if not source.header and not source.columns:
        raise SourceError(f"{source.name}: there is no header, so the mapping must name the columns")
    # An empty file has no header either: a day on which nothing was measured.
    files = [uri for uri in files_at(spark, source.path) if size_of(spark, [uri])]
    if not files:
        raise SourceError(f"{shown(source.path)}: there is nothing in its files")
    source = replace(source, encoding=charset)
    groups: dict[tuple[tuple[str, ...], str], list[str]] = defaultdict(list)
    for uri in files:
        groups[_columns(spark, source, uri)].append(uri)
    _check(source, groups)
    names = list(dict.fromkeys(name for columns, _ in groups for name in columns))
    frame = _frame(spark, source, groups, names, None)
    assert frame is not None
    size = size_of(spark, files)
    if source.multiline:
        lines = frame.select(FILE, BLOCK, PLACE, _height(names).alias(HEIGHT))
        return Table(source, _filled(frame), lines, skipped=1 if source.header else 0, bytes=size)

    def some(fraction: float) -> DataFrame | None:
        found = _frame(spark, source, groups, names, fraction)
        return None if found is None else _filled(found)

    lines, headers = frame.select(FILE, BLOCK, PLACE), len(files) if source.header else 0
    return Table(source, _filled(frame), lines, headers=headers, bytes=size, some=some)


def _filled(frame: DataFrame) -> DataFrame:
    return frame.where(F.btrim(F.col(RAW)) != "")


def _frame(
    spark: SparkSession,
    source: Source,
    groups: Mapping[tuple[tuple[str, ...], str], list[str]],
    names: list[str],
    fraction: float | None,
) -> DataFrame | None:
    """All lines with their cells; or so many of them, None where that takes as long as all."""
    frames = []
    for (columns, header), uris in groups.items():
        if source.multiline:
            frames.append(_multiline(spark, source, uris, columns, names))
            continue
        lines = _lines(spark, source, uris) if fraction is None else _some(spark, source, uris, fraction)
        if lines is None:
            return None
        frames.append(_by_line(lines, source, columns, header, names))
    return reduce(lambda one, other: one.unionByName(other), frames)


def _columns(spark: SparkSession, source: Source, uri: str) -> tuple[tuple[str, ...], str]:
    """A file's columns and its header as it stands there."""
    if not source.header:
        return source.columns, ""
    if source.encoding == UTF_8 or is_single_byte(source.encoding):
        names, line = _header(spark, source, uri)
    else:
        names, line = _header_in_cells(spark, source, uri), ""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if not any(names) or twice:
        why = f"has the name {twice[0]!r} twice" if twice and any(names) else "is empty"
        raise SourceError(f"{shown(uri)}: the header {why}")
    return names, line


def _header(spark: SparkSession, source: Source, uri: str) -> tuple[tuple[str, ...], str]:
    """The cells of a file's first line, and the line."""
    try:
        line = first_line(spark, uri).decode(source.encoding).removeprefix(_BOM)
    except UnicodeDecodeError as error:
        raise SourceError(f"{shown(uri)}: the header is not in {source.encoding}: {error.reason}") from error
    quotes: dict[str, Any] = {"quotechar": source.quote} if source.quote else {"quoting": csv.QUOTE_NONE}
    rows = list(csv.reader([line], delimiter=source.delimiter, **quotes))
    return (tuple(rows[0]) if rows else ()), line


def _header_in_cells(spark: SparkSession, source: Source, uri: str) -> tuple[str, ...]:
    """The same where the byte of a line's end may be half of a letter: Spark's reader has to find it."""
    options = {**_options(source), "multiLine": "true", "encoding": source.encoding}
    row = spark.read.options(**options).csv(paths_of([uri])).first()
    return tuple((cell or "").removeprefix(_BOM) for cell in row) if row else ()


def _check(source: Source, groups: dict[tuple[tuple[str, ...], str], list[str]]) -> None:
    sets = {frozenset(columns): (columns, uris) for (columns, _), uris in groups.items()}
    if len(sets) > 1:
        (first, there), (other, here) = list(sets.values())[:2]
        differ = sorted(set(first) ^ set(other))
        raise SourceError(
            f"{source.name}: {shown(here[0])} has other columns than {shown(there[0])}: {', '.join(differ)[:300]}"
        )


def _lines(spark: SparkSession, source: Source, uris: list[str]) -> DataFrame:
    text, is_bad = _decoded(source)
    return spark.read.text(paths_of(uris)).select(
        text.alias(RAW),
        F.col("_metadata.file_path").alias(FILE),
        F.col("_metadata.file_block_start").alias(BLOCK),
        F.monotonically_increasing_id().alias(PLACE),
        is_bad.alias("_encoding"),
    )


def _some(spark: SparkSession, source: Source, uris: list[str], fraction: float) -> DataFrame | None:
    """The same columns of some lines; where they stand is not told."""
    lines = sampled_lines(spark, uris, fraction, source.encoding)
    if lines is None:
        return None
    nowhere = (
        F.lit("").alias(FILE),
        F.lit(0).cast("bigint").alias(BLOCK),
        F.lit(0).cast("bigint").alias(PLACE),
    )
    return lines.select(F.col("value").alias(RAW), *nowhere, F.lit(False).alias("_encoding"))


def _by_line(
    frame: DataFrame, source: Source, columns: tuple[str, ...], header: str, names: list[str]
) -> DataFrame:
    cells = F.from_csv(F.col(RAW), _schema(columns), _options(source))
    frame = frame.withColumn("_cells", cells)
    fault = _fault(source, F.col(RAW), F.col("_cells").getField(_BAD), len(columns))
    fault = F.when(F.col("_encoding"), Reason.BAD_ENCODING.value).otherwise(fault)
    if header:
        fault = F.when(F.col(RAW) == header, HEADER).otherwise(fault)
    row = _in_order(source, F.col("_cells"), names)
    return frame.select(row.alias(ROW), FILE, BLOCK, PLACE, RAW, fault.alias(FAULT))


def _decoded(source: Source) -> tuple[Column, Column]:
    """A line's text, and whether its bytes are none in the source's encoding."""
    value = F.col("value")
    if source.encoding == UTF_8:
        return F.make_valid_utf8(value), ~F.is_valid_utf8(value)
    text = F.decode(value.cast("binary"), source.encoding)
    return text, text.contains(LOST)


def _fault(source: Source, raw: Column, bad: Column, columns: int) -> Column:
    """Why a line has no row in it: quotes that do not close, or cells that are too many or too few."""
    bare, is_torn = raw, F.lit(False)
    if source.quote:
        quote, delimiter = re.escape(source.quote), re.escape(source.delimiter)
        # What is well quoted is taken out; then a field that begins with a quote was not closed, and
        # one that goes on behind its quotes is none.
        mark = "\u0001"
        bare = F.regexp_replace(raw, f"{quote}[^{quote}]*+{quote}", mark)
        torn = f"(?:^|{delimiter})(?:{quote}|{mark}+[^{delimiter}{mark}])"
        is_torn = raw.contains(source.quote) & bare.rlike(torn)
    found = F.length(bare) - F.length(F.replace(bare, F.lit(source.delimiter), F.lit("")))
    count = found / F.lit(len(source.delimiter)) + 1
    return (
        F.when(is_torn, Reason.BAD_LINE.value)
        .when(bad.isNull(), F.lit(None).cast("string"))
        .when(count > columns, Reason.TOO_MANY_COLUMNS.value)
        .when(count < columns, Reason.TOO_FEW_COLUMNS.value)
        .otherwise(Reason.BAD_LINE.value)
    )


def _multiline(
    spark: SparkSession, source: Source, uris: list[str], columns: tuple[str, ...], names: list[str]
) -> DataFrame:
    options = {
        **_options(source),
        "multiLine": "true",
        "header": str(source.header).lower(),
        "encoding": source.encoding,
    }
    read = spark.read.schema(_schema(columns)).options(**options).csv(paths_of(uris))
    cells = F.struct(*[F.col(f"`{_ticked(name)}`") for name in (*columns, _BAD)])
    frame = read.select(
        cells.alias("_cells"),
        F.col("_metadata.file_path").alias(FILE),
        F.lit(0).cast("bigint").alias(BLOCK),
        F.monotonically_increasing_id().alias(PLACE),
    )
    bad = F.col("_cells").getField(_BAD)
    frame = frame.withColumn(RAW, F.coalesce(bad, F.to_csv("_cells", {"sep": source.delimiter})))
    fault = _fault(source, F.col(RAW), bad, len(columns))
    fault = F.when(F.col(RAW).contains(LOST), Reason.BAD_ENCODING.value).otherwise(fault)
    row = _in_order(source, F.col("_cells"), names)
    return frame.select(row.alias(ROW), FILE, BLOCK, PLACE, RAW, fault.alias(FAULT))


def _schema(columns: tuple[str, ...]) -> str:
    return ", ".join(f"`{_ticked(name)}` string" for name in (*columns, _BAD))


def _options(source: Source) -> dict[str, str]:
    return {
        "sep": source.delimiter,
        "quote": source.quote,
        "escape": source.quote or "\u0000",
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": _BAD,
        "maxCharsPerColumn": "-1",
        "maxColumns": "20480",
        # Which texts are null the mapping says.
        "nullValue": "\u0000",
        "emptyValue": "",
        "ignoreLeadingWhiteSpace": "false",
        "ignoreTrailingWhiteSpace": "false",
    }


def _in_order(source: Source, cells: Column, names: list[str]) -> Column:
    """The cells in the order of the first file; Spark reads what stands between two delimiters as null."""
    found = [cells.getField(name) for name in names]
    if "" not in source.nulls:
        found = [F.coalesce(cell, F.lit("")) for cell in found]
    return F.struct(*[cell.alias(name) for cell, name in zip(found, names, strict=True)])


def _height(names: list[str]) -> Column:
    """Lines that a row takes."""
    ends = [
        F.coalesce(F.length(cell) - F.length(F.replace(cell, F.lit("\n"), F.lit(""))), F.lit(0))
        for cell in (F.col(ROW).getField(name) for name in names)
    ]
    return reduce(lambda one, other: one + other, ends, F.lit(1))


def _ticked(name: str) -> str:
    return name.replace("`", "``")
