"""The query operation over HTTP: SPARQL 1.1 Protocol, 2.1."""

from __future__ import annotations

import pytest
from support.raw import Raw
from support.running import RunningBroker

pytestmark = pytest.mark.xdist_group("gates-query")

XSD = "http://www.w3.org/2001/XMLSchema#"
FORM, QUERY = "application/x-www-form-urlencoded", "application/sparql-query"
WHERE_FROM = "SELECT ?o FROM <http://ex/a> WHERE { ?s ?p ?o }"
NAMED = "SELECT ?g FROM NAMED <http://ex/a> WHERE { GRAPH ?g { ?s ?p ?o } }"


@pytest.fixture(scope="module", autouse=True)
def dataset(sparql):
    """One triple in the default graph and in each of two named graphs."""
    sparql.update("""INSERT DATA {
      <http://ex/s> <http://ex/p> "default" .
      GRAPH <http://ex/a> { <http://ex/s> <http://ex/p> "a" }
      GRAPH <http://ex/b> { <http://ex/s> <http://ex/p> "b" }
    }""")


def ways(path):
    """The three ways to send a query, each a function of client, query and dataset parameters."""
    return {
        "get": lambda client, text, graphs: client.get(path, params={"query": text, **graphs}),
        "form": lambda client, text, graphs: client.post(path, data={"query": text, **graphs}),
        "direct": lambda client, text, graphs: client.post(
            path, content=text, params=graphs, headers={"Content-Type": QUERY}
        ),
    }


EVERY_WAY = pytest.mark.parametrize(
    "ask",
    [
        pytest.param(way, id=f"{path}-{name}")
        for path in ("/query", "/sparql", "/secure/query")
        for name, way in ways(path).items()
    ],
)


def objects(response):
    """The one-column answer of a SELECT."""
    assert response.status_code == 200, response.text
    return sorted(term["value"] for row in response.json()["results"]["bindings"] for term in row.values())


@EVERY_WAY
def test_a_query_is_answered_however_it_is_sent(sparql, ask):
    """GET, form POST and direct POST; all give results in JSON where nothing else is asked for."""
    response = ask(sparql.http, 'SELECT ?o WHERE { ?s ?p ?o FILTER(?o != "+&=%ÄΩ") }', {})

    assert objects(response) == ["default"]
    assert response.headers["content-type"] == "application/sparql-results+json"
    assert response.json()["head"] == {"vars": ["o"]}


@EVERY_WAY
@pytest.mark.parametrize("text", ["SELECT ?o WHERE { ?s ?p ?o }", WHERE_FROM])
def test_default_graph_uri_is_the_default_graph_whatever_from_says(sparql, ask, text):
    """Several are merged (2.1.4)."""
    assert objects(ask(sparql.http, text, {"default-graph-uri": "http://ex/b"})) == ["b"]
    assert objects(ask(sparql.http, text, {"default-graph-uri": ["http://ex/a", "http://ex/b"]})) == [
        "a",
        "b",
    ]


@EVERY_WAY
@pytest.mark.parametrize("text", ["SELECT ?g WHERE { GRAPH ?g { ?s ?p ?o } }", NAMED])
def test_named_graph_uri_lists_the_named_graphs_whatever_from_named_says(sparql, ask, text):
    """What is not listed is not in the dataset."""
    assert objects(ask(sparql.http, text, {"named-graph-uri": "http://ex/b"})) == ["http://ex/b"]
    assert objects(ask(sparql.http, text, {"default-graph-uri": "http://ex/b"})) == []


@EVERY_WAY
def test_from_holds_where_the_request_names_no_dataset(sparql, ask):
    """FROM alone leaves no named graphs."""
    assert objects(ask(sparql.http, WHERE_FROM, {})) == ["a"]
    assert objects(ask(sparql.http, "SELECT ?g FROM <http://ex/a> { GRAPH ?g { ?s ?p ?o } }", {})) == []


def test_a_text_that_looks_like_parameters_is_not_taken_apart(sparql):
    """Percent-encoding is undone once, and only the form's own & and = count."""
    literal = "100%25 &query=x&update=y;+ü"
    response = sparql.http.post(
        "/sparql", data={"default-graph-uri": "http://ex/a", "query": f'SELECT ("{literal}" AS ?o) {{}}'}
    )

    assert objects(response) == [literal]


