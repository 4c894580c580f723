"""Texts that would kill or hang the engine are refused at every gate, and nobody else feels them.

Each of these ended the process, or held a thread for minutes, where it reached Oxigraph 0.5 unguarded.
"""

from __future__ import annotations

import threading
import time

import pytest
from support.sparql import Sparql
from support.subscriber import Subscriber

pytestmark = pytest.mark.xdist_group("gates-guards")

DEEP, LONG = 5_000, 20_000


def nested(begin, middle, end, depth=DEEP):
    return begin * depth + middle + end * depth


# Group graph patterns.
PATTERNS = {
    "parentheses": f"FILTER({nested('(', '1', ')')})",
    "braces": nested("{", "?s ?p ?o", "}"),
    "optionals": nested("OPTIONAL { ?s ?p ?o ", "", "}"),
    "minuses": nested("MINUS { ?s ?p ?o ", "", "}"),
    "not exists": nested("FILTER NOT EXISTS { ?s ?p ?o ", "", "}"),
    "sub-selects": nested("{ SELECT * { ", "?s ?p ?o", "}}"),
    "graphs": nested("GRAPH ?g { ", "?s ?p ?o", "}"),
    "blank nodes": f"?s ?p {nested('[ <p> ', '1', ']')}",
    "collections": f"?s ?p {nested('(', '1', ')')}",
    "functions": f"FILTER({nested('STR(', '1', ')')})",
    "paths in brackets": f"?s {nested('(', '<p>', ')')} ?o",
    "quoted triples": f"?s ?p {nested('<<( ?s ?p ', '1', ' )>>')}",
    "ands": f"FILTER(1 {'&& 1 ' * LONG})",
    "ors": f"FILTER(1 {'|| 1 ' * LONG})",
    "nots": f"FILTER({'!' * LONG}1)",
    "signs": f"FILTER({'-' * LONG}?x)",
    "sums": f"FILTER(1 {'+ 1 ' * LONG})",
    "unions": "{} " + "UNION {} " * LONG,
    "binds": " ".join(f"BIND(1 AS ?b{number})" for number in range(DEEP)),
    "steps of a path": f"?s {'/'.join(['<p>'] * DEEP)} ?o",
    "branches of a path": f"?s {'|'.join(['<p>'] * LONG)} ?o",
    "inverses": f"?s {nested('^(', '<p>', ')')} ?o",
    "a star": " ".join(f"?s <p{number}> ?o{number} ." for number in range(320)),
    "a star by semicolons": "?s " + ";".join(f"<p{number}> ?o{number}" for number in range(320)),
    "a chain": " ".join(f"?x{number} <p> ?x{number + 1} ." for number in range(320)),
    "a long list": f"?s ?p ({'?x ' * 320})",
}
WAYS = {
    "query": lambda sparql, text: sparql.query(f"ASK {{ {text} }}"),
    "select": lambda sparql, text: sparql.query(f"SELECT * WHERE {{ {text} }}"),
    "construct": lambda sparql, text: sparql.query(f"CONSTRUCT {{ <s> <p> 1 }} WHERE {{ {text} }}"),
    "update": lambda sparql, text: sparql.try_update(f"INSERT {{ <s> <p> 1 }} WHERE {{ {text} }}"),
    "second operation": lambda sparql, text: sparql.try_update(
        f"INSERT DATA {{ <s> <p> 1 }}; DELETE {{ ?s ?p ?o }} WHERE {{ {text} }}"
    ),
    "events": lambda sparql, text: sparql.http.post(
        "/subscribe", data={"query": f"ASK {{ {text} }}"}, headers={"Accept": "text/event-stream"}
    ),
}
DATA = {
    "blank nodes": f"<s> <p> {nested('[ <p> ', '1', ']')}",
    "collections": f"<s> <p> {nested('(', '1', ')')}",
    "quoted triples": f"<s> <p> {nested('<<( <s> <p> ', '1', ' )>>')}",
}


