"""Samples of an archive as observations of their own: the least, greatest, mean, number and last of each hour or day.

Each is a `sosa:Observation` (SOSA, W3C Recommendation 2017-10-19) of the same sensor and property, with the hour or day
as its `sosa:phenomenonTime` (OWL-Time's Interval with two Instants), the statistic as its `sosa:usedProcedure`, and a
`sosa:hasSimpleResult`.  It has no `sosa:resultTime`, so a slice of a later archive never takes it for what was measured.
PROV-O says where it is from: `prov:wasDerivedFrom` the archive, `prov:wasGeneratedBy` an activity that used the archive
and the sensor, and whose time is that interval.

All IRIs are made of what the observation is of, none of when it was made: the same samples are the same quads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pyspark.sql import functions as F  # noqa: N812

from .ntriples_columns import iri_term
from .slices import SOSA

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Statistic: TypeAlias = Literal["min", "max", "mean", "count", "last"]
STATISTICS: Final[tuple[Statistic, ...]] = ("min", "max", "mean", "count", "last")
Period: TypeAlias = Literal["hour", "day"]
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_PROV: Final = "http://www.w3.org/ns/prov#"
_TIME: Final = "http://www.w3.org/2006/time#"
_TYPE: Final = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_LABEL: Final = "<http://www.w3.org/2000/01/rdf-schema#label>"
_NAME_DIGITS: Final = 32


@dataclass(frozen=True, slots=True)
class Rollup:
    """Which statistics of which periods, the archive's name, and what the IRIs begin with."""

    every: Period
    archive: str
    base: str
    statistics: tuple[Statistic, ...] = STATISTICS


def rollup_lines(samples: DataFrame, rollup: Rollup) -> DataFrame:
    """The samples (`slices.downsampled`) as lines of N-Triples in the one column `line`, some of them several times.

    Samples of sensors that are blank nodes are left out: those have no name to be called by.

    Raises:
        ValueError: `base` or `archive` is no IRI.
    """
    terms = _Terms(rollup)
    named = samples.filter(F.col("sensor").startswith("<"))
    quads = [quad for statistic in rollup.statistics for quad in _observation(terms, rollup, statistic)]
    quads += [*_activity(terms), *_period(terms)]
    lines = F.explode(F.array(*[_line(quad) for quad in quads])).alias("line")
    # A sensor without a property makes no line of it.
    return named.select(lines).filter(F.col("line").isNotNull())


class _Terms:
    """Columns of terms that are made of a sample."""

    def __init__(self, rollup: Rollup) -> None:
        self.base = rollup.base
        self.archive = iri_term(rollup.archive)
        iri_term(rollup.base)
        start = F.col("start")
        stop = start + F.expr(f"INTERVAL 1 {rollup.every.upper()}")
        self.begin, self.end = _text(start), _text(stop)
        self.of = (F.col("sensor"), F.coalesce("property", F.lit("")), self.begin, F.lit(rollup.every))
        self.activity = self.named("activity", *self.of, F.lit(rollup.archive))
        self.interval = self._iri(F.lit(f"interval/{rollup.every}/"), self.begin)

    def named(self, kind: str, *of: Column) -> Column:
        """An IRI that stands for all of `of` together."""
        # A line's end parts them: no term has one.
        digest = F.substring(F.sha2(F.concat_ws("\n", *of), 256), 1, _NAME_DIGITS)
        return self._iri(F.lit(f"{kind}/"), digest)

    def instant(self, text: Column) -> Column:
        """The IRI of a time."""
        return self._iri(F.lit("instant/"), text)

    def procedure(self, every: str, statistic: str) -> str:
        """The IRI of a way to sum up."""
        return iri_term(f"{self.base}procedure/{statistic}-of-{every}")

    def _iri(self, *parts: Column) -> Column:
        return F.concat(F.lit(f"<{self.base}"), *parts, F.lit(">"))


_Quad: TypeAlias = "tuple[Column, str, Column]"


def _observation(terms: _Terms, rollup: Rollup, statistic: Statistic) -> list[_Quad]:
    it = terms.named("rollup", *terms.of, F.lit(statistic))
    procedure = terms.procedure(rollup.every, statistic)
    datatype = "integer" if statistic == "count" else "double"
    result = F.concat(F.lit('"'), F.col(statistic).cast("string"), F.lit(f'"^^<{_XSD}{datatype}>'))
    return [
        (it, _TYPE, F.lit(f"<{SOSA}Observation>")),
        (it, f"<{SOSA}madeBySensor>", F.col("sensor")),
        (it, f"<{SOSA}observedProperty>", F.when(F.col("property").startswith("<"), F.col("property"))),
        (it, f"<{SOSA}phenomenonTime>", terms.interval),
        (it, f"<{SOSA}usedProcedure>", F.lit(procedure)),
        (it, f"<{SOSA}hasSimpleResult>", result),
        (it, f"<{_PROV}wasDerivedFrom>", F.lit(terms.archive)),
        (it, f"<{_PROV}wasGeneratedBy>", terms.activity),
        (F.lit(procedure), _TYPE, F.lit(f"<{SOSA}Procedure>")),
        (F.lit(procedure), _LABEL, F.lit(f'"the {statistic} of one {rollup.every}"@en')),
    ]


def _activity(terms: _Terms) -> list[_Quad]:
    return [
        (terms.activity, _TYPE, F.lit(f"<{_PROV}Activity>")),
        (terms.activity, f"<{_PROV}used>", F.lit(terms.archive)),
        (terms.activity, f"<{_PROV}used>", F.col("sensor")),
        (terms.activity, f"<{_TIME}hasTime>", terms.interval),
        (F.lit(terms.archive), _TYPE, F.lit(f"<{_PROV}Entity>")),
    ]


def _period(terms: _Terms) -> list[_Quad]:
    quads = [(terms.interval, _TYPE, F.lit(f"<{_TIME}Interval>"))]
    for bound, text in (("hasBeginning", terms.begin), ("hasEnd", terms.end)):
        at = terms.instant(text)
        quads += [
            (terms.interval, f"<{_TIME}{bound}>", at),
            (at, _TYPE, F.lit(f"<{_TIME}Instant>")),
            (
                at,
                f"<{_TIME}inXSDDateTimeStamp>",
                F.concat(F.lit('"'), text, F.lit(f'"^^<{_XSD}dateTimeStamp>')),
            ),
        ]
    return quads


def _line(quad: _Quad) -> Column:
    subject, predicate, object_ = quad
    return F.concat(subject, F.lit(f" {predicate} "), object_, F.lit(" ."))


def _text(time: Column) -> Column:
    return F.date_format(time, "yyyy-MM-dd'T'HH:mm:ss'Z'")


def results(samples: DataFrame, rollup: Rollup) -> DataFrame:
    """The IRI and number of each observation, for taking away what a late arrival has made untrue."""
    terms = _Terms(rollup)
    pairs = F.array(
        *[
            F.struct(
                terms.named("rollup", *terms.of, F.lit(statistic)).alias("observation"),
                F.col(statistic).cast("double").alias("number"),
            )
            for statistic in rollup.statistics
        ]
    )
    return (
        samples.filter(F.col("sensor").startswith("<"))
        .select(F.explode(pairs).alias("pair"))
        .select("pair.*")
    )
