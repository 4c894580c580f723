"""What was there before the first record, whatever of the records a snapshot already holds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyoxigraph
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, Quad, RdfFormat

from triplewire.broker.config import JournalConfig
from triplewire.broker.dataset.epochs import Epochs
from triplewire.broker.journal.journal import Journal
from triplewire.broker.journal.segment import first_sequences
from triplewire.broker.journal.snapshot_writer import write_draft
from triplewire.broker.model import QuadDelta
from triplewire.clients.historic.archive_base import dataset_before
from triplewire.clients.historic.journal_options import JournalOptions
from triplewire.clients.historic.journal_source import register

from .histories import P

PAST = (datetime.now(UTC) - timedelta(hours=1)).timestamp()
SMALL = JournalConfig(segment_bytes=600, keep_bytes=1, snapshots_kept=1)
STEPS = st.lists(st.sets(st.integers(0, 7), min_size=1), min_size=30, max_size=30)


def quad(number):
    return Quad(P, P, Literal(number), *([P] if number % 2 else []))


def journal_of(directory, steps, seen):
    """Records that toggle quads; a snapshot between two of them; then the first segments go.  The states after each."""
    states = [frozenset()]
    journal = Journal.open(directory, SMALL)
    Epochs.begin(directory, 0)
    store = pyoxigraph.Store()
    try:
        for toggled in steps:
            before = states[-1]
            states.append(before ^ toggled)
            inserted, deleted = states[-1] - before, before - states[-1]
            journal.append(QuadDelta(frozenset(map(quad, inserted)), frozenset(map(quad, deleted))), "", PAST)
            journal.settle()
        sequence, fuzzy, until = sorted(seen)
        # Of each quad either what was so at first or what was so last: that is what a snapshot may have.
        kept = {n for n in range(8) if n in (states[sequence] if n % 3 else states[fuzzy])}
        store.extend(map(quad, kept))
        write_draft(directory, store, sequence).publish(until, int(PAST * 1000))
        journal.retain(PAST)
    finally:
        journal.close()
    return states


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(STEPS, st.sets(st.integers(18, 30), min_size=3, max_size=3))
def test_any_snapshot(spark, tmp_path_factory, steps, seen):
    """The first word of the records, and else the snapshot's, is the dataset of before."""
    directory = tmp_path_factory.mktemp("data")
    states = journal_of(directory, steps, seen)
    first = first_sequences(directory)[0]
    assert first > 1
    register(spark)
    options = JournalOptions(data=str(directory))
    beginning = options.origin().beginning()
    assert beginning.place.sequence == first - 1
    rows = dataset_before(spark, options, beginning).collect()
    lines = "".join(f"{r.subject} {r.predicate} {r.object} {r.graph or ''} .\n" for r in rows)
    assert sorted(map(str, pyoxigraph.parse(lines, format=RdfFormat.N_QUADS))) == sorted(
        str(quad(number)) for number in states[first - 1]
    )
    assert {(row.sequence, row.added) for row in rows} <= {(first - 1, True)}


def test_nothing_before_record_one(spark, tmp_path):
    """Without a snapshot the journal tells everything."""
    Journal.open(tmp_path, SMALL).close()
    options = JournalOptions(data=str(tmp_path))
    assert dataset_before(spark, options, options.origin().beginning()) is None
