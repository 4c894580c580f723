"""What the parts of a run hold: lines and bytes of each, observations, and what there is of each sensor and when.

One pass over the parts: all lines of a subject are in one part, one behind the other, so that they are put together before
anything leaves a task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from .parts import Part, in_order
from .report import Coverage

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from .parts import Written

MOST_SENSORS: Final = 1000
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
    """Of all parts."""
    if not written.has_quads:
        return Summary()
    subjects = (
        _subjects(spark.read.text(written.quads))
        .groupBy("file", "sensor")
        .agg(
            F.sum("lines").alias("lines"),
            F.sum("bytes").alias("bytes"),
            F.sum("observation").alias("observations"),
            F.count("sensor").alias("made"),
            F.min("time").alias("first"),
            F.max("time").alias("last"),
        )
    )
    subjects = subjects.persist()
    try:
        files = subjects.groupBy("file").agg(F.sum("lines").alias("lines"), F.sum("bytes").alias("bytes"))
        parts = in_order(
            written, [(row["file"], row["lines"], row["bytes"]) for row in files.toLocalIterator()]
        )
        return Summary(parts, **_totals(subjects), sensors=_sensors(subjects))
    finally:
        subjects.unpersist()


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


def _totals(subjects: DataFrame) -> dict[str, Any]:
    row = subjects.agg(
        F.sum("observations").alias("observations"),
        _written(F.min("first")).alias("first"),
        _written(F.max("last")).alias("last"),
        F.count_distinct("sensor").alias("sensor_count"),
    ).first()
    assert row is not None
    return {**row.asDict(), "observations": row["observations"] or 0}


def _sensors(subjects: DataFrame) -> tuple[Coverage, ...]:
    told = (
        subjects.where(F.col("sensor").isNotNull())
        .groupBy("sensor")
        .agg(
            F.sum("made").alias("observations"),
            _written(F.min("first")).alias("first"),
            _written(F.max("last")).alias("last"),
        )
    )
    most = told.orderBy(F.desc("observations"), "sensor").limit(MOST_SENSORS)
    return tuple(Coverage(**row.asDict()) for row in most.toLocalIterator())


def _written(time: Column) -> Column:
    return F.concat(F.replace(time.cast("string"), F.lit(" "), F.lit("T")), F.lit("Z"))
