"""Spans of courses, by OpenTelemetry, to a collector (OTLP over HTTP, protobuf).  Imported only where it is wanted."""

from __future__ import annotations

import logging
import threading
from collections import deque
from importlib.metadata import version
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from . import meters
from .tracing import Course

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span

    from .config import TracingConfig

log = logging.getLogger("triplewire.broker.tracing")

_BATCH = 512
_PATH: Final = "/v1/traces"  # OTLP specification, OTLP/HTTP request


class _SpannedCourse(Course):
    def __init__(self, span: Span, most: int) -> None:
        carrier: dict[str, str] = {}
        _W3C.inject(carrier, set_span_in_context(span))
        super().__init__(most, carrier.get("traceparent", ""))
        self.span = span


_W3C = TraceContextTextMapPropagator()


class Tracer:
    """Begins a course for each request that is sampled, and makes spans of it at its end."""

    def __init__(self, config: TracingConfig, exporter: SpanExporter | None = None) -> None:
        """`exporter` is for tests; without one they go to tracing.endpoint."""
        self._config = config
        exporter = exporter or OTLPSpanExporter(traces_url(config.endpoint), timeout=config.timeout_s)
        self._sender = Sender(exporter, config)
        resource = Resource.create({"service.name": config.service, "service.version": version("triplewire")})
        # Whoever asks decides for the whole trace; those that begin here are sampled.
        sampler = ParentBased(TraceIdRatioBased(config.sample))
        self._provider = TracerProvider(sampler, resource, shutdown_on_exit=False)
        self._provider.add_span_processor(self._sender)
        self._tracer = self._provider.get_tracer("triplewire", version("triplewire"))

    def begin(self, traceparent: str | None, tracestate: str | None) -> Course | None:
        """A course within the trace of the request's headers, or a new one; None where it is not sampled."""
        carrier = {"traceparent": traceparent or "", "tracestate": tracestate or ""}
        span = self._tracer.start_span("update", context=_W3C.extract(carrier), kind=SpanKind.SERVER)
        return _SpannedCourse(span, self._config.spans) if span.is_recording() else None

    def end(self, course: Course, failure: tuple[str, int] | None = None) -> None:
        """It is over; `failure` is the code and status that the sender was told.  One without a step is forgotten."""
        assert isinstance(course, _SpannedCourse)
        steps, span = tuple(course.steps), course.span
        if not steps and failure is None:
            return
        within = set_span_in_context(span)
        for name, began_ns, ended_ns, attributes in steps:
            told = {f"triplewire.{key}": value for key, value in attributes.items()}
            child = self._tracer.start_span(name, context=within, start_time=began_ns, attributes=told)
            child.end(ended_ns)
        if course.left_out:
            span.set_attribute("triplewire.steps_left_out", course.left_out)
        if failure is not None:
            code, status = failure
            span.set_attributes({"error.type": code, "http.response.status_code": status})
            # OpenTelemetry's conventions for HTTP servers: what the client did wrong is no error of ours
            if status >= 500:
                span.set_status(Status(StatusCode.ERROR))
        span.end()

    def close(self) -> None:
        """Send what waits, for tracing.timeout_s at most."""
        self._provider.shutdown()


class Sender(SpanProcessor):
    """Sends spans from a thread of its own, many at a time; over a bound they are dropped, and counted.

    The SDK's own one (BatchSpanProcessor) begins another thread in each process that is forked, and readers are.
    """

    def __init__(self, exporter: SpanExporter, config: TracingConfig) -> None:
        self._exporter = exporter
        self._config = config
        self._waiting: deque[ReadableSpan] = deque()
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="traces", daemon=True)
        self._thread.start()

    def on_end(self, span: ReadableSpan) -> None:
        """See `SpanProcessor`; never waits."""
        if self._closing or len(self._waiting) >= self._config.waiting:
            meters.SPANS_DROPPED.inc()
            return
        self._waiting.append(span)
        if len(self._waiting) >= _BATCH:
            self._wake.set()

    def shutdown(self) -> None:
        """Send what waits, as far as there is time."""
        self._closing = True
        self._wake.set()
        self._thread.join(self._config.timeout_s)
        self._exporter.shutdown()

    def _run(self) -> None:
        while not self._closing:
            self._wake.wait(self._config.interval_s)
            self._wake.clear()
            self._send()
        self._send()

    def _send(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
            try:
                sent = self._exporter.export(batch) is SpanExportResult.SUCCESS
            except Exception:  # whatever a collector makes of it, the next batch may go well
                log.exception("! %d spans could not be sent", len(batch))
                sent = False
            (meters.SPANS_SENT if sent else meters.SPANS_FAILED).inc(len(batch))


def traces_url(endpoint: str) -> str:
    """A collector's URL with the path for traces, where it has none."""
    return endpoint.rstrip("/") + _PATH if urlsplit(endpoint).path in {"", "/"} else endpoint
