"""A path leads to its gate, also under /secure and with a slash at its end; what leads nowhere is told so."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.xdist_group("gates-http")


@pytest.mark.parametrize(
    "path", ["/query", "/query/", "/secure/query", "/secure/query/", "/sparql", "/secure/sparql", "/%71uery"]
)
def test_a_query_path_answers_queries(sparql, path):
    """SEPA's clients use /secure; a slash at the end is no reason to fail."""
    assert sparql.http.get(path, params={"query": "ASK {}"}).json()["boolean"] is True


@pytest.mark.parametrize("path", ["/update", "/update/", "/secure/update", "/secure/sparql"])
def test_an_update_path_takes_updates(sparql, path):
    """The same gate under each."""
    assert sparql.http.post(path, data={"update": "INSERT DATA {}"}).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/nowhere",
        "/Query",
        "/querying",
        "/securequery",
        "/secure",
        "/secure/nowhere",
        "/query/x",
        "/rdf-graph-storex",
        "/caf%C3%A9",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_an_unknown_path_is_not_found(sparql, method, path):
    """404 in SEPA's flat form, with the paths there are."""
    response = sparql.http.request(method, path)

    assert response.status_code == 404
    assert response.headers["content-type"].startswith("application/json")
    assert set(response.json()) == {"error", "status_code", "error_description"}
    assert response.json()["error"] == "not_found"
    assert response.json()["status_code"] == 404
    assert "/query, /update, /sparql, /rdf-graph-store, /subscribe" in response.json()["error_description"]


def test_a_path_has_its_own_methods(sparql):
    """405 with Allow, in the same form."""
    response = sparql.http.post("/health")

    assert response.status_code == 405
    assert response.json()["error"] == "method_not_allowed"
    assert "GET" in response.headers["allow"]
