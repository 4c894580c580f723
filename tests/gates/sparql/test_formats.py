"""Content negotiation: each form of answer in each of its formats, and the one that Accept wants most."""

from __future__ import annotations

import csv
import io
import json
from xml.etree import ElementTree as ET

import pyoxigraph
import pytest
from pyoxigraph import RdfFormat

pytestmark = pytest.mark.xdist_group("gates-formats")

JSON, XML = "application/sparql-results+json", "application/sparql-results+xml"
CSV, TSV = "text/csv; charset=utf-8", "text/tab-separated-values; charset=utf-8"
TURTLE, TRIPLES = "text/turtle; charset=utf-8", "application/n-triples; charset=utf-8"
SELECT = "SELECT ?s ?o WHERE { ?s ?p ?o }"
CONSTRUCT = "CONSTRUCT WHERE { ?s ?p ?o }"
# What a browser sends.
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


@pytest.fixture(scope="module", autouse=True)
def dataset(sparql):
    """One triple, with a text that each format must escape."""
    sparql.update("""INSERT DATA { <http://ex/s> <http://ex/p> "a\\"b,\\t<é>"@en }""")


RESULTS = {
    None: JSON,
    "": JSON,
    "*/*": JSON,
    "application/*": JSON,
    JSON: JSON,
    "application/json": JSON,
    "application/json, text/plain, */*": JSON,  # axios
    "Application/JSON": JSON,
    XML: XML,
    "application/xml": XML,
    "text/xml": XML,
    BROWSER: XML,
    "text/csv": CSV,
    "text/*": CSV,
    "text/tab-separated-values": TSV,
    "text/csv;q=0.5, text/tab-separated-values": TSV,
    f"{XML};q=0.5, {JSON};q=0.4": XML,
    f"{JSON};q=0.1, */*;q=0.2": XML,
    f"{JSON};q=0, {XML};q=0, */*": CSV,
    "application/rdf+xml, text/csv;q=0.1": CSV,
    f"{XML};version=2; q=0.9, text/csv;q=0.95": CSV,
    "text/turtle, */*;q=0.1": JSON,
}
GRAPHS = {
    None: TURTLE,
    "*/*": TURTLE,
    "text/turtle": TURTLE,
    "application/x-turtle": TURTLE,
    "text/*": TURTLE,
    "application/n-triples": TRIPLES,
    "text/plain": TRIPLES,
    "application/rdf+xml": "application/rdf+xml",
    "text/xml": "application/rdf+xml",
    "application/ld+json": "application/ld+json",
    "application/json": "application/ld+json",
    "text/n3": "text/n3; charset=utf-8",
    "application/trig": "application/trig; charset=utf-8",
    "application/n-quads": "application/n-quads; charset=utf-8",
    "text/turtle;q=0.3, application/n-triples;q=0.7": TRIPLES,
    "application/*;q=0.5, text/turtle;q=0.4": TRIPLES,
    f"{JSON}, application/rdf+xml;q=0.2": "application/rdf+xml",
}


def asked(sparql, query, accept):
    """The answer to a query with this Accept header, or without one."""
    request = sparql.http.build_request("GET", "/query", params={"query": query})
    del request.headers["accept"]
    if accept is not None:
        request.headers["Accept"] = accept
    return sparql.http.send(request)


@pytest.mark.parametrize(("accept", "content_type"), RESULTS.items())
def test_results_come_in_the_format_that_accept_wants_most(sparql, accept, content_type):
    """RFC 9110, 12.5.1: the most specific range counts; JSON where it is all the same."""
    response = asked(sparql, SELECT, accept)

    assert response.status_code == 200
    assert response.headers["content-type"] == content_type
    assert "Accept" in response.headers["vary"]


@pytest.mark.parametrize(("accept", "content_type"), GRAPHS.items())
def test_triples_come_in_the_format_that_accept_wants_most(sparql, accept, content_type):
    """Turtle where it is all the same."""
    for query in (CONSTRUCT, "DESCRIBE <http://ex/s>"):
        response = asked(sparql, query, accept)

        assert response.status_code == 200
        assert response.headers["content-type"] == content_type


@pytest.mark.parametrize(
    ("query", "accept", "offered"),
    [
        (SELECT, "text/turtle", JSON),
        (SELECT, f"{JSON};q=0", XML),
        (SELECT, "*/*;q=0", "text/csv"),
        (SELECT, "image/*", JSON),
        (SELECT, "text", JSON),
        (SELECT, "application/json;q=nonsense", JSON),
        ("ASK {}", "application/rdf+xml", JSON),
        (CONSTRUCT, JSON, "text/turtle"),
        (CONSTRUCT, "text/csv", "application/n-triples"),
    ],
)
def test_what_cannot_be_made_is_refused_with_what_can(sparql, query, accept, offered):
    """406, and the list."""
    response = asked(sparql, query, accept)

    assert response.status_code == 406
    assert response.json()["error"] == "not_acceptable"
    assert offered in response.json()["error_description"]


def test_each_format_of_results_holds_the_same_rows(sparql):
    """JSON, XML, CSV and TSV."""
    value = 'a"b,\t<é>'
    [row] = json.loads(asked(sparql, SELECT, JSON).content)["results"]["bindings"]
    assert row == {
        "s": {"type": "uri", "value": "http://ex/s"},
        "o": {"type": "literal", "value": value, "xml:lang": "en"},
    }
    tree = ET.fromstring(asked(sparql, SELECT, XML).content)
    literal = tree.find(".//{http://www.w3.org/2005/sparql-results#}literal")
    assert literal is not None
    assert literal.text == value
    assert list(csv.reader(io.StringIO(asked(sparql, SELECT, CSV).text))) == [
        ["s", "o"],
        ["http://ex/s", value],
    ]
    assert asked(sparql, SELECT, TSV).text == '?s\t?o\n<http://ex/s>\t"a\\"b,\\t<é>"@en\n'


@pytest.mark.parametrize(
    "format_",
    [
        RdfFormat.TURTLE,
        RdfFormat.N_TRIPLES,
        RdfFormat.RDF_XML,
        RdfFormat.JSON_LD,
        RdfFormat.N3,
        RdfFormat.TRIG,
        RdfFormat.N_QUADS,
    ],
    ids=str,
)
def test_each_format_of_triples_holds_the_same_triples(sparql, format_):
    """Seven formats, as Oxigraph reads them again."""
    response = asked(sparql, CONSTRUCT, format_.media_type)
    [quad] = pyoxigraph.parse(response.content, format=format_)

    assert str(quad.triple) == '<http://ex/s> <http://ex/p> "a\\"b,\\t<é>"@en'


@pytest.mark.parametrize("accept", [JSON, XML])
def test_an_ask_can_be_had_in_every_format(sparql, accept):
    """Of CSV and TSV the standard says nothing; a word is better than an error."""
    assert b"true" in asked(sparql, "ASK { ?s ?p ?o }", accept).content
    assert asked(sparql, "ASK { ?s ?p ?o }", "text/csv").text == "true"
    assert asked(sparql, "ASK { ?s ?p ?o }", "text/tab-separated-values").text == "true"


def test_several_accept_headers_are_one_list(sparql):
    """RFC 9110, 5.3."""
    response = sparql.http.get(
        "/query", params={"query": SELECT}, headers=[("Accept", "image/png"), ("Accept", "text/csv;q=0.2")]
    )

    assert response.headers["content-type"] == CSV
