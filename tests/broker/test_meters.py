"""What is counted where it happens."""

from __future__ import annotations

import pytest

from triplewire.broker import meters
from triplewire.broker.counters import Counter, Counters, Histogram


def count(gate, status):
    return meters._ERRORS.labels(gate, status).value


@pytest.mark.parametrize(
    ("status", "shown"),
    [(401, "401"), (418, "4xx"), (599, "5xx"), (503, "503"), (200, "4xx"), (12345, "5xx")],
)
def test_an_errors_status_is_one_of_few(status, shown):
    """A remote endpoint or a leader may answer anything."""
    before = count("http", shown)
    samples = len(meters._ERRORS.collect()[0].samples)
    meters.refused("http", status)
    assert count("http", shown) == before + 1
    assert len(meters._ERRORS.collect()[0].samples) == samples


def test_all_are_shown_from_the_start():
    """Whoever adds one shows it."""
    there = [each for each in vars(meters).values() if isinstance(each, Counter | Counters | Histogram)]
    told = {each.collect()[0].name for each in meters.ALL}
    assert {each.collect()[0].name for each in there} == told
    assert all(each in meters.ALL for each in there if not isinstance(each, Counter))
    assert all(each.collect()[0].samples for each in meters.ALL)


def test_labels_are_few():
    """Under a hundred samples each: nobody outside can make one."""
    for each in meters.ALL:
        (family,) = each.collect()
        assert len(family.samples) < 100
        assert not any(sample.name.endswith("_created") for sample in family.samples)
