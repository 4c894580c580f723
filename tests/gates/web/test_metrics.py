"""The broker's figures as Prometheus reads them."""

from __future__ import annotations

import io
import random
import time

import httpx
import pyoxigraph
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.following import caught_up
from support.promtool import needs_promtool, promtool
from support.running import RunningBroker
from support.secured import SecuredBroker
from support.subscriber import Subscriber

from triplewire.broker.journal.feed import load_snapshot
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


def labeled(broker, name):
    """The samples of one name by their labels' values."""
    response = httpx.get(f"{broker.http}/metrics")
    return {
        tuple(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
        if sample.name == name
    }


def check_style(page):
    """What `promtool check metrics` looks at, and more: each of our own names, types and words."""
    for family in text_string_to_metric_families(page):
        assert family.documentation, family.name
        if not family.name.startswith("triplewire_"):
            continue
        names = {sample.name for sample in family.samples}
        assert not any(name.endswith("_created") for name in names)
        assert all(name.endswith("_total") == (family.type == "counter") for name in names)
        assert family.type == "histogram" or not any(
            name.endswith(("_count", "_sum", "_bucket")) for name in names
        )
        assert family.name == family.name.lower()
        assert not {"ms", "s", "kb", "mb", "milliseconds", "minutes"} & set(family.name.split("_"))
        assert len(family.samples) < 100


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
        pages = [httpx.get(f"{broker.http}/metrics").text for broker in (kept, follower)]
    finally:
        follower.stop()
    for page in pages:
        check_style(page)
    own = {f"triplewire_{name}" for place, name, _, _ in _FIGURES if not place.startswith("relay.")}
    assert own <= there  # those of an overlay: tests/broker/test_relaying.py


def test_names_are_as_the_ecosystem_has_them():
    """Base units, `_total` for what grows."""
    for _, name, grows, meaning in _FIGURES:
        assert name.endswith("_total") == grows
        assert not name.removesuffix("_total").endswith(("_s", "_ms"))
        assert meaning


@needs_promtool
def test_prometheus_own_checker_finds_nothing(kept):
    """Nothing in the names, types and words of a page."""
    page = httpx.get(f"{kept.http}/metrics").text
    assert promtool("check", "metrics", given=page) == (0, "")
    assert promtool("check", "metrics", given="# TYPE x counter\nx 1\n")[0] != 0


def test_subscriptions_are_told_by_kind(kept):
    """How their answers are followed, and the form of their queries; and what their notifications hold."""
    with Subscriber(kept.ws) as subscriber:
        for text in (
            "SELECT ?o { <a:a> <a:b> ?o }",
            "SELECT ?o { <a:b> <a:b> ?o }",
            "ASK { ?s ?p ?o } LIMIT 1",
        ):
            subscriber.subscribe(text)
        update(kept, "INSERT DATA { <a:a> <a:b> 1, 2, 3 }")
        update(kept, "DELETE DATA { <a:a> <a:b> 1 }")
        kinds = labeled(kept, "triplewire_subscriptions_by_kind")
        assert kinds["joined", "select"] == 2
        assert sum(kinds.values()) == 3
        assert labeled(kept, "triplewire_units_by_kind")["joined", "select"] == 1
        rows = labeled(kept, "triplewire_notification_rows_total")
    assert rows["added",] >= 3
    assert rows["removed",] >= 1
    assert labeled(kept, "triplewire_quads_total") == {("inserted",): 3, ("deleted",): 1}


def test_errors_are_told_by_gate_and_status(kept):
    """What was wrong on each of the three ports."""
    httpx.post(f"{kept.http}/update", data={"update": "NO"})
    httpx.get(f"{kept.streams}/nothing/stream")
    with Subscriber(kept.ws) as subscriber:
        assert subscriber.exchange({"subscribe": {}})["status_code"] == 400
    found = {key: value for key, value in labeled(kept, "triplewire_errors_total").items() if value}
    assert found == {("http", "400"): 1, ("stream", "404"): 1, ("websocket", "400"): 1}


def test_queries_and_items_are_measured(kept):
    """How long an answer takes, to its last byte; what streams take."""
    for _ in range(3):
        httpx.get(f"{kept.http}/query", params={"query": "ASK {}"}).raise_for_status()
    body = b"Event-Id: 1\r\nSource-Id: s\r\nSyntax: text/plain\r\nBody-Length: 5\r\n\r\nhello"
    headers = {"Content-Type": "application/ztreamy-event"}
    httpx.post(f"{kept.streams}/events/publish", content=body, headers=headers).raise_for_status()
    found = figures(kept)
    assert found["triplewire_query_seconds_count"] == 3
    assert 0 < found["triplewire_query_seconds_sum"] < 5
    assert found["triplewire_stream_items_total"] == 1
    assert found["triplewire_stream_items_bytes_total"] > len(body)


def test_tokens_are_counted_where_security_is_enabled(tmp_path):
    """Those that were made, and requests that came without a good one."""
    with SecuredBroker(tmp_path) as broker:
        headers = broker.headers("admin")
        assert broker.http.get("/query", params={"query": "ASK {}"}).status_code == 401
        assert broker.http.get("/metrics", headers=broker.headers("reader")).status_code == 403
        page = broker.http.get("/metrics", headers=headers).text
    assert 'triplewire_tokens_total{event="issued"} 2.0' in page
    assert 'triplewire_errors_total{gate="http",status="401"} 1.0' in page
    assert 'triplewire_errors_total{gate="http",status="403"} 1.0' in page


def test_a_leader_tells_how_far_its_followers_are_behind(kept):
    """One that does not read is as many records behind as do not fit into its connection."""
    snapshot = httpx.get(f"{kept.http}/journal/snapshot").content
    epoch = load_snapshot(io.BytesIO(snapshot), pyoxigraph.Store()).epoch
    follow = httpx.stream("GET", f"{kept.http}/journal", params={"epoch": epoch, "after": "0"})
    with follow as response:
        assert response.status_code == 200
        rng = random.Random(1)  # as the same again and again would be nothing, compressed
        for _ in range(40):
            update(kept, f"INSERT DATA {{ <a:a> <a:b> '{rng.randbytes(250_000).hex()}' }}")
        deadline = time.monotonic() + 10
        while not figures(kept)["triplewire_journal_followers_behind_records"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert figures(kept)["triplewire_journal_followers"] == 1
    while figures(kept)["triplewire_journal_followers"]:
        assert time.monotonic() < deadline + 10
        time.sleep(0.05)
    assert figures(kept)["triplewire_journal_followers_behind_records"] == 0
