"""How a query would be followed, asked over HTTP."""

from __future__ import annotations

import pytest
from support.secured import SecuredBroker

QUERY = "SELECT ?v { ?s <urn:p> ?v . ?s a <urn:T> }"
DIRECT = {"Content-Type": "application/sparql-query"}


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.get("/explain", params={"query": QUERY}),
        lambda client: client.post("/explain", data={"query": QUERY}),
        lambda client: client.post("/explain", content=QUERY, headers=DIRECT),
    ],
)
def test_in_words_and_by_patterns(sparql, ask):
    """In each way that a query can be sent."""
    answer = ask(sparql.http)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    told = answer.json()
    assert told["followed"].startswith("joined from the change outwards, no query needed")
    assert told["touched_by"][0] == "?s <urn:p> ?v in the default graph"


def test_what_is_said_is_what_then_stands(sparql):
    """The same words as in the list of what stands."""
    text = "SELECT ?o { <urn:said:s> <urn:said:p> ?o }"
    followed = sparql.http.get("/explain", params={"query": text}).json()["followed"]
    with sparql.http.stream(
        "GET", "/subscribe", params={"query": text}, headers={"Accept": "text/event-stream"}
    ) as stream:
        assert next(stream.iter_lines())
        (unit,) = [one for one in sparql.http.get("/units").json()["units"] if "urn:said" in one["query"]]
    assert followed.partition(";")[0] == unit["followed"]


def test_a_query_of_the_time_is_touched_by_all(sparql):
    """And one that is cut off says why it is evaluated."""
    told = sparql.http.get("/explain", params={"query": "SELECT (NOW() AS ?t) { ?s ?p ?o }"}).json()
    assert told["touched_by"] == ["every change"]
    cut = sparql.http.get("/explain", params={"query": "SELECT * { ?s <urn:p> ?o } LIMIT 1"}).json()
    assert cut["followed"].startswith("full: LIMIT")


@pytest.mark.parametrize(
    ("ask", "status"),
    [
        (lambda client: client.get("/explain"), 400),
        (lambda client: client.post("/explain", content="ASK {}" + " " * 2_000_000, headers=DIRECT), 413),
        (lambda client: client.post("/explain", content=f"ASK {'{' * 400} {'}' * 400}", headers=DIRECT), 400),
        (lambda client: client.put("/explain", content="x"), 405),
    ],
)
def test_what_is_no_question(sparql, ask, status):
    """Refused as the query operation refuses it."""
    answer = ask(sparql.http)
    assert answer.status_code == status
    assert answer.json()["error_description"]


def test_whoever_may_subscribe_may_ask(tmp_path):
    """Nobody else."""
    with SecuredBroker(tmp_path) as closed:
        asked = {"params": {"query": QUERY}}
        assert closed.http.get("/explain", **asked).status_code == 401
        reader = closed.headers("reader")
        assert closed.http.get("/explain", **asked, headers=reader).status_code == 403
        assert closed.http.get("/explain", **asked, headers=closed.headers("all")).status_code == 200
