"""The service description: what a GET without a query gives (SPARQL 1.1 Service Description, 2)."""

from __future__ import annotations

import pyoxigraph
import pytest
from pyoxigraph import NamedNode, RdfFormat

pytestmark = pytest.mark.xdist_group("gates-endpoint")

SD = "http://www.w3.org/ns/sparql-service-description#"


@pytest.mark.parametrize(
    "format_", [RdfFormat.TURTLE, RdfFormat.RDF_XML, RdfFormat.JSON_LD, RdfFormat.N_TRIPLES], ids=str
)
@pytest.mark.parametrize("path", ["/sparql", "/query", "/secure/sparql"])
def test_the_service_describes_itself(broker, sparql, path, format_):
    """It names its own URL, its languages and its formats, in the format that is asked for."""
    response = sparql.http.get(path, headers={"Accept": format_.media_type})
    triples = [quad.triple for quad in pyoxigraph.parse(response.content, format=format_)]
    found = {(triple.predicate.value, triple.object) for triple in triples}

    assert response.status_code == 200
    assert response.headers["content-type"].startswith(format_.media_type)
    assert (f"{SD}endpoint", NamedNode(f"{broker.http}{path}")) in found
    assert (f"{SD}supportedLanguage", NamedNode(f"{SD}SPARQL11Query")) in found
    updates = (f"{SD}supportedLanguage", NamedNode(f"{SD}SPARQL11Update")) in found
    assert updates == path.endswith("/sparql")
    assert (f"{SD}resultFormat", NamedNode("http://www.w3.org/ns/formats/SPARQL_Results_JSON")) in found
    assert (f"{SD}inputFormat", NamedNode("http://www.w3.org/ns/formats/Turtle")) in found


def test_the_description_is_turtle_where_it_is_all_the_same(sparql):
    """Also for a HEAD, which has no body."""
    got, head = sparql.http.get("/sparql"), sparql.http.head("/sparql")

    assert got.headers["content-type"] == head.headers["content-type"] == "text/turtle; charset=utf-8"
    assert head.headers["content-length"] == str(len(got.content))
    assert head.content == b""


def test_a_format_of_results_cannot_describe(sparql):
    """The description is RDF."""
    response = sparql.http.get("/sparql", headers={"Accept": "text/csv"})

    assert response.status_code == 406
    assert "text/turtle" in response.json()["error_description"]


def test_the_endpoint_is_named_as_the_client_reached_it(sparql):
    """Behind a proxy the Host header tells the public name."""
    response = sparql.http.get("/sparql", headers={"Host": "sparql.example.org"})

    assert "<http://sparql.example.org/sparql>" in response.text
