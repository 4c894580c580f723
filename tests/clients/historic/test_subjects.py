"""Records put together, against sets of lines: whatever rows they came in, each quad once, in order, and counted."""

from __future__ import annotations

import random

import pytest

from triplewire.clients.historic.parts import PartSettings, write_records
from triplewire.clients.historic.quality import summary
from triplewire.clients.historic.records import (
    MADE,
    QUADS,
    ROWS,
    SENSOR,
    SUBJECT,
    TIME,
    TYPED,
    micros,
    records_of,
)
from triplewire.clients.historic.shares import Sample
from triplewire.clients.historic.subjects import REJECTED

SOSA = "http://www.w3.org/ns/sosa/"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
SCHEMA = f"{SUBJECT} string, {QUADS} string, {MADE} int, {TYPED} boolean, {SENSOR} string, {TIME} bigint, {ROWS} int"


def records(rng, subjects, rows):
    """So many rows about so many subjects: few records are the same, and many have some lines in common."""
    found = []
    for _ in range(rows):
        subject = f"<urn:s{rng.randrange(subjects)}>"
        lines = {f"{subject} <urn:p{rng.randrange(4)}> <urn:o{rng.randrange(3)}> ." for _ in range(3)}
        sensor = time = typed = None
        if rng.random() < 0.3:
            lines.add(f"{subject} {TYPE} <{SOSA}Observation> .")
            typed = True
        if rng.random() < 0.3:
            # Always the same one: with several it would be any.
            sensor = f"urn:by{len(subject)}"
            lines.add(f"{subject} <{SOSA}madeBySensor> <{sensor}> .")
        if rng.random() < 0.3:
            time = rng.randrange(10) * 1_000_000
            lines.add(f'{subject} <{SOSA}resultTime> "1970-01-01T00:00:0{time // 1_000_000}Z" .')
        quads = "\n".join(sorted(lines, key=str.encode))
        found.append((subject, quads, len(lines), typed, sensor, time, 1))
    found += [(None, None, 0, None, None, None, 1)] * 3
    found += [(None, "", 2, None, None, None, 0)] * 2
    found += [(f'{{"raw":"{number}"}}', None, 0, None, None, None, 1) for number in range(4)]
    return rng.sample(found, len(found))


@pytest.mark.parametrize("how", [(3, 200, 10_000), (40, 150, 3), (2, 300, 5)])
def test_as_sets_of_lines(spark, tmp_path, monkeypatch, how):
    """Also where subjects are too large to be put together."""
    subjects, rows, large = how
    monkeypatch.setattr("triplewire.clients.historic.shares._LARGE", large)
    rng = random.Random(subjects)
    given = records(rng, subjects, rows)
    frame = spark.createDataFrame(given, SCHEMA)
    written = write_records(frame, str(tmp_path), PartSettings("none", part_bytes=2000), Sample(frame, 1.0))
    assert written.has_large == (large < 10_000)
    told = summary(spark, written)
    texts = [(tmp_path / part.name).read_text().splitlines() for part in told.parts]
    lines = {line for one in given if one[0] and one[1] for line in one[1].split("\n")}
    assert [line for text in texts for line in text] == sorted(lines, key=str.encode)
    assert [(part.lines, part.bytes) for part in told.parts] == [
        (len(text), sum(len(line) + 1 for line in text)) for text in texts
    ]
    assert told.rows == rows + 3
    assert told.duplicates == sum(one[2] for one in given if one[0]) - len(lines)
    of = [one for one in given if one[0] and one[1]]
    typed = {subject for subject, _, _, typed, *_ in of if typed}
    assert told.observations == len(typed)
    by = {subject: sensor for subject, _, _, _, sensor, *_ in of if sensor}
    assert {one.sensor: one.observations for one in told.sensors} == {
        sensor: sum(other == sensor for other in by.values()) for sensor in by.values()
    }
    # Of several times of one observation the last counts.
    times = {}
    for subject, _, _, _, _, time, _ in of:
        if time is not None:
            times[subject] = max(time, times.get(subject, 0))
    assert told.last == f"1970-01-01T00:00:0{max(times.values()) // 1_000_000}Z"
    assert told.first == f"1970-01-01T00:00:0{min(times.values()) // 1_000_000}Z"
    rejected = spark.read.text(written.of(REJECTED)).collect()
    assert sorted(row.value for row in rejected) == [f'{{"raw":"{number}"}}' for number in range(4)]


def test_lines_one_by_one_are_the_same(spark, tmp_path):
    """A record of each line, where the same lines came together above."""
    given = records(random.Random(7), 20, 100)
    lines = [line for one in given if one[0] and one[1] for line in one[1].split("\n")]
    whole = write_records(
        spark.createDataFrame(given, SCHEMA), str(tmp_path / "a"), PartSettings("none"), None
    )
    frame = spark.createDataFrame([(line,) for line in lines], "line string")
    single = write_records(records_of(frame), str(tmp_path / "b"), PartSettings("none"), None)
    one, other = summary(spark, whole), summary(spark, single)
    (part,), (same,) = one.parts, other.parts
    assert (tmp_path / "a" / part.name).read_bytes() == (tmp_path / "b" / same.name).read_bytes()
    assert (one.sensors, one.first, one.last, one.observations, one.duplicates) == (
        other.sensors,
        other.first,
        other.last,
        other.observations,
        other.duplicates,
    )


def test_a_moment_in_microseconds(spark):
    """Null where it is none."""
    frame = spark.createDataFrame([("1970-01-01T00:00:01Z",), ("never",)], "t string")
    assert [row.m for row in frame.select(micros(frame.t).alias("m")).collect()] == [1_000_000, None]
