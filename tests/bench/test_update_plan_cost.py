"""What an update costs beside what Oxigraph does for it: a known shape with other constants, a new one, much data.

Prints medians and ratios; asserts only that what was measured was right.
"""

from __future__ import annotations

import statistics
import time

import pyoxigraph
import pytest

from triplewire.broker import update_plan
from triplewire.broker.config import LimitsConfig, SparqlConfig
from triplewire.broker.delta_writer import write_delta
from triplewire.broker.guard import check_update
from triplewire.broker.model import Update
from triplewire.broker.planner import Planner
from triplewire.broker.remote import allow_remote

UPDATES = 1500
WARM_UP = 300
TRIPLES = 10_000
OPERATIONS = 4000
PROLOGUE = """PREFIX sosa: <http://www.w3.org/ns/sosa/>
PREFIX qudt: <http://qudt.org/schema/qudt/>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX unit: <http://qudt.org/vocab/unit/>
"""


def sensor(number):
    """A sensor's new value in the place of the one before."""
    return (
        f'{PROLOGUE} DELETE {{ ?obs sosa:hasSimpleResult ?old }} INSERT {{ ?obs sosa:hasSimpleResult "{number / 10}" }} '
        f"WHERE {{ ?obs a sosa:Observation ; sosa:madeBySensor <http://example.org/sensor/{number % 100}> . "
        "OPTIONAL { ?obs sosa:hasSimpleResult ?old } }"
    )


def update_value(number):
    """The monitoring application's UPDATE_VALUE with its forced bindings."""
    seen = f"<http://example.org/observation/{number % 100}>"
    value = f'"{number / 10}"^^xsd:decimal'
    at = f'"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}Z"^^xsd:dateTimeStamp'
    return (
        f"{PROLOGUE} DELETE {{ ?quantity qudt:numericValue ?valueBefore . {seen} sosa:resultTime ?timeBefore }} "
        f"INSERT {{ ?quantity qudt:numericValue {value} . {seen} sosa:resultTime {at} }} "
        f"WHERE {{ {seen} a sosa:Observation ; sosa:hasResult ?quantity "
        f"OPTIONAL {{ ?quantity qudt:numericValue ?valueBefore }} OPTIONAL {{ {seen} sosa:resultTime ?timeBefore }} }}"
    )


def five_triples(number):
    """A small INSERT DATA."""
    return (
        f"{PROLOGUE} INSERT DATA {{ <http://example.org/o/{number}> a sosa:Observation ; "
        f'sosa:hasSimpleResult "{number}" ; sosa:madeBySensor <http://example.org/sensor/{number % 100}> ; '
        f'sosa:resultTime "2026-01-01T00:00:00Z"^^xsd:dateTime ; sosa:usedProcedure <http://example.org/{number}> }}'
    )


def one_value(number):
    """DELETE and INSERT of one value."""
    subject = f"<http://example.org/sensor/{number % 7}> <http://example.org/value>"
    return f"DELETE {{ {subject} ?old }} INSERT {{ {subject} {number} }} WHERE {{ OPTIONAL {{ {subject} ?old }} }}"


class Rows(list):
    """Solutions, all of them found."""


class TimedStore:
    """An Oxigraph store, and the seconds spent in it."""

    def __init__(self):
        self.store = pyoxigraph.Store()
        self.seconds = 0.0

    def __getattr__(self, name):
        method = getattr(self.store, name)

        def timed(*args, **options):
            started = time.perf_counter()
            answer = method(*args, **options)
            if name == "query":
                answer = Rows(answer)
            self.seconds += time.perf_counter() - started
            return answer

        return timed

    def __contains__(self, quad):
        return quad in self.store


class Applied:
    """The embedded store's way from a text to what is written, over a timed store."""

    def __init__(self, store=None):
        self.store = store or pyoxigraph.Store()
        self.sparql, self.limits = SparqlConfig(), LimitsConfig()
        self.planner = Planner(self.sparql.base_iri, self.sparql.prefixes, lambda _: [])

    def apply(self, text):
        """Carry it out; the change."""
        check_update(text, self.limits)
        delta = self.planner.update(self.store, Update(allow_remote(text, self.sparql)))
        if delta:
            write_delta(self.store, delta)
        return delta