@pytest.mark.parametrize(
    "media_type",
    [
        "application/sparql-query; charset=UTF-8",
        'Application/SPARQL-Query;charset="utf-8"',
        "application/sparql-query ; foo=bar ; Charset=utf-8",
        "APPLICATION/SPARQL-QUERY",
    ],
)
@pytest.mark.parametrize("path", ["/query", "/sparql"])
def test_parameters_and_case_of_the_media_type_do_not_matter(sparql, path, media_type):
    """RFC 9110, 8.3.1."""
    response = sparql.http.post(
        path, content="SELECT ('é' AS ?o) {}".encode(), headers={"Content-Type": media_type}
    )

    assert objects(response) == ["é"]


@pytest.mark.parametrize("media_type", [f"{FORM}; charset=UTF-8", "Application/X-WWW-Form-URLencoded"])
@pytest.mark.parametrize("path", ["/query", "/sparql"])
def test_parameters_and_case_of_a_forms_media_type_do_not_matter(sparql, path, media_type):
    """As browsers and Java send it."""
    response = sparql.http.post(
        path, content=b"query=SELECT+('%C3%A9'+AS+%3Fo)+%7B%7D", headers={"Content-Type": media_type}
    )

    assert objects(response) == ["é"]


def test_an_ask_is_answered_with_a_boolean(sparql):
    """And has a head, which some clients look for."""
    assert sparql.query("ASK { ?s ?p 'default' }").json() == {"head": {}, "boolean": True}
    assert sparql.query("ASK { ?s ?p 'other' }").json() == {"head": {}, "boolean": False}


def test_the_columns_of_select_star_come_as_they_appear(sparql):
    """Oxigraph has them in alphabetical order; SEPA's users, and the W3C tests, as in the text."""
    assert sparql.query("SELECT * { ?z ?p ?a }").json()["head"]["vars"] == ["z", "p", "a"]


def test_relative_iris_and_the_usual_prefixes_are_known(sparql):
    """SEPA's clients write <hello> and xsd:string without a BASE or PREFIX."""
    assert sparql.rows("SELECT (<hello> AS ?x) (xsd:string AS ?y) {}") == [
        {"x": "http://localhost/hello", "y": f"{XSD}string"}
    ]


def test_a_head_has_the_headers_of_a_get_and_no_body(sparql):
    """The length of what would have come is told."""
    asked = {"query": "SELECT ?o WHERE { ?s ?p ?o }"}
    head, got = sparql.http.head("/query", params=asked), sparql.http.get("/query", params=asked)

    assert head.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == str(len(got.content))
    assert head.headers["content-type"] == got.headers["content-type"]


def test_a_head_of_a_bad_query_has_its_status(sparql):
    """The error's body is left out too."""
    response = sparql.http.head("/query", params={"query": "SELECT"})

    assert (response.status_code, response.content) == (400, b"")


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_other_methods_are_told_which_there_are(sparql, method):
    """405 with Allow (RFC 9110, 15.5.6)."""
    response = sparql.http.request(method, "/query", params={"query": "ASK {}"})

    assert response.status_code == 405
    assert response.headers["allow"] == "GET, HEAD, POST, OPTIONS"
    assert response.json()["error"] == "method_not_allowed"


def test_a_syntax_error_tells_line_column_and_what_stands_there(sparql):
    """In SEPA's flat error object."""
    response = sparql.query("SELECT ?x WHERE {\n  ?x nope:p ?z }")

    assert response.status_code == 400
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert response.json()["error"] == "parsing failed"
    assert response.json()["status_code"] == 400
    assert "line 2, column 12, near '?z }'" in response.json()["error_description"]
    assert "Prefix not found" in response.json()["error_description"]


def test_a_body_that_no_query_can_have_is_not_read():
    """Its length tells; updates may be longer."""
    broker = RunningBroker.start("--set", "limits.query_chars=1000")
    try:
        for media in ("application/sparql-query", "application/x-www-form-urlencoded"):
            head = (
                f"POST /query HTTP/1.1\r\nHost: x\r\nContent-Type: {media}\r\nContent-Length: 1000000\r\n\r\n"
            )
            with Raw(broker.http) as raw:
                raw.send(head)
                status, _, body = raw.response("POST")
                assert status == 413
                assert b"limits.query_chars" in body
    finally:
        broker.stop()
