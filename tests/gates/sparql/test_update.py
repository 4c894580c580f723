"""The update operation over HTTP: SPARQL 1.1 Protocol, 2.2."""

from __future__ import annotations

import httpx
import pytest

pytestmark = pytest.mark.xdist_group("gates-update")

UPDATE = "application/sparql-update"
COPY = "INSERT { <http://ex/copied> <http://ex/p> ?o } WHERE { <http://ex/s> <http://ex/p> ?o }"
COPIED = "SELECT ?o WHERE { <http://ex/copied> <http://ex/p> ?o }"


@pytest.fixture(autouse=True)
def dataset(sparql):
    """One triple in the default graph and in each of two named graphs."""
    sparql.update("""DROP ALL; INSERT DATA {
      <http://ex/s> <http://ex/p> "default" .
      GRAPH <http://ex/a> { <http://ex/s> <http://ex/p> "a" }
      GRAPH <http://ex/b> { <http://ex/s> <http://ex/p> "b" }
    }""")


def ways(path):
    """The two ways to send an update, each a function of client, update and dataset parameters."""
    return {
        "form": lambda client, text, graphs: client.post(path, data={"update": text, **graphs}),
        "direct": lambda client, text, graphs: client.post(
            path, content=text, params=graphs, headers={"Content-Type": UPDATE}
        ),
    }


EVERY_WAY = pytest.mark.parametrize(
    "send",
    [
        pytest.param(way, id=f"{path}-{name}")
        for path in ("/update", "/sparql", "/secure/update", "/secure/sparql")
        for name, way in ways(path).items()
    ],
)


def copied(sparql):
    return sorted(row["o"] for row in sparql.rows(COPIED))


@EVERY_WAY
def test_an_update_is_answered_with_200_and_json(sparql, send):
    """Never 204: SEPA's Java client wants an entity, sepy wants 200; the members are those of SEPA's engine."""
    response = send(sparql.http, 'INSERT DATA { <http://ex/copied> <http://ex/p> "+&=%ÄΩ" }', {})

    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert response.json() == {"response": {"body": "Update done, 0 notifications", "isJson": False}}
    assert copied(sparql) == ["+&=%ÄΩ"]


@EVERY_WAY
def test_using_graph_uri_is_the_dataset_of_where(sparql, send):
    """Several are merged; without one the default graph is asked."""
    assert send(sparql.http, COPY, {"using-graph-uri": ["http://ex/a", "http://ex/b"]}).status_code == 200
    assert copied(sparql) == ["a", "b"]
    assert send(sparql.http, COPY, {}).status_code == 200
    assert copied(sparql) == ["a", "b", "default"]


@EVERY_WAY
def test_using_named_graph_uri_lists_the_named_graphs_of_where(sparql, send):
    """What is not listed is not seen."""
    text = "INSERT { <http://ex/copied> <http://ex/p> ?g } WHERE { GRAPH ?g { ?s ?p ?o } }"

    assert send(sparql.http, text, {"using-named-graph-uri": "http://ex/b"}).status_code == 200
    assert copied(sparql) == ["http://ex/b"]


@EVERY_WAY
@pytest.mark.parametrize(
    "text",
    [
        "INSERT { ?s ?p ?o } USING <http://ex/a> WHERE { ?s ?p ?o }",
        "DELETE { ?s ?p ?o } USING NAMED <http://ex/a> WHERE { ?s ?p ?o }",
        "WITH <http://ex/a> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
    ],
)
@pytest.mark.parametrize("parameter", ["using-graph-uri", "using-named-graph-uri"])
def test_a_dataset_in_two_places_is_refused(sparql, send, text, parameter):
    """2.2.3: the parameters and USING or WITH exclude each other; nothing is changed."""
    response = send(sparql.http, text, {parameter: "http://ex/b"})

    assert response.status_code == 400
    assert "one place" in response.json()["error_description"]
    assert sparql.rows("SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }") == [{"n": "2"}]