@pytest.fixture(scope="module", autouse=True)
def witness(broker):
    """Another client, who asks all the time and is answered all the time; the process is the same at the end."""
    slowest, ending, pid = [0.0], threading.Event(), broker.process.pid

    def ask():
        with Sparql(broker.http) as client:
            while not ending.wait(0.02):
                started = time.monotonic()
                assert client.ask("ASK {}")
                slowest[0] = max(slowest[0], time.monotonic() - started)

    asking = threading.Thread(target=ask)
    asking.start()
    yield slowest
    ending.set()
    asking.join()
    assert broker.alive
    assert broker.process.pid == pid
    assert slowest[0] < 2
    assert "Traceback" not in broker.log


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_that_would_end_the_process_is_refused(sparql, name, way):
    """With the limit that it passes; nothing has changed."""
    response = WAYS[way](sparql, PATTERNS[name])

    assert response.status_code in {400, 413}
    assert response.json()["error"] in {"too_complex", "too_large"}
    assert "(limits." in response.json()["error_description"]
    assert not sparql.ask("ASK { ?s ?p ?o }")


@pytest.mark.parametrize("name", PATTERNS)
def test_a_subscription_that_would_end_the_process_is_refused(broker, name):
    """The error has its alias, and the socket goes on."""
    with Subscriber(broker.ws) as client:
        heard = client.exchange({"subscribe": {"sparql": f"SELECT * {{ {PATTERNS[name]} }}", "alias": "a"}})

        assert (heard["error"], heard["alias"]) == ("too_complex", "a")
        assert heard["status_code"] == 400
        assert "(limits." in heard["error_description"]
        assert client.subscribe("ASK {}")["sequence"] == 0


@pytest.mark.parametrize(
    "form", ["INSERT DATA {{ {} }}", "INSERT {{ {} }} WHERE {{}}", "DELETE WHERE {{ {} }}"]
)
@pytest.mark.parametrize("name", DATA)
def test_data_that_would_end_the_process_is_refused(sparql, name, form):
    """In data and templates too."""
    response = sparql.try_update(form.format(DATA[name]))

    assert response.status_code == 400
    assert not sparql.ask("ASK { ?s ?p ?o }")


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://ex/"'
DOCUMENTS = {
    "text/turtle": f"<s> <p> {nested('<<( <s> <p> ', '1', ' )>>')} .",
    "application/ld+json": nested('{"http://ex/p":', "1", "}"),
    "application/rdf+xml": f"<rdf:RDF {RDF}>{nested('<e:A><e:p>', '', '</e:p></e:A>')}</rdf:RDF>",
    "application/rdf+xml; laughs=1": (
        f'<!DOCTYPE x [<!ENTITY l0 "ha">{LAUGHS}]><rdf:RDF {RDF}><e:A><e:p>&l11;</e:p></e:A></rdf:RDF>'
    ),
}


@pytest.mark.parametrize("media_type", DOCUMENTS)
def test_a_document_that_would_end_the_process_is_refused(sparql, media_type):
    """Triple terms, JSON and XML that nest, entities that multiply each other."""
    headers = {"Content-Type": media_type}
    response = sparql.http.post("/rdf-graph-store?default", content=DOCUMENTS[media_type], headers=headers)

    assert response.status_code == 400, response.text
    assert not sparql.ask("ASK { ?s ?p ?o }")


@pytest.mark.parametrize("text", [nested("[ <p> ", "1", "]"), nested("(", "1", ")")])
def test_a_document_of_turtle_may_nest(sparql, text):
    """Its reader does not recurse."""
    headers = {"Content-Type": "text/turtle"}
    url = "/rdf-graph-store?graph=http://ex/g"

    assert sparql.http.put(url, content=f"<s> <p> {text} .", headers=headers).status_code == 201
    assert int(sparql.rows("SELECT (COUNT(*) AS ?n) { GRAPH <http://ex/g> { ?s ?p ?o } }")[0]["n"]) > DEEP
    assert sparql.http.delete(url).status_code == 204


def test_what_is_near_the_limits_is_answered(sparql):
    """The guards are not in the way of anybody's real query."""
    star = " ".join(f"OPTIONAL {{ ?s <p{number}> ?o{number} }}" for number in range(30))

    assert sparql.query(f"SELECT * {{ ?s a <T> {star} }}").status_code == 200
    assert sparql.query(f"ASK {{ FILTER({nested('(', '1', ')', 100)}) }}").status_code == 200
    assert sparql.query(f"ASK {{ FILTER(1 {'&& 1 ' * 500}) }}").status_code == 200
    assert sparql.query(f"ASK {{ VALUES ?x {{ {'1 ' * 20_000} }} }}").status_code == 200
