"""What is worked out of two pages of metrics."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from support.running import RunningBroker

from triplewire.broker.errors import BrokerMisbehaved, ConnectionLost
from triplewire.clients.top import Between, MetricsClient, Reading


class Page:
    """What a broker may show, by the library that brokers use."""

    def __init__(self):
        self.registry = CollectorRegistry()
        Gauge("triplewire_healthy", "h", registry=self.registry).set(1)
        self.errors = Counter("triplewire_errors", "e", ["gate", "status"], registry=self.registry)
        self.times = Histogram(
            "triplewire_update_seconds", "u", buckets=(0.1, 0.2, 0.4), registry=self.registry
        )

    def read(self, at):
        return Reading.of(generate_latest(self.registry).decode(), at)


@pytest.fixture
def page():
    return Page()


def test_a_figure_is_summed_over_the_labels_that_were_not_asked_for(page):
    """And none is None."""
    page.errors.labels("http", "401").inc(2)
    page.errors.labels("stream", "401").inc(3)
    page.errors.labels("http", "500").inc(7)
    reading = page.read(0)
    assert reading.value("triplewire_errors_total", status="401") == 5
    assert reading.value("triplewire_errors_total") == 12
    assert reading.value("triplewire_nothing") is None
    assert reading.value("triplewire_errors_total", status="404") is None
    assert reading.by("triplewire_errors_total", "gate") == {("http",): 9, ("stream",): 3}


def test_a_rate_is_of_the_time_between(page):
    """By label only what has risen; a broker that has begun anew has none."""
    page.errors.labels("http", "401").inc(2)
    page.errors.labels("http", "500").inc(1)
    before = page.read(10)
    page.errors.labels("http", "401").inc(6)
    page.errors.labels("http", "429").inc(3)
    between = Between(before, page.read(13))
    assert between.rate("triplewire_errors_total") == pytest.approx(3)
    assert between.rate("triplewire_errors_total", status="401") == pytest.approx(2)
    assert between.rates("triplewire_errors_total", "status") == pytest.approx({"401": 2.0, "429": 1.0})
    assert between.rate("triplewire_nothing") is None
    assert Between(between.now, before).rate("triplewire_errors_total") is None


def test_a_quantile_is_of_what_came_between(page):
    """What was slow before does not count; within a bucket all are spread evenly."""
    for _ in range(100):
        page.times.observe(0.39)
    before = page.read(0)
    for value in [0.05] * 50 + [0.15] * 50:
        page.times.observe(value)
    between = Between(before, page.read(1))
    assert between.quantile(0.5, "triplewire_update_seconds") == pytest.approx(0.1)
    assert between.quantile(0.25, "triplewire_update_seconds") == pytest.approx(0.05)
    assert between.quantile(0.99, "triplewire_update_seconds") == pytest.approx(0.198)


def test_a_quantile_is_not_beyond_the_highest_limit(page):
    """As nothing is known there; and without an observation there is none."""
    before = page.read(0)
    assert Between(before, page.read(1)).quantile(0.5, "triplewire_update_seconds") is None
    page.times.observe(77)
    assert Between(before, page.read(1)).quantile(0.5, "triplewire_update_seconds") == pytest.approx(0.4)
    assert Between(page.read(1), before).quantile(0.5, "triplewire_update_seconds") is None


@pytest.mark.parametrize(
    "text", ["<html>", "triplewire_healthy{", "triplewire_healthy one", "up 1\n", "", '{"status": "ok"}']
)
def test_what_is_no_brokers_page_is_told(text):
    """Whatever else listens there."""
    with pytest.raises(BrokerMisbehaved, match="metrics"):
        Reading.of(text, 0)


def test_a_real_broker_is_read():
    """Twice, on a clock that goes on."""
    broker = RunningBroker.start()
    client = MetricsClient(broker.http)
    try:
        between = Between(client.read(), client.read())
    finally:
        client.close()
        broker.stop()
    assert between.seconds > 0
    assert between.rate("triplewire_updates_total") == 0
    assert between.now.value("triplewire_requests_waiting_limit") == 1000
    with pytest.raises(ConnectionLost):
        MetricsClient(broker.http).read()
