"""Values between two times, from an archive: of a sensor's observations, or of one subject's property.

An observation is a subject with `sosa:madeBySensor`, `sosa:resultTime` and `sosa:hasSimpleResult` in one graph (SOSA,
W3C Recommendation 2017-10-19, section 4.3), and perhaps `sosa:observedProperty`; every combination of their values is a
solution, as a SPARQL query has it.  As observed, it counts once it was there, whatever became of it: a value that was
corrected stands beside its correction.  As of a time, it counts where the broker would have answered with it then.

Where the latest value of something is replaced again and again, its history is that of the quads that came: the time is
that of the change.

A change's day says nothing certain of its observation's time, so all days are read; of the files of days that are
folded, only what has these predicates.  Whoever knows that observations reach the broker within some time of their own
says so by `within`, and other days are not touched.  What was there before the archive began is always looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pyspark.sql import functions as F  # noqa: N812

from .ntriples_columns import iri_term, moment_of, number_of

if TYPE_CHECKING:
    import datetime as dt

    from pyspark.sql import Column, DataFrame

SOSA: Final = "http://www.w3.org/ns/sosa/"
_SENSOR, _PROPERTY, _TIME, _VALUE = (
    f"<{SOSA}{name}>" for name in ("madeBySensor", "observedProperty", "resultTime", "hasSimpleResult")
)
_QUAD: Final = ("graph", "subject", "predicate", "object")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
Every: TypeAlias = Literal["minute", "hour", "day"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """What is asked for; times know their zone, `start` is in and `end` is out.

    Either observations, of one sensor or of all, perhaps of one property only; or the values of `predicate` of
    `subject`.  IRIs are without brackets.
    """

    start: datetime
    end: datetime
    sensor: str | None = None
    property: str | None = None
    subject: str | None = None
    predicate: str | None = None
    graph: str | None = None
    as_of: datetime | None = None
    within: timedelta | None = None


def values(changes: DataFrame, wanted: Slice, since: dt.date) -> DataFrame:
    """One row for each value: time, sensor, property, observation, value, sequence; terms as N-Triples, unordered.

    `sequence` is that of the change that completed it; `since` is the day on which the archive begins.

    Raises:
        ValueError: an IRI is none.
    """
    if wanted.graph is not None:
        changes = changes.filter(F.col("graph") == iri_term(wanted.graph))
    if wanted.as_of is not None:
        changes = changes.filter(F.col("time") <= _moment(wanted.as_of)).filter(
            F.col("day") <= _day(wanted.as_of)
        )
    if wanted.subject is not None or wanted.predicate is not None:
        return _replaced(changes, wanted)
    return _observed(_reaching(changes, wanted, since), wanted)


def downsampled(found: DataFrame, every: Every) -> DataFrame:
    """Numbers by sensor, property and UTC minute, hour or day: start, min, max, mean, count, last.

    What is no finite number is left out.  The last is that of the latest time; of several, of the latest change; and
    then of the greatest observation and value, as texts, so that it is always the same.
    """
    order = F.struct("time", "sequence", "observation", "value")
    numbers = found.withColumn("number", number_of(F.col("value"))).filter(F.col("number").isNotNull())
    buckets = numbers.withColumn("start", F.date_trunc(every, "time"))
    return buckets.groupBy("start", "sensor", "property").agg(
        F.min("number").alias("min"),
        F.max("number").alias("max"),
        F.avg("number").alias("mean"),
        F.count("number").alias("count"),
        F.max_by("number", order).alias("last"),
    )


def _reaching(changes: DataFrame, wanted: Slice, since: dt.date) -> DataFrame:
    """The days in which changes of such observations can be."""
    if wanted.within is None:
        return changes
    first, last = _day(wanted.start - wanted.within), _day(wanted.end + wanted.within)
    return changes.filter(F.col("day").between(first, last) | (F.col("day") == F.lit(since)))


def _observed(changes: DataFrame, wanted: Slice) -> DataFrame:
    facts = _facts(changes.filter(F.col("predicate").isin(_SENSOR, _PROPERTY, _TIME, _VALUE)), wanted)
    facts = facts.withColumn("graph", F.coalesce("graph", F.lit("")))  # joined like any other
    sensors = _of(facts, _SENSOR, "sensor", wanted.sensor)
    times = _of(facts, _TIME, "time").withColumn("time", moment_of(F.col("time")))
    times = times.filter(_between(F.col("time"), wanted))
    results = _of(facts, _VALUE, "value")
    properties = _of(facts, _PROPERTY, "property", wanted.property)
    key = ["graph", "subject"]
    joined = sensors.join(times, key).join(results, key)
    joined = joined.join(properties, key, "inner" if wanted.property is not None else "left")
    # Null where there is no property; greatest() passes over it.
    completed = F.greatest(*[f"{name}_sequence" for name in ("sensor", "time", "value", "property")])
    solutions = joined.select(
        "time", "sensor", "property", F.col("subject").alias("observation"), "value", completed.alias("at")
    )
    # The same observation in two graphs is one, known since it was in the first.
    return solutions.groupBy("time", "sensor", "property", "observation", "value").agg(
        F.min("at").alias("sequence")
    )


def _of(facts: DataFrame, predicate: str, name: str, only: str | None = None) -> DataFrame:
    found = facts.filter(F.col("predicate") == predicate)
    if only is not None:
        found = found.filter(F.col("object") == iri_term(only))
    columns = F.col("object").alias(name), F.col("sequence").alias(f"{name}_sequence")
    return found.select("graph", "subject", *columns)


def _facts(changes: DataFrame, wanted: Slice) -> DataFrame:
    """Quads with the sequence and time of the change that they are there by."""
    if wanted.as_of is None:
        return (
            changes.filter("added")
            .groupBy(*_QUAD)
            .agg(F.min("sequence").alias("sequence"), F.min("time").alias("time"))
        )
    return (
        changes.groupBy(*_QUAD)
        .agg(
            F.max_by("added", "sequence").alias("added"),
            F.max("sequence").alias("sequence"),
            F.max("time").alias("time"),
        )
        .filter("added")
    )


def _replaced(changes: DataFrame, wanted: Slice) -> DataFrame:
    if wanted.subject is not None:
        changes = changes.filter(F.col("subject") == iri_term(wanted.subject))
    if wanted.predicate is not None:
        changes = changes.filter(F.col("predicate") == iri_term(wanted.predicate))
    if wanted.as_of is None:
        # A value that went and came again came twice.
        came = changes.filter("added").filter(F.col("day").between(_day(wanted.start), _day(wanted.end)))
    else:
        came = _facts(changes, wanted)
    return (
        came.filter(_between(F.col("time"), wanted))
        .select(
            "time",
            F.lit(None).cast("string").alias("sensor"),
            F.col("predicate").alias("property"),
            F.col("subject").alias("observation"),
            F.col("object").alias("value"),
            "sequence",
        )
        .distinct()
    )


def _between(time: Column, wanted: Slice) -> Column:
    return (time >= _moment(wanted.start)) & (time < _moment(wanted.end))


def _moment(moment: datetime) -> Column:
    # By its number: pyspark takes times as those of the machine's zone.
    return F.timestamp_micros(F.lit((moment - _EPOCH) // timedelta(microseconds=1)))


def _day(moment: datetime) -> Column:
    return F.lit(moment.astimezone(UTC).date())