@pytest.fixture
def timed(monkeypatch):
    """A store with a hundred sensors; the reader of data is timed too."""
    store = TimedStore()
    for number in range(100):
        store.store.update(
            f"{PROLOGUE} INSERT DATA {{ <http://example.org/observation/{number}> a sosa:Observation ; sosa:madeBySensor "
            f"<http://example.org/sensor/{number}> ; sosa:hasResult <http://example.org/q/{number}> }}"
        )
    parse = pyoxigraph.parse

    def timed_parse(*args, **options):
        started = time.perf_counter()
        quads = list(parse(*args, **options))
        store.seconds += time.perf_counter() - started
        return iter(quads)

    monkeypatch.setattr(pyoxigraph, "parse", timed_parse)
    monkeypatch.setattr(update_plan, "QuerySolutions", Rows)
    return store


@pytest.mark.parametrize("text_of", [sensor, update_value, five_triples, one_value])
def test_an_update_again_and_again(text_of, timed):
    """Its own work, and Oxigraph's; the first one has a shape that was never seen."""
    applied = Applied(timed)
    own, all_of_it = [], []
    for number in range(UPDATES):
        text, timed.seconds = text_of(number), 0.0
        started = time.perf_counter()
        delta = applied.apply(text)
        seconds = time.perf_counter() - started
        all_of_it.append(seconds)
        own.append(seconds - timed.seconds)
        assert delta.inserted
    warm, total = (statistics.median(times[WARM_UP:]) * 1e6 for times in (own, all_of_it))
    print(
        f"\n{text_of.__name__}: own work {warm:.0f} us of {total:.0f} us, with Oxigraph's ratio "
        f"{total / (total - warm):.2f}; first time {own[0] * 1e6:.0f} us"
    )


def test_new_shapes(timed):
    """Updates none of which has the shape of another."""
    applied = Applied(timed)
    own = []
    for number in range(UPDATES):
        text, timed.seconds = update_value(number).replace("?quantity", f"?quantity{number}"), 0.0
        started = time.perf_counter()
        assert applied.apply(text).inserted
        own.append(time.perf_counter() - started - timed.seconds)
    print(
        f"\nnew shapes: own work {statistics.median(own) * 1e6:.0f} us, p99 {sorted(own)[-UPDATES // 100] * 1e6:.0f} us"
    )


@pytest.mark.parametrize("kind", ["strings", "numbers", "both"])
def test_much_data(kind):
    """INSERT DATA of 10,000 triples : `Store.update` of the same text."""
    ratios, ours = [], []
    for turn in range(9):
        values = (
            str(n) if kind == "numbers" or (kind == "both" and n % 2) else f'"{n}"' for n in range(TRIPLES)
        )
        triples = (
            f"<http://example.org/{turn}/{n}> <http://example.org/value> {value} ."
            for n, value in enumerate(values)
        )
        text, applied, reference = f"INSERT DATA {{ {' '.join(triples)} }}", Applied(), pyoxigraph.Store()
        started = time.perf_counter()
        delta = applied.apply(text)
        applied_s = time.perf_counter() - started
        started = time.perf_counter()
        reference.update(text)
        ratios.append(applied_s / (time.perf_counter() - started))
        ours.append(applied_s)
        assert delta.inserted == set(reference) == set(applied.store)
    print(f"\n{TRIPLES} triples, {kind}: {min(ours) * 1e3:.0f} ms, ratio {statistics.median(ratios):.2f}")


def test_many_operations():
    """As many operations in one request, each with a prefix of its own : a quarter of them."""
    seconds = {}
    for count in (OPERATIONS // 4, OPERATIONS):
        text = " ; ".join(
            f"PREFIX p{n}: <http://x/{n}/> INSERT DATA {{ p{n}:a p{n}:b {n} }}" for n in range(count)
        )
        started = time.perf_counter()
        assert len(Applied().apply(text).inserted) == count
        seconds[count] = time.perf_counter() - started
    few, many = seconds.values()
    print(
        f"\n{OPERATIONS} operations with a prefix each: {many:.2f} s, {many / few:.1f} times a quarter of them"
    )
