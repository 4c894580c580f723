"""Slices and samples by Spark are those of a plain loop over the history."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from triplewire.clients.historic.slices import Slice, downsampled, values

from . import plain_slices
from .plain_slices import PROPERTY, SENSOR, TIME, VALUE, Change, Value

XSD = "http://www.w3.org/2001/XMLSchema#"
DAY = datetime(2026, 5, 4, tzinfo=UTC)
SCHEMA = "sequence bigint, time timestamp, client string, added boolean, graph string, subject string, predicate string, object string, day date"
TIMES = [
    f'"2026-05-0{day}T{clock}"^^<{XSD}dateTime>'
    for day in (3, 4, 5)
    for clock in ("00:00:00Z", "10:00:00.25+02:00", "23:59:59.9999999Z", "08:00:30", "25:00:00Z")
] + ['"today"', "<http://example.org/instant>", f'"2026-05-04T08:00:00Z"^^<{XSD}dateTimeStamp>']
# Quarters: their sums are the same in any order.
NUMBERS = [f'"{number / 4}"^^<{XSD}double>' for number in range(-8, 9)]
VALUES = [
    *NUMBERS,
    '"7"',
    '"off"',
    f'"NaN"^^<{XSD}double>',
    f'"1e400"^^<{XSD}double>',
    '"3"@en',
    "<http://x>",
]
PARTS = st.one_of(
    st.tuples(st.just(TIME), st.sampled_from(TIMES)),
    st.tuples(st.just(VALUE), st.sampled_from(VALUES)),
    st.tuples(st.just(PROPERTY), st.sampled_from(["<http://heat>", "<http://rain>"])),
    st.tuples(st.just(SENSOR), st.sampled_from(["a", "b"])),
)
STEPS = st.lists(
    st.tuples(
        st.integers(0, 30 * 3600),  # seconds since the last change
        st.lists(
            st.tuples(st.sampled_from([None, "<http://g>"]), st.integers(1, 2), PARTS), min_size=1, max_size=8
        ),
    ),
    min_size=1,
    max_size=6,
)


def history_of(number, steps):
    """Changes of a history whose subjects and sensors are its own: what is there goes, what is not comes."""
    there, changes, time = set(), [], DAY - timedelta(days=1)
    for sequence, (later, toggled) in enumerate(steps, start=1):
        time += timedelta(seconds=later)
        for graph, observation, (predicate, object_) in dict.fromkeys(toggled):
            made = f"<http://example.org/{number}/{object_}>" if predicate == SENSOR else object_
            quad = graph, f"<http://example.org/{number}/{observation}>", predicate, made
            changes.append(Change(sequence, time, quad not in there, quad))
            there ^= {quad}
    return changes


def frame_of(spark, history):
    rows = [
        (change.sequence, change.time, "", change.added, *change.quad, change.time.date())
        for change in history
    ]
    return spark.createDataFrame(rows, SCHEMA)


def found_in(frame):
    return {
        Value(row.time.astimezone(UTC), row.sensor, row.property, row.observation, row.value, row.sequence)
        for row in frame.collect()
    }


def samples_in(frame):
    return {(row.start.astimezone(UTC), *row[1:]) for row in frame.collect()}


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(
    st.lists(STEPS, min_size=60, max_size=60),
    st.timedeltas(timedelta(0), timedelta(days=4)),
    st.sampled_from(["minute", "hour", "day"]),
)
def test_any_history(spark, histories, as_of, every):
    """Sixty histories at once, with ties, late arrivals and removals; as observed, and as of a time."""
    history = [change for number, steps in enumerate(histories) for change in history_of(number, steps)]
    frame = frame_of(spark, history).cache()
    start, end, then = DAY - timedelta(hours=3), DAY + timedelta(days=1), DAY - timedelta(days=1) + as_of
    try:
        for moment in (None, then):
            wanted = Slice(start=start, end=end, as_of=moment)
            found = values(frame, wanted, date(2026, 5, 1))
            plain = plain_slices.observed(history, start, end, moment)
            assert found_in(found) == plain
            assert samples_in(downsampled(found, every)) == plain_slices.downsampled(plain, every)
            replaced = values(
                frame, Slice(start=start, end=end, as_of=moment, predicate=VALUE[1:-1]), DAY.date()
            )
            only = [change for change in history if change.quad[2] == VALUE]
            assert found_in(replaced) == plain_slices.replaced(only, start, end, moment)
    finally:
        frame.unpersist()


def observation(number, time, result_time, sensor="s", heat="heat"):
    subject = f"<http://example.org/o{number}>"
    parts = (
        (SENSOR, f"<http://example.org/{sensor}>"),
        (PROPERTY, f"<http://example.org/{heat}>"),
        (TIME, f'"{result_time}"^^<{XSD}dateTime>'),
        (VALUE, f'"{number}"^^<{XSD}decimal>'),
    )
    return [Change(number, time, True, (None, subject, *part)) for part in parts]


def test_what_is_asked_for_is_what_comes(spark):
    """A sensor, a property, a graph, a time; a late arrival is found, but by `within`, which promises that none is."""
    history = [
        *observation(1, DAY, "2026-05-04T00:00:00Z"),
        *observation(2, DAY + timedelta(days=9), "2026-05-04T01:00:00Z"),
        *observation(3, DAY, "2026-05-04T01:00:00Z", sensor="other"),
        *observation(4, DAY, "2026-05-04T01:00:00Z", heat="rain"),
    ]
    frame = frame_of(spark, history)
    sensor, end = "http://example.org/s", DAY + timedelta(hours=2)

    def numbers(since=DAY, **asked):
        found = values(frame, Slice(start=DAY, end=end, **asked), since.date())
        return sorted(row.value[1] for row in found.collect())

    assert numbers(sensor=sensor) == ["1", "2", "4"]
    assert numbers(sensor=sensor, property="http://example.org/heat") == ["1", "2"]
    assert numbers(sensor=sensor, within=timedelta(days=1)) == ["1", "4"]
    assert numbers(since=DAY + timedelta(days=9), sensor=sensor, within=timedelta(days=1)) == [
        "1",
        "2",
        "4",
    ]
    assert numbers(graph="http://example.org/g") == []
    assert numbers(subject="http://example.org/o3", predicate=VALUE[1:-1]) == ["3"]
    with pytest.raises(ValueError, match="not a whole IRI"):
        numbers(sensor="a b")
