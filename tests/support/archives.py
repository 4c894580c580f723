"""A broker with a directory, updates to it, and what its journal says."""

from __future__ import annotations

import contextlib
import time

from triplewire.broker.journal.inspection import dump
from triplewire.clients.historic.change_rows import rows_of

from .following import journal, update
from .running import RunningBroker

COLUMNS = ("sequence", "time", "client", "added", "graph", "subject", "predicate", "object")


@contextlib.contextmanager
def broker_at(directory, *arguments):
    """A broker that keeps its journal there."""
    broker = RunningBroker.start("--data", str(directory), *arguments, memory=False)
    try:
        yield broker
    finally:
        if broker.alive:
            broker.stop()


def fill(broker, count, first=0):
    """`count` updates, each of three quads: a value that is replaced, a new quad, and one in a graph."""
    for number in range(first, first + count):
        update(
            broker,
            f"DELETE {{ :s :value ?v }} INSERT {{ :s :value {number} }} WHERE {{ OPTIONAL {{ :s :value ?v }} }};"
            f'INSERT DATA {{ :o{number} :p "line\\n\\"é {number}\\"" . GRAPH :g {{ _:b :p {number} }} }}',
        )


def told(directory, after=0):
    """The rows of the journal itself, by its own reader."""
    return sorted(
        (row.sequence, row.time_ms, row.client, row.added, *((term or "") for term in row.quad))
        for record in dump(directory, after)
        for row in rows_of(record)
    )


def archived(frame):
    """The rows of an archive, in the same form."""
    return sorted(
        (
            row.sequence,
            row.ms,
            row.client,
            row.added,
            row.graph or "",
            row.subject,
            row.predicate,
            row.object,
        )
        for row in frame.selectExpr("*", "unix_millis(time) ms").collect()
    )


def until_record(broker, sequence, within_s=20.0):
    """Wait until the broker's journal is there."""
    deadline = time.monotonic() + within_s
    while journal(broker)["last_sequence"] < sequence:
        assert time.monotonic() < deadline
        time.sleep(0.02)
