"""Slices of a history in plain Python, quad by quad: what Spark's must equal."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import NamedTuple

SOSA = "http://www.w3.org/ns/sosa/"
SENSOR, PROPERTY, TIME, VALUE = (
    f"<{SOSA}{name}>" for name in ("madeBySensor", "observedProperty", "resultTime", "hasSimpleResult")
)
_DATE_TIME = re.compile(
    r'"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)?"\^\^<http://www\.w3\.org/2001/XMLSchema#dateTime(Stamp)?>'
)
_NUMBER = re.compile(r'"([+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?)"(\^\^<[^>]*>)?')


class Change(NamedTuple):
    sequence: int
    time: datetime
    added: bool
    quad: tuple[str | None, str, str, str]


class Value(NamedTuple):
    time: datetime
    sensor: str | None
    property: str | None
    observation: str
    value: str
    sequence: int


def moment(term):
    found = _DATE_TIME.fullmatch(term)
    if found is None:
        return None
    base, fraction, zone, _ = found.groups()
    try:
        made = datetime.fromisoformat(base + (zone or "Z").replace("Z", "+00:00"))
    except ValueError:
        return None
    return made.astimezone(UTC) + timedelta(microseconds=int(((fraction or ".") + "000000")[1:7]))


def number(term):
    found = _NUMBER.fullmatch(term)
    made = float(found[1]) if found else math.inf
    return made if math.isfinite(made) else None


def facts(history, as_of):
    """Quads with (sequence, time): of when each came first, or of when it came that is there as of a time."""
    there = {}
    for change in sorted(history, key=lambda change: change.sequence):
        if as_of is None:
            if change.added:
                there.setdefault(change.quad, (change.sequence, change.time))
        elif change.time <= as_of:
            there.pop(change.quad, None)
            if change.added:
                there[change.quad] = (change.sequence, change.time)
    return there


def observed(history, start, end, as_of=None):
    by_subject = defaultdict(lambda: defaultdict(list))
    for (graph, subject, predicate, object_), (sequence, _) in facts(history, as_of).items():
        by_subject[graph, subject][predicate].append((object_, sequence))
    known = {}
    for (_, subject), told in by_subject.items():
        parts = told[SENSOR], told[TIME], told[VALUE], told[PROPERTY] or [(None, 0)]
        for (sensor, a), (time, b), (value, c), (property_, d) in product(*parts):
            at = moment(time)
            if at is None or not start <= at < end:
                continue
            row = at, sensor, property_, subject, value
            known[row] = min(max(a, b, c, d), known.get(row, math.inf))
    return {Value(*row, sequence) for row, sequence in known.items()}


def replaced(history, start, end, as_of=None):
    if as_of is None:
        came = [(change.quad, change.sequence, change.time) for change in history if change.added]
    else:
        came = [(quad, *at) for quad, at in facts(history, as_of).items()]
    return {
        Value(time, None, predicate, subject, object_, sequence)
        for (_, subject, predicate, object_), sequence, time in came
        if start <= time < end
    }


_UNDER = {
    "minute": {"second": 0, "microsecond": 0},
    "hour": {"minute": 0, "second": 0, "microsecond": 0},
    "day": {"hour": 0, "minute": 0, "second": 0, "microsecond": 0},
}


def downsampled(found, every):
    buckets = defaultdict(list)
    for row in found:
        if (value := number(row.value)) is not None:
            buckets[row.time.replace(**_UNDER[every]), row.sensor, row.property].append((row, value))
    return {
        (
            *key,
            min(v for _, v in rows),
            max(v for _, v in rows),
            math.fsum(v for _, v in rows) / len(rows),
            len(rows),
            max(rows, key=lambda one: (one[0].time, one[0].sequence, one[0].observation, one[0].value))[1],
        )
        for key, rows in buckets.items()
    }
