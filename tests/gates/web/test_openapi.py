"""The OpenAPI description: valid, complete, and of the paths as they are set."""

from __future__ import annotations

import json

import httpx
import pytest
from fastapi import APIRouter, FastAPI

from triplewire.broker.config import PathsConfig
from triplewire.gates.web.openapi import describe


@pytest.fixture(scope="module")
def document():
    """Of an application with one route of its own."""
    app = FastAPI(title="Triplewire", version="1")
    router = APIRouter()

    @router.post("/oauth/token")
    async def token() -> None:
        """A token."""

    @app.api_route("/health", methods=["GET", "HEAD"])
    async def health() -> None:
        """Health."""

    app.include_router(router)
    return describe(app, PathsConfig(update="/change"))


def references(found):
    """Every $ref in a document."""
    if isinstance(found, dict):
        return [value for key, value in found.items() if key == "$ref"] + [
            found_in for value in found.values() for found_in in references(value)
        ]
    return [found_in for value in found for found_in in references(value)] if isinstance(found, list) else []


def test_every_path_is_there(document):
    """Those past FastAPI, those of its applications, and those of its routers."""
    assert set(document["paths"]) == {
        "/query",
        "/change",
        "/sparql",
        "/rdf-graph-store",
        "/subscribe",
        "/explain",
        "/journal",
        "/",
        "/health",
        "/units",
        "/metrics",
        "/oauth/token",
    }


def test_what_is_referred_to_is_there(document):
    """And it is JSON."""
    assert json.loads(json.dumps(document)) == document
    assert set(references(document)) == {"#/components/responses/error"}
    assert document["components"]["responses"]["error"]
    assert document["openapi"].startswith("3.")


def test_every_operation_may_be_refused(document):
    """With SEPA's error object, of a token too."""
    for operations in document["paths"].values():
        for operation in operations.values():
            assert {"401", "403", "429"} <= set(operation["responses"])


def test_one_path_for_both_takes_both():
    """As SEPA's own settings may have it."""
    found = describe(FastAPI(), PathsConfig(query="/sparql", update="/sparql"))["paths"]["/sparql"]

    assert {"application/sparql-query", "application/sparql-update"} < set(
        found["post"]["requestBody"]["content"]
    )


def test_the_broker_serves_it(broker):
    """At /openapi.json."""
    found = httpx.get(f"{broker.http}/openapi.json", trust_env=False).json()

    assert {"/query", "/update", "/sparql", "/rdf-graph-store", "/health"} <= set(found["paths"])
