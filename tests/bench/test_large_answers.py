"""An update that changes one row of an answer of a million rows : the same of ten rows.

Prints ratios; asserts only that the change was told.  Each measurement has a process of its own.
"""

from __future__ import annotations

import gc
import os
import time
from collections import Counter

import pyoxigraph
import pytest
from support.benchmarks import Table, Timed, apart, memory_core, peak_mb, quantile, resident_mb, subscribed

FEW, MANY = 10, int(os.environ.get("TRIPLEWIRE_ROWS", "1000000"))
UPDATES = 200
LONGEST_S = 30.0  # of the updates of one measurement; slow ones are made less often
EX = "http://example.org/"
PREFIX = f"PREFIX : <{EX}> "
CHUNK = 100_000
QUERIES = {
    "SELECT": "SELECT ?s ?v { ?s :value ?v }",
    "star": "SELECT ?s ?v ?room { ?s a :Sensor ; :value ?v ; :room ?room }",
    "OPTIONAL": "SELECT ?s ?v ?note { ?s :value ?v OPTIONAL { ?s :note ?note } }",
    "FILTER": "SELECT ?s ?v { ?s :value ?v FILTER(?v >= 0) }",
    "CONSTRUCT": "CONSTRUCT { ?s :reading ?v } WHERE { ?s :value ?v }",
    "ASK": "ASK { ?s :value ?v ; :alarm true }",
    "COUNT": "SELECT (COUNT(*) AS ?count) { ?s :value ?v }",
    "AVG by room": "SELECT ?room (AVG(?v) AS ?mean) { ?s :room ?room ; :value ?v } GROUP BY ?room",
}
pytestmark = pytest.mark.timeout(3600)


def data(first, last):
    """Sensors as N-Triples: a kind, a value, and a room; ten are in one."""
    return "\n".join(
        f"<{EX}s{number}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{EX}Sensor> .\n"
        f'<{EX}s{number}> <{EX}value> "{number}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        f"<{EX}s{number}> <{EX}room> <{EX}room{number // 10}> ."
        for number in range(first, last)
    )


def filled(rows):
    """A core over so many sensors."""
    core = memory_core()
    for first in range(0, rows, CHUNK):
        text = data(first, min(first + CHUNK, rows))
        core._store.dataset.store.load(text.encode(), format=pyoxigraph.RdfFormat.N_TRIPLES)
    return core


def update(query, number, rows):
    """One that changes one row; of what is counted, one that makes one row more."""
    sensor = f"<{EX}s{number * 7919 % rows}>"
    if query == "ASK":
        return f"{PREFIX} {'DELETE' if number % 2 else 'INSERT'} DATA {{ :s{rows // 2} :alarm true }}"
    if query == "COUNT":
        return f"{PREFIX} INSERT DATA {{ :n{number} :value {number} }}"
    return (
        f"{PREFIX} DELETE {{ {sensor} :value ?old }} INSERT {{ {sensor} :value {rows + number} }} "
        f"WHERE {{ {sensor} :value ?old }}"
    )


def measure(query, rows):
    """Seconds of updates and of the first results; MB that are held for good, and at most."""
    core = filled(rows)
    gc.collect()
    before, began = resident_mb(), time.perf_counter()
    subscribed(core, PREFIX + QUERIES[query])
    first_s = time.perf_counter() - began
    gc.collect()
    kept_mb = resident_mb() - before
    took = []
    ends = time.perf_counter() + LONGEST_S
    for number in range(UPDATES):
        timed = Timed(core, update(query, number, rows))
        delta = timed.delta()
        assert delta.added.total() == delta.removed.total() == 1
        assert not Counter(delta.added) & Counter(delta.removed)
        took.append(timed.told_s)
        if time.perf_counter() > ends:
            break
    return took, first_s, kept_mb, peak_mb()


@pytest.fixture(scope="module")
def table():
    found = Table(
        "an update that changes one row; us, but where said",
        *("query", "rows", "updates", "p50", "p99", f": {FEW} rows", "first results s", "MB kept", "MB peak"),
    )
    yield found
    found.print()


@pytest.mark.parametrize("query", QUERIES)
def test_large_answers(query, table):
    """Medians of 200 updates, or as many as there is time for."""
    few = None
    for rows in (FEW, MANY):
        took, first_s, kept_mb, peak = apart(measure, query, rows)
        p50, p99 = (quantile(took, share) * 1e6 for share in (0.5, 0.99))
        few = few or p50
        table.add(query, rows, len(took), p50, p99, f"{p50 / few:.2f}", first_s, kept_mb, peak)
