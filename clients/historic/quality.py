"""What the parts of a run hold: lines and bytes of each, observations, and what there is of each sensor and when.

It is read from what was told of each subject while its quads were written, a tenth of them in size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from .parts import Part, number_of
from .records import SENSOR, SUBJECT, TIME, TYPED
from .report import Coverage
from .shares import MOST_PARTS
from .subjects import NUMBERS, TOLD, told_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from .parts import Written

MOST_SENSORS: Final = 1000
# The numbers that Spark gives to sets of (file, sensor): a bit for each that it is not of.
_FILES: Final = 0b01
_SENSORS: Final = 0b10
_ALL: Final = 0b11


@dataclass(frozen=True, slots=True)
class Summary:
    """See `Report` for the fields; `rows` are those that were not rejected."""

    rows: int = 0
    duplicates: int = 0
    parts: tuple[Part, ...] = ()
    observations: int = 0
    first: str | None = None
    last: str | None = None
    sensor_count: int = 0
    sensors: tuple[Coverage, ...] = ()


def summary(spark: SparkSession, written: Written) -> Summary:
    """Of all parts: what there is of each file, of each sensor, and of all, in one query; what told of it is removed."""
    if not written.has(TOLD):
        return Summary()
    sensors = Observation("sensors")
    told = (
        _by_file_and_sensor(_subjects(spark.read.text(written.of(TOLD)), has_large=written.has_large))
        .groupingSets([["file"], ["sensor"], []], "file", "sensor")
        .agg(
            F.grouping_id().alias("set"),
            *[F.sum(name).alias(name) for name in (*NUMBERS, "observations", "made")],
            _written(F.min("first")).alias("first"),
            _written(F.max("last")).alias("last"),
        )
        .where((F.col("set") != _SENSORS) | F.col("sensor").isNotNull())
        .observe(sensors, F.count_if(F.col("set") == _SENSORS).alias("count"))
        .orderBy(F.col("set") == _SENSORS, F.desc("made"), "sensor")
        .limit(MOST_PARTS + 2 + MOST_SENSORS)
    )
    rows = told.collect()
    files = {number_of(row["file"]): (row["lines"], row["bytes"]) for row in rows if row["set"] == _FILES}
    (all_,) = (row for row in rows if row["set"] == _ALL)
    found = [row for row in rows if row["set"] == _SENSORS][:MOST_SENSORS]
    written.drop(TOLD)
    return Summary(
        all_["rows"],
        all_["again"],
        written.parts(files),
        observations=all_["observations"] or 0,
        first=all_["first"],
        last=all_["last"],
        sensor_count=sensors.get["count"],
        sensors=tuple(Coverage(row["sensor"], row["made"], row["first"], row["last"]) for row in found),
    )


def _by_file_and_sensor(subjects: DataFrame) -> DataFrame:
    return subjects.groupBy("file", SENSOR).agg(
        *[F.sum(name).alias(name) for name in NUMBERS],
        F.count_if(TYPED).alias("observations"),
        F.count(SENSOR).alias("made"),
        F.min(TIME).alias("first"),
        F.max(TIME).alias("last"),
    )


def _subjects(texts: DataFrame, *, has_large: bool) -> DataFrame:
    """One row for each subject: the very large ones were told of line by line."""
    told = told_of(texts)
    if not has_large:
        return told
    large = (
        told.where(F.col(SUBJECT).isNotNull())
        .groupBy("file", SUBJECT)
        .agg(
            *[F.sum(name).alias(name) for name in NUMBERS],
            *[F.max(name).alias(name) for name in (TYPED, TIME, SENSOR)],
        )
    )
    return told.where(F.col(SUBJECT).isNull()).unionByName(large)


def _written(time: Column) -> Column:
    return F.concat(F.replace(time.cast("string"), F.lit(" "), F.lit("T")), F.lit("Z"))
