"""What there is in parts, counted by hand: observations, sensors, times."""

from __future__ import annotations

from triplewire.clients.historic.parts import PartSettings, write_records
from triplewire.clients.historic.quality import Summary, summary
from triplewire.clients.historic.records import records_of
from triplewire.clients.historic.report import Coverage

SOSA = "http://www.w3.org/ns/sosa/"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
GRAPH = " <http://e/g>"


def observation(name, sensor=None, time=None, graph="", *, typed=True):
    lines = [f'<http://e/{name}> <{SOSA}hasSimpleResult> "1"{graph} .']
    if typed:
        lines.append(f"<http://e/{name}> <{TYPE}> <{SOSA}Observation>{graph} .")
    if sensor:
        lines.append(f"<http://e/{name}> <{SOSA}madeBySensor> <http://e/{sensor}>{graph} .")
    if time:
        lines.append(f'<http://e/{name}> <{SOSA}resultTime> "{time}"^^<{DATE_TIME}>{graph} .')
    return lines


LINES = [
    *observation("a", "s1", "2020-01-01T00:00:00Z"),
    *observation("b", "s1", "2019-12-31T23:00:00.25Z", GRAPH),
    *observation("c", "s2"),
    *observation("d", time="2026-06-01T00:00:00Z"),
    *observation("e", "s1", "not a time"),
    # Neither makes an observation of it.
    f'<http://e/f> <http://e/p> "{TYPE} <{SOSA}Observation>" .',
    *observation("g", "s3", "2018-01-01T00:00:00Z", typed=False),
    '<http://e/s1> <http://e/label> "\u00e4" .',
]


def test_a_hand_made_data_set(spark, tmp_path):
    """Observations by type, coverage by sensor, the first and the last time of all."""
    frame = spark.createDataFrame([(line,) for line in LINES], "line string")
    written = write_records(records_of(frame, rows=2), str(tmp_path), PartSettings(), None)
    found = summary(spark, written)
    (part,) = found.parts
    assert (part.lines, part.bytes) == (len(LINES), sum(len(line.encode()) + 1 for line in LINES))
    assert (found.observations, found.rows, found.duplicates) == (5, 2 * len(LINES), 0)
    assert (found.first, found.last) == ("2018-01-01T00:00:00Z", "2026-06-01T00:00:00Z")
    assert found.sensor_count == 3
    assert found.sensors == (
        Coverage("http://e/s1", 3, "2019-12-31T23:00:00.25Z", "2020-01-01T00:00:00Z"),
        Coverage("http://e/s2", 1, None, None),
        Coverage("http://e/s3", 1, "2018-01-01T00:00:00Z", "2018-01-01T00:00:00Z"),
    )


def test_nothing_was_made(spark, tmp_path):
    """Then there is nothing to tell."""
    frame = spark.createDataFrame([('{"raw":"x"}',)], "line string")
    assert summary(spark, write_records(records_of(frame), str(tmp_path), PartSettings(), None)) == Summary()