@EVERY_WAY
def test_delete_where_heeds_using_graph_uri(sparql, send):
    """Its pattern is asked of the dataset, its template deletes from the default graph."""
    sparql.update('INSERT DATA { <http://ex/s> <http://ex/p> "a" }')
    response = send(sparql.http, "DELETE WHERE { ?s ?p ?o }", {"using-graph-uri": "http://ex/a"})

    assert response.status_code == 200
    assert sparql.rows("SELECT ?o { ?s ?p ?o }") == [{"o": "default"}]


@pytest.mark.parametrize(
    "media_type",
    [
        "application/sparql-update; charset=UTF-8",
        'Application/SPARQL-Update;charset="utf-8"',
        "application/sparql-update;foo=bar",
    ],
)
@pytest.mark.parametrize("path", ["/update", "/sparql"])
def test_parameters_and_case_of_the_media_type_do_not_matter(sparql, path, media_type):
    """RFC 9110, 8.3.1."""
    text = 'INSERT DATA { <http://ex/copied> <http://ex/p> "é" }'
    response = sparql.http.post(path, content=text.encode(), headers={"Content-Type": media_type})

    assert response.status_code == 200
    assert copied(sparql) == ["é"]


@pytest.mark.parametrize(
    "accept", ["application/json", "application/sparql-results+json", "text/html", "text/csv"]
)
def test_the_answer_is_json_whatever_is_accepted(sparql, accept):
    """Clients send the Accept of their queries here too; there is nothing to choose from."""
    response = sparql.http.post(
        "/update", content="INSERT DATA {}", headers={"Content-Type": UPDATE, "Accept": accept}
    )

    assert response.status_code == 200
    assert response.json()["response"]["isJson"] is False


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
def test_an_update_is_posted(sparql, method):
    """405 with Allow; nothing is changed."""
    response = sparql.http.request(method, "/update", params={"update": "DROP ALL"})

    assert response.status_code == 405
    assert response.headers["allow"] == "POST, OPTIONS"
    assert sparql.ask("ASK { ?s ?p ?o }")


def test_an_empty_update_is_an_update_without_operations(sparql):
    """As the grammar has it."""
    assert sparql.try_update("").status_code == 200
    assert sparql.try_update("PREFIX ex: <http://ex/>").status_code == 200


def test_relative_iris_resolve_as_in_queries(sparql):
    """SEPA's clients write <hello> and mean the same on both paths."""
    sparql.update("INSERT DATA { <hello> <from> 'js' }")

    assert sparql.ask("ASK { <hello> <from> 'js' }")
    assert sparql.ask("ASK { <http://localhost/hello> <http://localhost/from> 'js' }")


@pytest.mark.parametrize(
    "asked",
    [{"params": {"quads": "true"}}, {"headers": {"Prefer": "return=representation"}}],
    ids=["url", "header"],
)
def test_the_answer_carries_the_quads_when_asked(broker, asked):
    """Exactly what was added and removed, in the shape of SEPA's engine; what was so already is not there."""
    url = f"{broker.http}/update"
    httpx.post(url, data={"update": "DROP ALL ; INSERT DATA { <urn:a> <urn:p> 1 }"})
    text = "DELETE DATA { <urn:a> <urn:p> 1, 5 } ; INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:p> 2 } }"
    headers = {"Content-Type": "application/sparql-update", **asked.get("headers", {})}
    found = httpx.post(url, content=text, params=asked.get("params"), headers=headers).json()
    (added,), (removed,) = found["quads"]["added"], found["quads"]["removed"]
    assert added["graph"] == {"type": "uri", "value": "urn:g"}
    assert added["object"]["value"] == "2"
    assert removed["graph"] == {"type": "uri", "value": "urn:x-arq:DefaultGraphNode"}
    assert removed["subject"] == {"type": "uri", "value": "urn:a"}
    assert found["response"]["isJson"] is False


def test_the_answer_has_no_quads_unasked(broker):
    """A load of a million triples is not sent back."""
    found = httpx.post(f"{broker.http}/update", data={"update": "INSERT DATA { <urn:a> <urn:p> 3 }"}).json()
    assert "quads" not in found
