"""Roll-ups as RDF: the same samples are the same quads, each a whole observation."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime

import pyoxigraph
import pytest
from pyoxigraph import Literal, NamedNode, RdfFormat

from triplewire.clients.historic.rollups import STATISTICS, Rollup, results, rollup_lines
from triplewire.clients.historic.slices import SOSA

XSD = "http://www.w3.org/2001/XMLSchema#"
PROV = "http://www.w3.org/ns/prov#"
TIME = "http://www.w3.org/2006/time#"
BASE = "http://example.org/"
ARCHIVE = "urn:uuid:0"
HOUR = datetime(2026, 5, 4, 10, tzinfo=UTC)
SCHEMA = "start timestamp, sensor string, property string, min double, max double, mean double, count bigint, last double"
SAMPLES = [
    (HOUR, "<http://example.org/s>", "<http://example.org/heat>", 1.0, 1e10, 2.5, 3, -0.1),
    (HOUR, "<http://example.org/s>", None, 1.0, 2.0, 1.5, 2, 2.0),
    (HOUR, "_:b", "<http://example.org/heat>", 1.0, 2.0, 1.5, 2, 2.0),
]


def graph_of(frame):
    lines = [row.line for row in frame.collect()]
    return set(pyoxigraph.parse("\n".join(lines), format=RdfFormat.N_TRIPLES))


def told_of(quads):
    found = defaultdict(lambda: defaultdict(set))
    for quad in quads:
        found[quad.subject][quad.predicate.value].add(quad.object)
    return found


def test_observations(spark):
    """Five of each sample of a named sensor, with interval, procedure, result and provenance."""
    samples = spark.createDataFrame(SAMPLES, SCHEMA)
    quads = graph_of(rollup_lines(samples, Rollup("hour", ARCHIVE, BASE)))
    found = told_of(quads)
    observed = {it: told for it, told in found.items() if f"{SOSA}hasSimpleResult" in told}
    assert len(observed) == 2 * len(STATISTICS)
    with_property = {
        next(iter(told[f"{SOSA}usedProcedure"])).value: told
        for told in observed.values()
        if told[f"{SOSA}observedProperty"]
    }
    wanted = {"min": 1.0, "max": 1e10, "mean": 2.5, "last": -0.1}
    results_ = {
        name: with_property[f"{BASE}procedure/{name}-of-hour"][f"{SOSA}hasSimpleResult"]
        for name in STATISTICS
    }
    assert {name: float(next(iter(results_[name])).value) for name in wanted} == wanted
    assert all(next(iter(results_[name])).datatype.value == f"{XSD}double" for name in wanted)
    assert results_["count"] == {Literal("3", datatype=NamedNode(f"{XSD}integer"))}
    for told in observed.values():
        assert told[f"{SOSA}madeBySensor"] == {NamedNode("http://example.org/s")}
        assert told[f"{PROV}wasDerivedFrom"] == {NamedNode(ARCHIVE)}
        (activity,) = told[f"{PROV}wasGeneratedBy"]
        (interval,) = told[f"{SOSA}phenomenonTime"]
        assert found[activity][f"{PROV}used"] == {NamedNode(ARCHIVE), NamedNode("http://example.org/s")}
        assert found[activity][f"{TIME}hasTime"] == {interval}
        times = [
            next(
                iter(found[next(iter(found[interval][f"{TIME}{bound}"]))][f"{TIME}inXSDDateTimeStamp"])
            ).value
            for bound in ("hasBeginning", "hasEnd")
        ]
        assert times == ["2026-05-04T10:00:00Z", "2026-05-04T11:00:00Z"]
        assert not told[f"{SOSA}resultTime"]


def test_the_same_again(spark):
    """Quad by quad; and another base, period, archive or value are others."""
    samples = spark.createDataFrame(SAMPLES[:1], SCHEMA)
    one = Rollup("hour", ARCHIVE, BASE, ("mean",))
    quads = graph_of(rollup_lines(samples, one))
    assert graph_of(rollup_lines(samples, one)) == quads
    day = graph_of(rollup_lines(samples, Rollup("day", ARCHIVE, BASE, ("mean",))))
    assert not {quad.subject for quad in day if "/rollup/" in str(quad.subject)} & {
        quad.subject for quad in quads
    }
    assert "2026-05-05T10:00:00Z" in str(day)
    (row,) = results(samples, one).collect()
    assert row.number == 2.5
    assert {str(quad.subject) for quad in quads if quad.predicate.value == f"{SOSA}hasSimpleResult"} == {
        row.observation
    }
    with pytest.raises(ValueError, match="not a whole IRI"):
        rollup_lines(samples, Rollup("hour", ARCHIVE, "no base"))
