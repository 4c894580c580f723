"""What is counted where it happens, for /metrics: figures of this process that no part's state tells.

A process is one broker, so they are the module's.  Every label has few values, all known here, and each of them is shown
from the start: a rate needs a zero before its first one.
"""

from __future__ import annotations

from .counters import Counter, Counters, Histogram

# From half a millisecond to a minute; what the disk does, from a tenth of one.
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_DISK_SECONDS = (0.0001, 0.00025, *SECONDS[:-2])

GATES = ("http", "websocket", "stream")
# Others are shown as 4xx or 5xx, so that there is an end to them.
STATUSES = ("400", "401", "403", "404", "405", "406", "413", "415", "429", "500", "503", "504")


def _counters(name: str, meaning: str, *labels: str) -> Counters:
    return Counters(f"triplewire_{name}", meaning, labels)


def seconds(name: str, meaning: str, bounds: tuple[float, ...] = SECONDS) -> Histogram:
    """How long something takes; `name` is without the project's."""
    return Histogram(f"triplewire_{name}", meaning, bounds)


QUERY_SECONDS = seconds("query_seconds", "From a query's admission to the last byte of its answer")
SYNC_SECONDS = seconds(
    "journal_sync_seconds", "Making what was appended safe from a loss of power (fsync)", _DISK_SECONDS
)
_JOURNAL_FAILURES = _counters("journal_failures_total", "What the journal could not do", "operation")
_QUADS = _counters("quads_total", "Quads that updates inserted and deleted", "change")
_ROWS = _counters("notification_rows_total", "Rows of notifications, for each subscriber", "change")
_ERRORS = _counters("errors_total", "Requests that were answered by an error", "gate", "status")
_TOKENS = _counters("tokens_total", "Tokens by what became of them", "event")
_SLOW = _counters("slow_subscribers_total", "Subscribers that did not read", "outcome")
STREAM_BYTES = Counter(
    "triplewire_stream_items_bytes_total", "Items that streams have taken, as they are kept"
)
_SPANS = _counters("trace_spans_total", "Spans of traces by what became of them", "outcome")

APPEND_FAILED, SYNC_FAILED = (_JOURNAL_FAILURES.labels(each) for each in ("append", "sync"))
INSERTED, DELETED = (_QUADS.labels(each) for each in ("inserted", "deleted"))
FIRST_ROWS, ADDED_ROWS, REMOVED_ROWS = (_ROWS.labels(each) for each in ("first", "added", "removed"))
ISSUED, RENEWED, RAN_OUT = (_TOKENS.labels(each) for each in ("issued", "renewed", "ran_out"))
# Of a composed one the changes that wait are put together; a closed one is disconnected.
COMPOSED, CLOSED = (_SLOW.labels(each) for each in ("composed", "closed"))
SPANS_SENT, SPANS_FAILED, SPANS_DROPPED = (_SPANS.labels(each) for each in ("sent", "failed", "dropped"))
_STATUS = {
    (gate, status): _ERRORS.labels(gate, status) for gate in GATES for status in (*STATUSES, "4xx", "5xx")
}

ALL: tuple[Counter | Counters | Histogram, ...] = (
    QUERY_SECONDS,
    SYNC_SECONDS,
    _JOURNAL_FAILURES,
    _QUADS,
    _ROWS,
    _ERRORS,
    _TOKENS,
    _SLOW,
    STREAM_BYTES,
    _SPANS,
)


def refused(gate: str, status: int) -> None:
    """A gate of `GATES` has answered a request by an error."""
    found = _STATUS.get((gate, str(status)))
    (found or _STATUS[gate, "5xx" if status >= 500 else "4xx"]).inc()
