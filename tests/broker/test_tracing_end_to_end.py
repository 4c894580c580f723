"""Traces of updates, as a collector gets them from real brokers."""

from __future__ import annotations

import subprocess
import sys

import httpx
import pytest
from support.collector import Collector, attributes
from support.following import caught_up
from support.running import RunningBroker
from support.subscriber import Subscriber

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED, NOT_SAMPLED = (f"00-{TRACE}-{PARENT}-{flags}" for flags in ("01", "00"))


def traced(collector, *arguments, **options):
    settings = [f"tracing.endpoint={collector.url}", "tracing.interval_s=0.05", *options.pop("settings", ())]
    given = (part for setting in settings for part in ("--set", setting))
    return RunningBroker.start(*given, *arguments, **options)


def update(broker, text="INSERT DATA { <a:a> <a:b> 1 }", **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.post(f"{broker.http}/update", data={"update": text}, headers=headers)


@pytest.fixture(scope="module")
def collector():
    with Collector() as running:
        yield running


@pytest.fixture(scope="module")
def broker(collector, tmp_path_factory):
    data = str(tmp_path_factory.mktemp("data"))
    settings = ["journal.fsync=always", "tracing.service=here", "tracing.spans=10"]
    running = traced(collector, "--data", data, settings=settings, memory=False)
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def forgotten(collector):
    collector.spans.clear()


def test_an_update_is_a_span_with_its_steps(broker, collector):
    """Planned, written, synced; its unit and its notifications; and one trace in the order of time."""
    with Subscriber(broker.ws) as subscriber:
        subscriber.subscribe("SELECT ?o { <a:s> <a:p> ?o }")
        update(broker, "INSERT DATA { <a:s> <a:p> 1, 2 }").raise_for_status()
        (whole,) = collector.wait(1)
    steps = sorted(
        (span for span in collector.spans if span is not whole), key=lambda span: span.start_time_unix_nano
    )
    names = [span.name for span in steps]
    assert names == ["wait", "plan", "look", "commit", "unit", "sync", "notification"]
    assert {span.trace_id for span in steps} == {whole.trace_id}
    assert {span.parent_span_id for span in steps} == {whole.span_id}
    assert whole.parent_span_id == b""
    assert whole.kind == whole.SPAN_KIND_SERVER
    ends = [whole.start_time_unix_nano]
    for span in steps:
        assert ends[-1] <= span.start_time_unix_nano <= span.end_time_unix_nano
        ends.append(span.end_time_unix_nano)
    assert ends[-1] <= whole.end_time_unix_nano
    told = {span.name: attributes(span) for span in steps}
    assert told["commit"] == {"triplewire.inserted": 2, "triplewire.deleted": 0}
    assert told["unit"] == {
        "triplewire.followed": "joined",
        "triplewire.form": "select",
        "triplewire.messages": 1,
    }
    assert told["notification"]["triplewire.added"] == 2
    assert told["notification"]["triplewire.sequence"] == 1
    assert collector.services == {"here"}


def test_the_trace_of_the_request_goes_on(broker, collector):
    """W3C Trace Context: its number, and its span as the parent; one that is no such is passed over."""
    update(broker, traceparent=SAMPLED, tracestate="vendor=1").raise_for_status()
    (span,) = collector.wait(1)
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
    assert span.trace_state == "vendor=1"
    update(broker, traceparent=f"00-{'0' * 32}-{PARENT}-01").raise_for_status()
    other = collector.wait(2)[1]
    assert (other.trace_id.hex() == TRACE, other.parent_span_id) == (False, b"")


def test_who_began_a_trace_decides_whether_it_is_sampled(broker, collector):
    """Those that are not are answered all the same, and no span comes of them."""
    update(broker, traceparent=NOT_SAMPLED).raise_for_status()
    update(broker, traceparent=SAMPLED).raise_for_status()
    collector.wait(1)
    assert len(collector.named("update")) == 1


def test_what_was_refused_says_why(broker, collector):
    """By its code and status; the text of an update, and of an error, is nobody's business."""
    assert update(broker, "INSERT DATA { secret").status_code == 400
    (span,) = collector.wait(1)
    told = attributes(span)
    assert told["http.response.status_code"] == 400
    assert told["error.type"]
    assert span.status.code == span.status.STATUS_CODE_UNSET
    assert b"secret" not in b"".join(each.SerializeToString() for each in collector.spans)


def test_queries_are_not_traced_and_both_paths_of_updates_are(broker, collector):
    """/sparql serves both; a graph that is put is a write as well."""
    sparql = f"{broker.http}/sparql"
    httpx.post(sparql, data={"query": "ASK {}"}).raise_for_status()
    httpx.post(sparql, data={"update": "INSERT DATA { <a:a> <a:b> 7 }"}).raise_for_status()
    collector.wait(1)
    store = f"{broker.http}/rdf-graph-store?graph=http://g"
    httpx.put(store, content="<a:a> <a:b> 1 .", headers={"Content-Type": "text/turtle"}).raise_for_status()
    assert len(collector.wait(2)) == 2


def test_there_is_an_end_to_the_spans_of_one_update(broker, collector):
    """tracing.spans of them; the rest is counted."""
    with Subscriber(broker.ws) as subscriber:
        for _ in range(12):
            subscriber.subscribe("SELECT ?o { <a:many> <a:p> ?o }")
        update(broker, "INSERT DATA { <a:many> <a:p> 1 }").raise_for_status()
        (whole,) = collector.wait(1)
    assert len(collector.spans) == 11
    assert attributes(whole)["triplewire.steps_left_out"] == 8


def test_what_a_follower_forwards_is_of_one_trace(broker, collector):
    """The leader's span is below the follower's."""
    follower = traced(collector, "--follow", broker.http, settings=["tracing.service=follower"], memory=False)
    try:
        caught_up(broker, follower)
        collector.spans.clear()
        update(follower, "INSERT DATA { <a:forwarded> <a:b> 1 }", traceparent=SAMPLED).raise_for_status()
        whole = collector.wait(2)
    finally:
        follower.stop()
    assert {span.trace_id.hex() for span in whole} == {TRACE}
    (first,) = (span for span in whole if span.parent_span_id.hex() == PARENT)
    (second,) = (span for span in whole if span is not first)
    assert second.parent_span_id == first.span_id
    assert collector.services >= {"follower"}


def test_only_a_part_is_sampled_and_what_waits_leaves_at_the_end(collector):
    """With sample = 0 only what others sample; the last spans are sent when the broker ends."""
    quiet = traced(collector, settings=["tracing.sample=0", "tracing.interval_s=60"])
    for _ in range(5):
        update(quiet).raise_for_status()
    update(quiet, traceparent=SAMPLED).raise_for_status()
    assert collector.spans == []
    assert quiet.stop() == 0
    assert [span.trace_id.hex() for span in collector.named("update")] == [TRACE]


def test_a_collector_that_is_away_holds_up_nobody():
    """Updates are answered, the spans are counted as lost, and the broker ends in time."""
    with Collector() as gone:
        url = gone.url
    settings = [f"tracing.endpoint={url}", "tracing.interval_s=0.05", "tracing.timeout_s=0.5"]
    broker = RunningBroker.start(*(part for setting in settings for part in ("--set", setting)))
    try:
        for _ in range(20):
            update(broker).raise_for_status()
    finally:
        assert broker.stop() == 0


def test_without_an_endpoint_nothing_of_it_is_loaded():
    """Tracing that is off costs nothing, and needs no OpenTelemetry."""
    # Its API is FastAPI's dependency by now; what makes and sends spans is not.
    heavy = "('opentelemetry.sdk', 'opentelemetry.exporter')"
    script = f"import sys, triplewire.broker.app; sys.exit(any(n.startswith({heavy}) for n in sys.modules))"
    assert subprocess.run([sys.executable, "-P", "-c", script], check=False).returncode == 0


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("endpoint=localhost:4318", "tracing.endpoint"),
        ("sample=1.5", "tracing.sample"),
        ("spans=0", "tracing.spans"),
    ],
)
def test_settings_that_can_not_be(setting, said):
    """Are told before anything starts."""
    with pytest.raises(RuntimeError, match=said):
        RunningBroker.start("--set", f"tracing.{setting}")
