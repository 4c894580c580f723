"""Made-up sensor data for volume: stations that measure several properties, one row for each moment and property.

The same rows, seed and share of broken ones give the same bytes.  A row at a time, so that any number fits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEADER = "station,property,value,unit,time\n"
_START = datetime(2015, 1, 1, tzinfo=UTC)
_STEP = timedelta(minutes=10)
_ZONES = tuple(timezone(timedelta(minutes=minutes)) for minutes in (0, 60, -300, 345))
_STATIONS = 100


@dataclass(frozen=True, slots=True)
class Property:
    """What is measured: a daily wave around a mean, in a unit."""

    name: str
    unit: str
    mean: float
    swing: float


PROPERTIES = (
    Property("temperature", "°C", 11.0, 9.0),
    Property("humidity", "%", 65.0, 20.0),
    Property("pressure", "hPa", 1013.0, 8.0),
    Property("wind", "m/s", 4.0, 3.0),
)

# Each takes the five cells of a good row, and makes one wrong thing of them.
BREAKAGES: dict[str, Callable[[list[str]], list[str]]] = {
    "no number": lambda row: [*row[:2], "n/a", *row[3:]],
    "two points": lambda row: [*row[:2], "1.2.3", *row[3:]],
    "a unit in the number": lambda row: [*row[:2], f"{row[2]} C", *row[3:]],
    "no such day": lambda row: [*row[:4], "2015-02-30T00:00:00Z"],
    "no such hour": lambda row: [*row[:4], "2015-03-01T25:00:00Z"],
    "no moment": lambda row: [*row[:4], "yesterday"],
    "no time": lambda row: [*row[:4], ""],
    "no value": lambda row: [*row[:2], "", *row[3:]],
    "no station": lambda row: ["", *row[1:]],
    "no property": lambda row: [row[0], "", *row[2:]],
    "too many cells": lambda row: [*row, "more", "and more"],
    "too few cells": lambda row: row[:3],
}


def rows(count: int, seed: int = 1, broken: float = 0.0) -> Iterator[str]:
    """The header and so many lines of CSV; `broken` is the share of rows with one thing wrong, of all kinds in turn.

    Raises:
        ValueError: the share is not within 0 and 1.
    """
    if not 0.0 <= broken <= 1.0:
        raise ValueError(f"the share of broken rows is {broken}; it is within 0 and 1")
    rng = Random(seed)  # noqa: S311 - reproducible is what it has to be
    kinds = tuple(BREAKAGES.values())
    breaks = 0
    yield HEADER
    for number in range(count):
        row = _row(number, rng)
        if broken and rng.random() < broken:
            row = kinds[breaks % len(kinds)](row)
            breaks += 1
        yield ",".join(row) + "\n"


def _row(number: int, rng: Random) -> list[str]:
    moment, place = divmod(number, _STATIONS * len(PROPERTIES))
    station, which = divmod(place, len(PROPERTIES))
    measured = PROPERTIES[which]
    time = (_START + moment * _STEP).astimezone(_ZONES[station % len(_ZONES)])
    day = math.sin((moment % 144) / 144 * math.tau)
    value = max(measured.mean + measured.swing * day + rng.gauss(0.0, 0.5), 0.0 if which else -60.0)
    return [f"S{station:03}", measured.name, f"{value:.2f}", measured.unit, time.isoformat()]
