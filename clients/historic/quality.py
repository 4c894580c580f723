"""What the parts of a run hold: lines and bytes of each, observations, and what there is of each sensor and when.

One pass over the parts: all lines of a subject are in one part, one behind the other, so that they are put together before
anything leaves a task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from .parts import Part, in_order
from .report import Coverage
from .shares import MOST_PARTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from .parts import Written

MOST_SENSORS: Final = 1000
# The numbers that Spark gives to sets of (file, sensor): a bit for each that it is not of.
_FILES: Final = 0b01
_SENSORS: Final = 0b10
_ALL: Final = 0b11
_SOSA: Final = "http://www.w3.org/ns/sosa/"
_TYPE: Final = f" <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{_SOSA}Observation> "
_SENSOR: Final = f" <{_SOSA}madeBySensor> "
_TIME: Final = f" <{_SOSA}resultTime> "


@dataclass(frozen=True, slots=True)
class Summary:
    """See `Report` for the fields."""

    parts: tuple[Part, ...] = ()
    observations: int = 0
    first: str | None = None
    last: str | None = None
    sensor_count: int = 0
    sensors: tuple[Coverage, ...] = ()


def summary(spark: SparkSession, written: Written) -> Summary:
    """Of all parts: what there is of each file, of each sensor, and of all, in one query."""
    if not written.has_quads:
        return Summary()
    sensors = Observation("sensors")
    told = (
        _by_file_and_sensor(_subjects(spark.read.text(written.quads)))
        .groupingSets([["file"], ["sensor"], []], "file", "sensor")
        .agg(
            F.grouping_id().alias("set"),
            *[F.sum(name).alias(name) for name in ("lines", "bytes", "observations", "made")],
            _written(F.min("first")).alias("first"),
            _written(F.max("last")).alias("last"),
        )
        .where((F.col("set") != _SENSORS) | F.col("sensor").isNotNull())
        .observe(sensors, F.count_if(F.col("set") == _SENSORS).alias("count"))
        .orderBy(F.col("set") == _SENSORS, F.desc("made"), "sensor")
        .limit(MOST_PARTS + 2 + MOST_SENSORS)
    )
    rows = told.collect()
    files = [(row["file"], row["lines"], row["bytes"]) for row in rows if row["set"] == _FILES]
    (all_,) = (row for row in rows if row["set"] == _ALL)
    found = [row for row in rows if row["set"] == _SENSORS][:MOST_SENSORS]
    return Summary(
        in_order(written, files),
        observations=all_["observations"] or 0,
        first=all_["first"],
        last=all_["last"],
        sensor_count=sensors.get["count"],
        sensors=tuple(Coverage(row["sensor"], row["made"], row["first"], row["last"]) for row in found),
    )


def _by_file_and_sensor(subjects: DataFrame) -> DataFrame:
    return subjects.groupBy("file", "sensor").agg(
        F.sum("lines").alias("lines"),
        F.sum("bytes").alias("bytes"),
        F.sum("observation").alias("observations"),
        F.count("sensor").alias("made"),
        F.min("time").alias("first"),
        F.max("time").alias("last"),
    )


def _subjects(lines: DataFrame) -> DataFrame:
    """One row for each subject that matters; all others of a part together are one row."""
    line = F.col("value")
    is_type, has_sensor, has_time = (line.contains(text) for text in (_TYPE, _SENSOR, _TIME))
    told = lines.select(
        F.col("_metadata.file_path").alias("file"),
        F.when(is_type | has_sensor | has_time, F.substring_index(line, " ", 1)).alias("subject"),
        F.when(is_type, 1).alias("observation"),
        F.when(has_sensor, _object(line, _SENSOR, r"<([^>]*)>")).alias("sensor"),
        F.when(has_time, _object(line, _TIME, '"([^"]*)"')).try_cast("timestamp").alias("time"),
        F.octet_length(line).alias("size"),
    )
    return told.groupBy("file", "subject").agg(
        F.max("sensor").alias("sensor"),
        F.max("observation").alias("observation"),
        F.max("time").alias("time"),
        F.count("*").alias("lines"),
        F.sum(F.col("size") + 1).alias("bytes"),
    )


def _object(line: Column, predicate: str, shape: str) -> Column:
    return F.regexp_extract(line, f"^[^ ]+{predicate}{shape}", 1)


def _written(time: Column) -> Column:
    return F.concat(F.replace(time.cast("string"), F.lit(" "), F.lit("T")), F.lit("Z"))
