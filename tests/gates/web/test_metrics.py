"""The broker's figures as Prometheus reads them."""

from __future__ import annotations

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.following import caught_up
from support.running import RunningBroker

from triplewire.gates.web.metrics import _FIGURES


def figures(broker):
    response = httpx.get(f"{broker.http}/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=")
    return {
        sample.name: sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
        if not sample.name.endswith("_bucket")
    }


def update(broker, text):
    httpx.post(f"{broker.http}/update", data={"update": text}).raise_for_status()


@pytest.fixture
def kept(tmp_path):
    broker = RunningBroker.start("--data", str(tmp_path / "data"), memory=False)
    yield broker
    broker.stop()


def test_what_happened_is_counted(kept):
    """Updates, queries, quads dead and alive, the journal, and how long things took."""
    for number in range(5):
        update(kept, f"DELETE WHERE {{ <a:a> <a:b> ?o }} ; INSERT DATA {{ <a:a> <a:b> {number} }}")
    httpx.get(f"{kept.http}/query", params={"query": "ASK {}"}).raise_for_status()
    found = figures(kept)
    assert found["triplewire_healthy"] == 1
    assert found["triplewire_updates_total"] == 5
    assert found["triplewire_queries_total"] == 1
    assert found["triplewire_dataset_quads"] == 1
    assert found["triplewire_dataset_dead_quads"] == 4
    assert found["triplewire_journal_sequence"] == 5
    assert found["triplewire_journal_records_total"] == 5
    assert found["triplewire_reader_processes"] == 1
    assert found["triplewire_update_seconds_count"] == 5
    assert 0 < found["triplewire_update_seconds_sum"] < 5
    assert found["triplewire_core_wait_seconds_count"] >= 5
    assert found["process_resident_memory_bytes"] > 1e7


def test_a_follower_tells_of_its_leader(kept):
    """And the leader of its followers."""
    follower = RunningBroker.start("--follow", kept.http, memory=False)
    try:
        update(kept, "INSERT DATA { <a:a> <a:b> 1 }")
        caught_up(kept, follower)
        found = figures(follower)
        assert found["triplewire_following_connected"] == 1
        assert found["triplewire_following_sequence"] == 1
        assert found["triplewire_following_lag_seconds"] < 1
        assert figures(kept)["triplewire_journal_followers"] == 1
    finally:
        follower.stop()


def test_every_figure_is_there(kept):
    """None is misspelt: each has its place in the state of a leader or a follower."""
    follower = RunningBroker.start("--follow", kept.http, memory=False)
    try:
        there = figures(kept).keys() | figures(follower).keys()
    finally:
        follower.stop()
    assert {f"triplewire_{name}" for _, name, _, _ in _FIGURES} <= there


def test_names_are_as_the_ecosystem_has_them():
    """Base units, `_total` for what grows."""
    for _, name, grows, meaning in _FIGURES:
        assert name.endswith("_total") == grows
        assert not name.removesuffix("_total").endswith(("_s", "_ms"))
        assert meaning
