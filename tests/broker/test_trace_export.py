"""Spans and how they are sent; with a real collector see test_tracing_end_to_end.py."""

from __future__ import annotations

import os
import threading

import pytest
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from triplewire.broker import meters
from triplewire.broker.config import TracingConfig
from triplewire.broker.trace_export import Tracer, traces_url

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Kept(SpanExporter):
    """Keeps what it is given, once it is `open`; or fails."""

    def __init__(self, *, fails=None):
        self.spans = []
        self.open = threading.Event()
        self.open.set()
        self.fails = fails

    def export(self, spans):
        self.open.wait(5)
        if self.fails == "raises":
            raise OSError("no collector")
        self.spans += spans
        return SpanExportResult.FAILURE if self.fails else SpanExportResult.SUCCESS

    def shutdown(self):
        pass


def counted():
    return {
        outcome: counter.value
        for outcome, counter in (
            ("sent", meters.SPANS_SENT),
            ("failed", meters.SPANS_FAILED),
            ("dropped", meters.SPANS_DROPPED),
        )
    }


def since(before):
    return {
        outcome: count - before[outcome] for outcome, count in counted().items() if count != before[outcome]
    }


def config(**settings):
    return TracingConfig(
        **({"endpoint": "http://127.0.0.1:9", "interval_s": 0.01, "timeout_s": 1.0} | settings)
    )


def write(tracer, *, steps=1, traceparent=None, failure=None):
    course = tracer.begin(traceparent, None)
    for _ in range(steps):
        course.done("commit", inserted=1)
    tracer.end(course, failure)
    return course


def test_a_course_becomes_a_span_with_its_steps_below_it():
    """In the trace of the request, and told on as that."""
    kept, before = Kept(), counted()
    tracer = Tracer(config(), kept)
    course = write(tracer, steps=2, traceparent=PARENT)
    tracer.close()
    *steps, whole = kept.spans
    assert [(span.name, span.parent.span_id == whole.context.span_id) for span in steps] == [
        ("commit", True)
    ] * 2
    assert course.traceparent == f"00-{PARENT[3:35]}-{whole.context.span_id:016x}-01"
    assert whole.resource.attributes["service.name"] == "triplewire"
    assert since(before) == {"sent": 3}


def test_a_course_without_a_step_is_forgotten():
    """It was a query, or the request was no write at all; one that failed is told."""
    kept = Kept()
    tracer = Tracer(config(), kept)
    write(tracer, steps=0)
    write(tracer, steps=0, failure=("too_many_requests", 429))
    write(tracer, steps=0, failure=("internal", 500))
    tracer.close()
    assert [span.attributes["http.response.status_code"] for span in kept.spans] == [429, 500]
    assert [span.status.is_ok for span in kept.spans] == [True, False]


@pytest.mark.parametrize("fails", ["says so", "raises"])
def test_what_could_not_be_sent_is_counted(fails, caplog):
    """And the next batch is tried."""
    before = counted()
    tracer = Tracer(config(), Kept(fails=fails))
    write(tracer)
    tracer.close()
    assert since(before) == {"failed": 2}
    assert ("could not be sent" in caplog.text) == (fails == "raises")


def test_there_is_an_end_to_what_waits():
    """The rest is dropped, and counted, and nobody waits for the collector."""
    kept, before = Kept(), counted()
    kept.open.clear()
    tracer = Tracer(config(waiting=10, interval_s=60.0), kept)
    for _ in range(10):
        write(tracer)
    assert since(before) == {"dropped": 10}
    kept.open.set()
    tracer.close()
    assert since(before) == {"dropped": 10, "sent": 10}


def test_a_process_that_is_forked_has_no_thread_of_it():
    """Readers are forked: they send nothing."""
    tracer = Tracer(config(interval_s=60.0), Kept())
    try:
        child = os.fork()
        if not child:
            os._exit(any(thread.name == "traces" for thread in threading.enumerate()))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert any(thread.name == "traces" for thread in threading.enumerate())
    finally:
        tracer.close()


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("http://localhost:4318", "http://localhost:4318/v1/traces"),
        ("http://localhost:4318/", "http://localhost:4318/v1/traces"),
        ("https://there/otlp/v1/traces", "https://there/otlp/v1/traces"),
    ],
)
def test_where_traces_go(endpoint, url):
    """OTLP's own path, where none is given."""
    assert traces_url(endpoint) == url
