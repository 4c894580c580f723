"""A run's numbers for people and for programs."""

from __future__ import annotations

import json

from triplewire.clients.historic.report import Coverage, Report


def coverage(number):
    return Coverage(f"http://e/s{number}", 1000 - number, None if number else "2020-01-01T00:00:00Z", None)


FULL = Report(
    rows=12_345,
    quads=60_000,
    observations=12_000,
    rejected=45,
    duplicates=7,
    reasons={"bad number": 40, "impossible time": 6},
    first="2020-01-01T00:00:00Z",
    last="2026-01-01T00:00:00.5Z",
    sensor_count=25,
    sensors=tuple(coverage(number) for number in range(25)),
    quarantine="out/quarantine",
    parts=3,
    bytes=1_000_000,
)


def test_for_people():
    """All that there is, in columns; of many sensors the first twenty."""
    lines = FULL.text().splitlines()
    assert lines[:9] == [
        "rows in                12,345",
        "quads out              60,000",
        "observations           12,000",
        "duplicates                  7",
        "rejected rows              45",
        "  bad number               40",
        "  impossible time           6",
        "quarantine     out/quarantine",
        "time           2020-01-01T00:00:00Z to 2026-01-01T00:00:00.5Z",
    ]
    assert lines[9:12] == [
        "sensors                    25",
        "       1,000  2020-01-01T00:00:00Z to -  http://e/s0",
        "         999  - to -  http://e/s1",
    ]
    assert lines[-1] == "  and 5 more"
    assert len(lines) == 10 + 20 + 1


def test_what_there_is_not_is_not_told():
    """No quarantine, no time, no sensors."""
    assert Report(1, 2, 0, 0, 0).text().splitlines() == [
        "rows in                     1",
        "quads out                   2",
        "observations                0",
        "duplicates                  0",
        "rejected rows               0",
    ]


def test_for_programs():
    """Each field by its name."""
    document = json.loads(FULL.json())
    assert document == FULL.document() | {"sensors": list(document["sensors"])}
    assert document["reasons"] == {"bad number": 40, "impossible time": 6}
    assert document["sensors"][0] == {
        "sensor": "http://e/s0",
        "observations": 1000,
        "first": "2020-01-01T00:00:00Z",
        "last": None,
    }
    assert set(document) == set(Report.__slots__)
