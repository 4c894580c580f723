import csv
import tracemalloc
from datetime import datetime
from itertools import islice

import pytest

from triplewire.clients.historic.generator import BREAKAGES, PROPERTIES, rows


def parsed(lines):
    return list(csv.reader(lines))


def is_good(row):
    station, name, value, unit, time = row
    float(value)
    return (
        bool(station)
        and name in {p.name for p in PROPERTIES}
        and datetime.fromisoformat(time).tzinfo
        and unit
    )


def test_the_rows_are_observations():
    """Several stations, properties, units and zones; no observation twice."""
    header, *found = parsed(rows(2000))

    assert header == ["station", "property", "value", "unit", "time"]
    assert len(found) == 2000
    assert all(is_good(row) for row in found)
    assert len({row[0] for row in found}) == 100
    assert {row[1] for row in found} == {p.name for p in PROPERTIES}
    assert len({datetime.fromisoformat(row[4]).utcoffset() for row in found}) == 4
    assert len({(row[0], row[1], datetime.fromisoformat(row[4])) for row in found}) == 2000


def test_a_seed_says_all():
    """The same seed the same rows, another others; a longer file begins as a shorter one."""
    assert list(rows(500, 7, 0.1)) == list(rows(500, 7, 0.1))
    assert list(rows(500, 7)) != list(rows(500, 8))
    assert list(islice(rows(10**9, 7, 0.1), 501)) == list(rows(500, 7, 0.1))


def test_broken_rows_are_of_all_kinds_and_as_many_as_asked_for():
    """And each is broken."""
    good, broken = parsed(rows(6000, 3)), parsed(rows(6000, 3, 0.01))
    assert 30 < len(broken) - sum(map(_fine, broken)) < 100
    assert len(BREAKAGES) == 12
    for kind, breaks in BREAKAGES.items():
        assert not _fine(breaks(good[1])), kind


def _fine(row):
    try:
        return bool(is_good(row))
    except ValueError:
        return row[0] == "station"


def test_any_number_of_rows_fits():
    """A row at a time."""
    tracemalloc.start()
    count = sum(1 for _ in islice(rows(10**8, 1, 0.01), 50_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert count == 50_000
    assert peak < 1_000_000


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_is_within_0_and_1(share):
    """Anything else is an error."""
    with pytest.raises(ValueError, match="share"):
        list(rows(1, broken=share))
