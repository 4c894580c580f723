"""Counters and histograms, compared with those of Prometheus' own client."""

from __future__ import annotations

import threading

import prometheus_client
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from triplewire.broker.counters import Counter, Counters, Histogram

BOUNDS = (0.0005, 0.1, 1, 2.5, 60)
VALUES = st.one_of(st.sampled_from([*BOUNDS, 0, 1e9]), st.floats(min_value=0, max_value=100))


def page(*collectors):
    """What they look like to Prometheus, but for when each was made."""
    registry = CollectorRegistry()
    for collector in collectors:
        registry.register(collector)
    return [line for line in generate_latest(registry).decode().splitlines() if "_created" not in line]


@given(values=st.lists(VALUES, max_size=50))
def test_a_histogram_is_told_as_theirs(values):
    """Values on a bound are below it; what is over all bounds is counted, too; sums are added in another order."""
    ours = Histogram("a_seconds", "How long", BOUNDS)
    theirs = prometheus_client.Histogram("a_seconds", "How long", buckets=BOUNDS, registry=None)
    for value in values:
        ours.observe(value)
        theirs.observe(value)
    told, expected = page(ours), page(theirs)
    assert told[:-1] == expected[:-1]
    assert float(told[-1].split()[1]) == pytest.approx(float(expected[-1].split()[1]))


@given(amounts=st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 10**6)), max_size=30))
def test_counters_are_told_as_theirs(amounts):
    """With labels and without; what was never counted is 0."""
    ours = Counters("b_total", "How many", ["kind"]), Counter("c_total", "How many")
    theirs = (
        prometheus_client.Counter("b_total", "How many", ["kind"], registry=None),
        prometheus_client.Counter("c_total", "How many", registry=None),
    )
    for several, one in (ours, theirs):
        several.labels("a")
        for kind, amount in amounts:
            several.labels(kind).inc(amount)
            one.inc(amount)
    assert page(*ours) == page(*theirs)


def test_little_waits_to_be_added_up():
    """Also where nobody asks."""
    counter, histogram = Counter("f_total", "How many"), Histogram("f_seconds", "How long", BOUNDS)
    for _ in range(5000):
        counter.inc()
        histogram.observe(1)
        assert len(counter._new) <= 512 >= len(histogram._new)
    assert counter.value == 5000


def test_threads_lose_nothing():
    """Each is told once, while others are read."""
    counter, histogram = Counter("d_total", "How many"), Histogram("d_seconds", "How long", BOUNDS)

    def count():
        for _ in range(10_000):
            counter.inc()
            histogram.observe(1)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert counter.value <= 40_000
        histogram.collect()
    assert counter.value == 40_000
    assert {sample.name: sample.value for sample in histogram.collect()[0].samples}[
        "d_seconds_count"
    ] == 40_000


def test_a_block_is_timed_however_it_ends():
    """Its seconds are observed."""
    histogram = Histogram("e_seconds", "How long", BOUNDS)
    with histogram.time():
        pass
    with pytest.raises(KeyError), histogram.time():
        raise KeyError
    found = {sample.name: sample.value for sample in histogram.collect()[0].samples}
    assert found["e_seconds_count"] == 2
    assert 0 < found["e_seconds_sum"] < 1
