"""The SPARQL 1.1 Graph Store HTTP Protocol."""

from __future__ import annotations

import pyoxigraph
import pytest
from pyoxigraph import RdfFormat

pytestmark = pytest.mark.xdist_group("gates-graph-store")

STORE, TURTLE = "/rdf-graph-store", {"Content-Type": "text/turtle"}
G = {"graph": "http://ex/g"}


@pytest.fixture(autouse=True)
def empty(sparql):
    """Nothing is there."""
    sparql.update("DROP ALL")


@pytest.fixture
def put(sparql):
    """PUT a document of Turtle."""
    return lambda text, url=STORE, **graph: sparql.http.put(
        url, content=text, params=graph or None, headers=TURTLE
    )


def texts(sparql, graph=None):
    """The objects in a graph."""
    where = f"GRAPH <{graph}> {{ ?s ?p ?o }}" if graph else "?s ?p ?o"
    return sorted(row["o"] for row in sparql.rows(f"SELECT ?o {{ {where} }}"))


def test_a_put_makes_a_graph_and_replaces_it(sparql, put):
    """201 for a new one, 204 for one that was there; what was in it is gone."""
    assert put("<s> <p> 1, 2 .", graph="http://ex/g").status_code == 201
    assert put("<s> <p> 3 .", graph="http://ex/g").status_code == 204
    assert texts(sparql, "http://ex/g") == ["3"]


def test_a_post_merges(sparql, put):
    """201 for a new graph, 204 for one that was there."""
    assert sparql.http.post(STORE, content="<s> <p> 1 .", params=G, headers=TURTLE).status_code == 201
    assert sparql.http.post(STORE, content="<s> <p> 2 .", params=G, headers=TURTLE).status_code == 204
    assert texts(sparql, "http://ex/g") == ["1", "2"]


def test_a_get_gives_the_graph_in_the_format_that_is_asked_for(sparql, put):
    """Turtle where it is all the same."""
    put("<http://ex/s> <http://ex/p> 'é' .", graph="http://ex/g")
    plain = sparql.http.get(STORE, params=G)
    triples = sparql.http.get(STORE, params=G, headers={"Accept": "application/n-triples"})

    assert plain.headers["content-type"] == "text/turtle; charset=utf-8"
    assert len(list(pyoxigraph.parse(plain.content, format=RdfFormat.TURTLE))) == 1
    assert triples.text == '<http://ex/s> <http://ex/p> "é" .\n'
    assert sparql.http.get(STORE, params=G, headers={"Accept": "text/csv"}).status_code == 406


def test_a_graph_that_is_not_there_is_not_found(sparql):
    """404 for GET, HEAD and DELETE."""
    for method in ("GET", "HEAD", "DELETE"):
        response = sparql.http.request(method, STORE, params=G)

        assert response.status_code == 404
        if method != "HEAD":
            assert "there is no graph <http://ex/g>" in response.json()["error_description"]


def test_a_head_has_the_headers_of_a_get(sparql, put):
    """And no body."""
    put("<s> <p> 1 .", graph="http://ex/g")
    head, got = sparql.http.head(STORE, params=G), sparql.http.get(STORE, params=G)

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(got.content))


def test_a_delete_drops_the_graph(sparql, put):
    """An empty graph is there until it is dropped."""
    assert put("", graph="http://ex/g").status_code == 201
    assert sparql.http.get(STORE, params=G).status_code == 200
    assert sparql.http.delete(STORE, params=G).status_code == 204
    assert sparql.http.get(STORE, params=G).status_code == 404


def test_the_default_graph_is_always_there(sparql, put):
    """It is never new, and DELETE empties it."""
    assert sparql.http.get(f"{STORE}?default").status_code == 200
    assert put("<s> <p> 1 .", f"{STORE}?default").status_code == 204
    assert sparql.http.post(f"{STORE}?default", content="<s> <p> 2 .", headers=TURTLE).status_code == 204
    assert texts(sparql) == ["1", "2"]
    assert sparql.http.delete(f"{STORE}?default").status_code == 204
    assert texts(sparql) == []


@pytest.mark.parametrize(
    "path", ["/rdf-graph-store/people/1", "/rdf-graph-store/caf%C3%A9", "/secure/rdf-graph-store/x"]
)
def test_a_graph_can_be_named_by_its_own_url(broker, sparql, put, path):
    """Direct identification (4.1): the request's URL is the graph's IRI."""
    assert put("<> <p> 1 .", path).status_code == 201
    assert texts(sparql, f"{broker.http}{path}") == ["1"]
    assert sparql.ask(f"ASK {{ GRAPH ?g {{ <{broker.http}{path}> ?p ?o }} }}")
    assert sparql.http.get(path).status_code == 200
    assert sparql.http.get(STORE, params={"graph": f"{broker.http}{path}"}).status_code == 200
    assert sparql.http.delete(path).status_code == 204


