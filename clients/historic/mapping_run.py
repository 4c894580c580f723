"""From sources to parts: everything that a mapping's run is, in one function."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Final

from .errors import SourceError, TooManyRejected
from .execution import carried_out, joined, records
from .limits import Limit
from .parts import Manifest, PartSettings, finish, mapping_hash, write_records
from .quality import Summary, summary
from .quarantine import Quarantine
from .rdf_source import RDF_FORMATS, rdf_records, rdf_table
from .report import Report
from .shares import Sample, fraction_of
from .sources import table_of
from .subjects import REJECTED

if TYPE_CHECKING:
    from collections.abc import Mapping as Mappings
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from .plan import Mapping
    from .table import Table

QUARANTINE: Final = "quarantine"


@dataclass(frozen=True, slots=True)
class RunSettings:
    """`quarantine` is where rejected rows go, `OUT/quarantine` where it is not named; `max_rejected` how many there may be."""

    quarantine: str | None = None
    max_rejected: Limit = field(default_factory=Limit)
    parts: PartSettings = field(default_factory=PartSettings)


def run(
    spark: SparkSession,
    mapping: Mapping,
    paths: Mappings[str, str],
    out: str,
    settings: RunSettings | None = None,
) -> Report:
    """Maps all sources and leaves parts with a manifest below `out`; `paths` replace those of sources, by name.

    Raises:
        SourceError: a source is not there or not as the mapping says, before anything is written.
        TooManyRejected: more rows broke than the limit allows: there is no manifest, so nothing can be loaded; the
            quarantine is there, and the error's `report` tells the rest.
        HistoryError: `out` has parts already, or can't be written.
    """
    settings = settings or RunSettings()
    mapping = with_paths(mapping, paths)
    tables = _tables(spark, mapping)
    sample = _sample(tables, mapping)
    written = write_records(_union(_frames(tables, tables, mapping)), out, settings.parts, sample)
    quarantine = Quarantine(spark, written, list(tables.values()))
    rejected, reasons = quarantine.counts()
    place = settings.quarantine or f"{out.rstrip('/')}/{QUARANTINE}"
    if rejected:
        quarantine.write(place)
    # They are in the quarantine now.
    written.drop(REJECTED)
    found = summary(spark, written)
    rows = found.rows + rejected
    told = Report(rows, 0, 0, rejected, 0, reasons, quarantine=place if rejected else None)
    if not settings.max_rejected.allows(rejected, rows):
        raise TooManyRejected(
            f"{rejected} of {rows} rows broke, over the limit of {settings.max_rejected}", told
        )
    finish(
        written,
        Manifest(found.parts, mapping_hash(mapping), tuple(source.path for source in mapping.sources)),
    )
    return _report(told, found)


def with_paths(mapping: Mapping, paths: Mappings[str, str]) -> Mapping:
    """The mapping with other paths for some of its sources.

    Raises:
        SourceError: it has no source of such a name.
    """
    names = [source.name for source in mapping.sources]
    if unknown := [name for name in paths if name not in names]:
        raise SourceError(f"the mapping has no source {unknown[0]!r}; there are {', '.join(names)}")
    sources = tuple(replace(source, path=paths.get(source.name, source.path)) for source in mapping.sources)
    return replace(mapping, sources=sources)


def _tables(spark: SparkSession, mapping: Mapping) -> dict[str, Table]:
    """The sources that are used: those with rules or asked for by joins, and those that are RDF already."""
    used = {rule.source for rule in mapping.rules} | {rule.join.parent for rule in mapping.rules if rule.join}
    tables = {}
    for source in mapping.sources:
        if source.format in RDF_FORMATS:
            tables[source.name] = rdf_table(spark, source)
        elif source.name in used:
            tables[source.name] = table_of(spark, source)
    if not tables:
        raise SourceError("the mapping has no rule, so there is nothing to do")
    return tables


def _frames(tables: Mappings[str, Table], parents: Mappings[str, Table], mapping: Mapping) -> list[DataFrame]:
    """The records of each table, and those of its joins with the `parents`."""
    frames = []
    for table in tables.values():
        if table.source.format in RDF_FORMATS:
            frames.append(rdf_records(table, mapping.base_iri))
            continue
        rows = carried_out(table, mapping)
        frames += [records(rows), *joined(rows, dict(parents), mapping.base_iri)]
    return frames


def _sample(tables: Mappings[str, Table], mapping: Mapping) -> Sample | None:
    """What becomes of some rows; each of them is joined with all that it belongs to."""
    fraction = fraction_of(sum(table.bytes for table in tables.values()))
    if not fraction:
        return None
    sampled = {name: table.sampled(fraction) for name, table in tables.items()}
    return Sample(_union(_frames(sampled, tables, mapping)), fraction)


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionByName(other), frames)


def _report(told: Report, found: Summary) -> Report:
    return replace(
        told,
        quads=sum(part.lines for part in found.parts),
        bytes=sum(part.bytes for part in found.parts),
        parts=len(found.parts),
        observations=found.observations,
        duplicates=found.duplicates,
        first=found.first,
        last=found.last,
        sensor_count=found.sensor_count,
        sensors=found.sensors,
    )
