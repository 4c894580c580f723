"""Observations that stream into standing queries: ours, Pathway (differential dataflow), and asking again (SEPA's way).

Prints ratios; asserts only that the rows told add up to a fresh answer.  All hold 25,000 observations of four triples
when the stream begins.  Ours takes texts of SPARQL Update and gives texts of notifications; Pathway takes triples as
rows of strings, and gives Python values to a callback.  Its stream comes as fast as it can be fed, committed as it likes
(at least each 100 ms); for its latency each observation is committed and waited for.  TRIPLEWIRE_PATHWAY_PYTHON is an
interpreter that has Pathway; without, it is installed under build/.  It runs in a network of its own, where it can.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import pyoxigraph
import pytest
from foreign.installs import environment, python_packages
from support.benchmarks import Table, Timed, apart, memory_core, peak_mb, quantile, subscribed

from triplewire.broker.model import Query, Update

HELD = int(os.environ.get("TRIPLEWIRE_OBSERVATIONS", "25000"))
STREAMED, SINGLE, ASKED_AGAIN, BULK = HELD * 4 // 5, 2000, 20, 100
LONGEST_S = 30.0  # of one stream; what is slow is given fewer observations
RUNS = 3
SENSORS, ROOMS = 1000, 100
PREFIXES = "PREFIX sosa: <http://www.w3.org/ns/sosa/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
QUERIES = {
    "star": "SELECT ?o ?s ?v ?t { ?o a sosa:Observation ; sosa:madeBySensor ?s ; sosa:hasSimpleResult ?v ; "
    "sosa:resultTime ?t }",
    "room": "SELECT ?o ?v ?t ?room { ?o sosa:madeBySensor ?s ; sosa:hasSimpleResult ?v ; sosa:resultTime ?t . "
    "?s sosa:isHostedBy ?room }",
    "average": "SELECT ?s (AVG(?v) AS ?mean) { ?o a sosa:Observation ; sosa:madeBySensor ?s ; "
    "sosa:hasSimpleResult ?v } GROUP BY ?s",
}
PATHWAY = "pathway==0.33.0"
pytestmark = pytest.mark.timeout(3600)


def observation(number):
    return (
        f"<http://example.org/o{number}> a sosa:Observation ; "
        f"sosa:madeBySensor <http://example.org/s{number % SENSORS}> ; sosa:hasSimpleResult {number}.5 ; "
        'sosa:resultTime "2026-01-01T00:00:00Z"^^xsd:dateTime'
    )


def insertion(numbers):
    return f"{PREFIXES} INSERT DATA {{ {' . '.join(map(observation, numbers))} }}"


def hosts():
    made = (
        f"<http://example.org/s{sensor}> sosa:isHostedBy <http://example.org/room{sensor % ROOMS}>"
        for sensor in range(SENSORS)
    )
    return f"{PREFIXES} INSERT DATA {{ {' . '.join(made)} }}"


def held():
    """The updates that make what is there when the stream begins."""
    yield hosts()
    for first in range(0, HELD, 1000):
        yield insertion(range(first, min(first + 1000, HELD)))


def ours(query, bulk, most):
    """Observations a second, seconds of each update, CPU seconds an observation, peak memory."""
    core = memory_core()
    for text in held():
        core.handle(Update(text))
    answer = subscribed(core, PREFIXES + QUERIES[query]).delta.added
    texts = [insertion(range(at, at + bulk)) for at in range(HELD, HELD + most, bulk)]
    took, cpu_s = [], 0.0
    ends = time.perf_counter() + LONGEST_S
    for text in texts:
        timed = Timed(core, text)
        took.append(timed.told_s)
        cpu_s += timed.cpu_s
        answer.update(timed.delta().added)
        answer.subtract(timed.delta().removed)
        if time.perf_counter() > ends:
            break
    peak = peak_mb()
    assert +answer == core._store.evaluate(Query(PREFIXES + QUERIES[query])).bag()
    done = len(took) * bulk
    return done / sum(took), took, cpu_s / done, peak


def asked_again(query):
    """The same of a store that is asked the whole query after each observation."""
    store = pyoxigraph.Store()
    for text in held():
        store.update(text)
    ask = PREFIXES + QUERIES[query]
    answer = Counter(tuple(row) for row in store.query(ask))
    took, busy = [], time.thread_time()
    for number in range(HELD, HELD + ASKED_AGAIN):
        text = insertion([number])
        began = time.perf_counter()
        store.update(text)
        fresh = Counter(tuple(row) for row in store.query(ask))
        added, removed = fresh - answer, answer - fresh
        answer = fresh
        took.append(time.perf_counter() - began)
        assert added.total() == 1 and removed.total() == (query == "average")
    return len(took) / sum(took), took, (time.thread_time() - busy) / len(took), peak_mb()


@pytest.fixture(scope="module")
def pathway():
    """Runs Pathway's program; where it can't be had, says so."""
    given = os.environ.get("TRIPLEWIRE_PATHWAY_PYTHON")
    interpreter = given or str(python_packages("pathway", PATHWAY))

    def run(query):
        program = Path(__file__).with_name("pathway_program.py")
        command = [interpreter, str(program), query, str(HELD), str(STREAMED), str(SINGLE)]
        done = subprocess.run(
            [*alone(), *command], capture_output=True, text=True, timeout=900, env=environment(), check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found = json.loads(done.stdout.splitlines()[-1])
        cpu_s = found["streamed_cpu_s"] / STREAMED
        peak, singly = found["peak_mb"], found["single_s"]
        single_cpu_s = found["single_cpu_s"] / SINGLE
        return (
            (STREAMED / found["streamed_s"], [], cpu_s, peak),
            (SINGLE / sum(singly), singly, single_cpu_s, peak),
        )

    return run


def alone():
    """What runs a command without a network, where this user may."""
    if shutil.which("unshare") is None:
        return []
    tried = subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False)
    return ["unshare", "-n"] if tried.returncode == 0 else []


def best(runs):
    """The run with the best rate: others had the machine for themselves less."""
    return max(runs, key=lambda run: run[0])


@pytest.fixture(scope="module")
def table():
    found = Table(
        f"observations of 4 triples onto {HELD:,}; the best of {RUNS} runs in turn",
        *("query", "by", "observations/s", ": Pathway's best", "CPU us each", "p50 us", "p99 us", "peak MB"),
    )
    yield found
    found.print()


@pytest.mark.parametrize("query", QUERIES)
def test_streams_of_observations(query, pathway, table):
    """Rates and latencies of all, one after the other, several times."""
    runs = {
        "Pathway, as it likes": [],
        "Pathway, 1 a commit": [],
        "ours, 1 an update": [],
        f"ours, {BULK} an update": [],
    }
    for _ in range(RUNS):
        for name, run in zip(("Pathway, as it likes", "Pathway, 1 a commit"), pathway(query), strict=True):
            runs[name].append(run)
        runs["ours, 1 an update"].append(apart(ours, query, 1, SINGLE))
        runs[f"ours, {BULK} an update"].append(apart(ours, query, BULK, STREAMED))
    runs["asked again (pyoxigraph)"] = [apart(asked_again, query)]
    reference = max(rate for rate, *_ in runs["Pathway, as it likes"])
    for name, results in runs.items():
        rate, took, cpu_s, peak = best(results)
        p50, p99 = (quantile(took, share) * 1e6 if took else None for share in (0.5, 0.99))
        table.add(query, name, rate, f"{rate / reference:.2f}", cpu_s * 1e6, p50, p99, peak)