@pytest.mark.parametrize(
    "iri",
    [
        "http://ex/ns#",
        "http://ex/ns?",
        "HTTP://ex/G",
        "urn:x:y",
        "http://ex/a/../b",
        "http://ex/%7Ea",
        "mailto:a@b",
    ],
)
def test_an_absolute_graph_iri_is_taken_as_it_is(sparql, put, iri):
    """IRIs are compared letter by letter; SPARQL must find the graph under the same one."""
    assert put("<s> <p> 1 .", graph=iri).status_code == 201
    assert sparql.rows("SELECT ?g { GRAPH ?g {} }") == [{"g": iri}]


def test_a_relative_graph_iri_is_resolved_against_the_store(broker, sparql, put):
    """4.2: the base is the request's URL."""
    assert put("<s> <p> 1 .", graph="people/1").status_code == 201
    assert texts(sparql, f"{broker.http}/people/1") == ["1"]


def test_a_post_to_the_store_makes_a_graph_and_tells_where(sparql):
    """5.5: 201 with Location, which can be read, and is the base of the document."""
    first = sparql.http.post(STORE, content="<> <p> 1 .", headers=TURTLE)
    second = sparql.http.post(f"{STORE}/", content="<> <p> 2 .", headers=TURTLE)
    where = first.headers["location"]

    assert (first.status_code, second.status_code) == (201, 201)
    assert where != second.headers["location"]
    assert sparql.http.get(where).status_code == 200
    assert sparql.ask(f"ASK {{ GRAPH <{where}> {{ <{where}> ?p 1 }} }}")


def test_a_multipart_form_holds_several_documents(sparql):
    """5.5: each in its own format; blank nodes of the same label stay apart."""
    parts = [
        ("a", ("a.ttl", "_:x <http://ex/p> 'é', _:x .", "text/turtle")),
        ("b", ("b.nt", '_:x <http://ex/p> "b" .\n', "application/n-triples")),
    ]
    response = sparql.http.post(STORE, params=G, files=parts)

    assert response.status_code == 201, response.text
    assert sparql.rows(
        "SELECT (COUNT(*) AS ?n) (COUNT(DISTINCT ?s) AS ?m) { GRAPH <http://ex/g> { ?s ?p ?o } }"
    ) == [{"n": "3", "m": "2"}]
    assert "é" in texts(sparql, "http://ex/g")


@pytest.mark.parametrize(
    ("media_type", "text"),
    [
        ("text/turtle; charset=UTF-8", "<http://ex/s> a <http://ex/é> ."),
        ("application/n-triples", "<http://ex/s> <http://ex/p> <http://ex/é> .\n"),
        ("Text/N3", "<http://ex/s> a <http://ex/é> ."),
        ("application/trig", "<http://ex/s> a <http://ex/é> ."),
        ("application/n-quads", "<http://ex/s> <http://ex/p> <http://ex/é> .\n"),
        ("application/ld+json", '{"@id": "http://ex/s", "http://ex/p": {"@id": "http://ex/é"}}'),
        (
            "application/rdf+xml",
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://ex/">'
            '<rdf:Description rdf:about="http://ex/s"><e:p rdf:resource="http://ex/é"/></rdf:Description></rdf:RDF>',
        ),
    ],
)
def test_each_format_of_rdf_is_read(sparql, media_type, text):
    """The seven that are written."""
    response = sparql.http.put(STORE, params=G, content=text.encode(), headers={"Content-Type": media_type})

    assert response.status_code == 201, response.text
    assert sparql.rows("SELECT ?s ?o { GRAPH <http://ex/g> { ?s ?p ?o } }") == [
        {"s": "http://ex/s", "o": "http://ex/é"}
    ]


@pytest.mark.parametrize(
    ("media_type", "text", "place"),
    [
        ("text/turtle", "<http://ex/s> <http://ex/p> 1 .\n<http://ex/s> 'no' 1 .", "line 2"),
        ("application/n-triples", "<http://ex/s> <http://ex/p> <http://ex/o> .\nnonsense\n", "line 2"),
        ("application/rdf+xml", "<rdf>", "RDF/XML"),
        ("application/ld+json", '{"@id": ', "JSON-LD"),
        (
            "application/n-quads",
            "<http://ex/s> <http://ex/p> <http://ex/o> <http://ex/h> .\n",
            "named graphs",
        ),
    ],
)
def test_a_bad_document_is_refused_with_its_place(sparql, put, media_type, text, place):
    """400, and the graph is as it was: nothing of a half-read document stays."""
    put("<s> <p> 'before' .", graph="http://ex/g")
    response = sparql.http.put(STORE, params=G, content=text, headers={"Content-Type": media_type})

    assert response.status_code == 400
    assert place in response.json()["error_description"]
    assert texts(sparql, "http://ex/g") == ["before"]
