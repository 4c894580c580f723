"""Queries that would run for hours: each is ended at its limit, its place is free again, and nobody else waits."""

from __future__ import annotations

import statistics
import threading
import time

import httpx
import pytest
from support.running import RunningBroker

LIMIT_S = 1.0
QUADS = 2000
RUNAWAYS = {
    "a cross join that finds nothing": "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(?c < ?f && ?f < ?i && ?i < ?c) }",
    "a count over a product": "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }",
    "paths without end": "PREFIX : <http://e/> SELECT (COUNT(*) AS ?n) { ?a (:next|^:next|:to)* ?b . ?b (:next|:to)* ?c }",
    "a path between all pairs": "PREFIX : <http://e/> SELECT (COUNT(*) AS ?n) { ?a (:next|:to)+ ?b . ?b (:to/:next)+ ?c . ?c (^:to|:next)+ ?a }",
    "a huge ORDER BY": "SELECT * { ?a ?b ?c . ?d ?e ?f } ORDER BY ?f ?c ?a LIMIT 1",
    "a huge GROUP BY": "SELECT ?c ?f (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } GROUP BY ?c ?f HAVING (COUNT(*) < 0)",
    "DISTINCT over a product": "SELECT DISTINCT ?x { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i BIND(STRLEN(STR(?c)) AS ?x) }",
    "NOT EXISTS for each": "ASK { ?a ?b ?c . ?d ?e ?f FILTER NOT EXISTS { ?g ?h ?i FILTER(?c != ?f || ?i = ?c) } FILTER(STR(?c) < STR(?f) && STR(?f) < STR(?c)) }",
    "values by values": "SELECT (COUNT(*) AS ?n) { "
    + " ".join(f"VALUES ?{name} {{ 0 1 2 3 4 5 6 7 8 9 }}" for name in "abcdefghij")
    + " }",
    "a regular expression on a product": "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER REGEX(CONCAT(STR(?c), STR(?f), STR(?i)), 'zz.*zz$') }",
    "a sum of everything by itself": "CONSTRUCT { <urn:s> <urn:p> ?n } WHERE { SELECT (SUM(?c * ?f) AS ?n) { ?a <http://e/v> ?c . ?d <http://e/v> ?f . ?g <http://e/v> ?i } }",
}


@pytest.fixture(scope="module", params=["memory", "disk"])
def broker(request, tmp_path_factory):
    arguments = [
        "--data",
        str(tmp_path_factory.mktemp("data") / "data"),
        f"--set=store.engine={request.param}",
    ]
    one = RunningBroker.start(
        *arguments, f"--set=limits.query_s={LIMIT_S}", "--set=scheduler.readers=2", memory=False
    )
    lines = [
        f"<http://e/{i}> <http://e/next> <http://e/{i + 1}> ; <http://e/to> <http://e/{i * 7 % QUADS}> ; <http://e/v> {i} ."
        for i in range(QUADS)
    ]
    response = httpx.post(
        f"{one.http}/rdf-graph-store?default",
        content="\n".join(lines),
        headers={"Content-Type": "text/turtle"},
        timeout=30,
    )
    response.raise_for_status()
    yield one
    one.stop()


def update(client, broker, number):
    began = time.perf_counter()
    text = f"DELETE WHERE {{ <urn:x> <urn:y> ?o }} ; INSERT DATA {{ <urn:x> <urn:y> {number} }}"
    client.post(f"{broker.http}/update", data={"update": text}).raise_for_status()
    return time.perf_counter() - began


def test_each_is_ended_and_nobody_else_waits(broker):
    """A time-out error at the limit, within a second; updates and small queries go on; nothing is left."""
    quiet, busy, over = [], [], threading.Event()
    with httpx.Client(timeout=20) as client:
        quiet = [update(client, broker, number) for number in range(100)]

    def write():
        with httpx.Client(timeout=20) as client:
            number = 0
            while not over.is_set():
                busy.append(update(client, broker, number))
                number += 1
                time.sleep(0.01)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for name, query in RUNAWAYS.items():
            began = time.perf_counter()
            response = httpx.post(f"{broker.http}/query", data={"query": query}, timeout=30)
            took = time.perf_counter() - began
            assert response.status_code == 504, (name, response.text[:300])
            assert response.json()["error"] == "timeout", name
            assert LIMIT_S - 0.1 < took < LIMIT_S + 1, (name, took)
            again = httpx.post(f"{broker.http}/query", data={"query": "ASK { <urn:x> ?p ?o }"}, timeout=5)
            assert again.status_code == 200
            assert httpx.get(f"{broker.http}/health").json()["reading"] == 0
    finally:
        over.set()
        writer.join()
    print(f"an update took {statistics.median(busy) / statistics.median(quiet):.2f} times as long meanwhile")
    assert max(busy) < 1
    readers = httpx.get(f"{broker.http}/health").json()["readers"]
    assert readers["killed"] == len(RUNAWAYS)
    assert readers["children"] <= 2


def test_all_at_once(broker):
    """More of them than there are readers: each gets its turn and its error, and the process lives."""
    replies = []

    def ask(query):
        replies.append(httpx.post(f"{broker.http}/query", data={"query": query}, timeout=60).status_code)

    threads = [threading.Thread(target=ask, args=(query,)) for query in RUNAWAYS.values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies == [504] * len(RUNAWAYS)
    assert httpx.post(f"{broker.http}/query", data={"query": "ASK {}"}).status_code == 200


def test_whoever_hangs_up_frees_the_reader(broker):
    """At once, not at the limit."""
    query = RUNAWAYS["a count over a product"]
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{broker.http}/query", data={"query": query}, timeout=0.2)
    deadline = time.monotonic() + 0.6
    while httpx.get(f"{broker.http}/health").json()["reading"]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
