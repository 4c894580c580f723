"""Records put together: of each subject what all rows say of it, in order, each quad once, as text for a file of quads.

All records of a subject are in one partition, sorted, so that they come one behind the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from .records import LINE, MADE, QUADS, ROWS, SENSOR, SUBJECT, TIME, TYPED, record_of
from .shares import bucket

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from .shares import Shares

REJECTED: Final = "rejected"
TOLD: Final = "told"
"""A row for each subject, of what its quads tell: see `told_of`."""
NUMBERS: Final = ("lines", "bytes", "again", ROWS)
"""What is told of each subject in numbers that are added up."""
_BUCKET: Final = "bucket"
_END: Final = "\n"
_TAB: Final = "\t"


def put_together(records: DataFrame, shares: Shares) -> DataFrame:
    """Texts (`value`) and what kind each is (`kind`), those of quads in the order of their bytes within each part."""
    records, more = _single_lines(records, shares)
    place = F.when(F.col(SUBJECT).startswith("{"), len(shares.starts) + 1)
    placed = records.withColumn(_BUCKET, place.otherwise(bucket(F.col(SUBJECT), shares.starts)))
    keys = [_BUCKET, SUBJECT, *more]
    grouped = (
        placed.repartitionById(len(shares.starts) + 2, F.col(_BUCKET))
        .groupBy(*keys)
        .agg(
            F.collect_set(QUADS).alias("each"),
            F.sum(MADE).alias("total"),
            F.sum(ROWS).alias(ROWS),
            F.count("*").alias("times"),
            F.max(TYPED).alias(TYPED),
            F.max(SENSOR).alias(SENSOR),
            F.max(TIME).alias(TIME),
        )
        # They are in that order already.
        .sortWithinPartitions(*keys)
    )
    once = _once(grouped, more)
    subject = F.col(SUBJECT)
    quads = F.struct(F.col("text").alias("value"), F.lit(QUADS).alias("kind"))
    told = F.struct(_told(more).alias("value"), F.lit(TOLD).alias("kind"))
    rejected = F.struct(subject.alias("value"), F.lit(REJECTED).alias("kind"))
    is_rejected = subject.startswith("{")
    # Of rows that say nothing there is only to tell that there were any.
    rows = F.when(is_rejected, F.array(rejected)).when(subject.isNull(), F.array(told))
    return once.select(F.inline(rows.otherwise(F.array(quads, told))))


def told_of(texts: DataFrame) -> DataFrame:
    """What was told of each subject: the `file`, how many `lines` and `bytes` it has there, its `typed`, `sensor`, `time`.

    Also how many quads were made of it more than once (`again`), the `rows` of its records, and its own name, where it is
    told of in several rows.
    """
    fields = F.split("value", _TAB)
    return texts.select(
        F.col("_metadata.file_path").alias("file"),
        *[fields[number].cast("bigint").alias(name) for number, name in enumerate(NUMBERS)],
        F.timestamp_micros(F.nullif(fields[4], F.lit("")).cast("bigint")).alias(TIME),
        (fields[5] == "1").alias(TYPED),
        F.nullif(fields[6], F.lit("")).alias(SENSOR),
        F.nullif(fields[7], F.lit("")).alias(SUBJECT),
    )


def _single_lines(records: DataFrame, shares: Shares) -> tuple[DataFrame, list[str]]:
    """Of subjects that are too large to be put together, each line is a record, and sorted as one."""
    if not shares.large:
        return records, []
    is_large = F.coalesce(F.col(SUBJECT).isin(list(shares.large)), F.lit(False))

    def single(line: Column, number: Column) -> Column:
        rows = F.when(number == 0, F.col(ROWS)).otherwise(0)
        return F.struct(*record_of(line).columns(rows), line.alias(LINE))

    whole = F.array(F.struct(*records.columns, F.lit("").alias(LINE)))
    each = F.when(is_large, F.transform(F.split(QUADS, _END), single)).otherwise(whole)
    return records.select(F.inline(each)), [LINE]


def _once(grouped: DataFrame, more: list[str]) -> DataFrame:
    """With all that is said as one `text`, and how many `lines` that is; where all rows say the same, it is that."""
    is_same = F.size("each") <= 1
    split = F.flatten(F.transform("each", lambda quads: F.split(quads, _END)))
    found = grouped.withColumn("sorted", F.when(~is_same, F.sort_array(F.array_distinct(split))))
    text = F.when(is_same, F.get("each", F.lit(0))).otherwise(F.array_join("sorted", _END))
    lines = F.when(is_same, F.expr("total div times")).otherwise(F.size("sorted"))
    kept = [SUBJECT, "total", ROWS, TYPED, SENSOR, TIME, *more]
    return found.select(*kept, text.alias("text"), lines.alias("lines"))


def _told(more: list[str]) -> Column:
    subject = F.col(SUBJECT)
    told = [
        F.when(subject.isNull(), 0).otherwise(F.col("lines")),
        F.when(subject.isNull(), 0).otherwise(F.octet_length("text") + 1),
        F.when(subject.isNull(), 0).otherwise(F.col("total") - F.col("lines")),
        F.col(ROWS),
        F.col(TIME),
        F.col(TYPED).cast("int"),
        F.col(SENSOR),
        # What is told of its lines has to be put together.
        F.when(F.col(LINE) != "", subject) if more else F.lit(""),
    ]
    return F.concat_ws(_TAB, *[F.coalesce(one.cast("string"), F.lit("")) for one in told])
