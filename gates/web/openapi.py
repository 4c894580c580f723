"""The OpenAPI description of all that is on the HTTP port: the SPARQL paths, which FastAPI does not serve, and its own.

Served at /openapi.json.  The SPARQL paths are described as the standards have them: SPARQL 1.1 Protocol, Graph Store
HTTP Protocol; event streams and the journal have no end, so of their bodies only the media type is told.
"""

from __future__ import annotations

from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeAlias

from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from triplewire.broker.wire.media import GRAPHS, RESULTS
from triplewire.gates.http.request import FORM
from triplewire.gates.sparql.explain import PATH as EXPLAIN
from triplewire.gates.sparql.query import SPARQL_QUERY
from triplewire.gates.sparql.update import SPARQL_UPDATE
from triplewire.gates.sse.gate import EVENT_STREAM

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fastapi import FastAPI

    from triplewire.broker.config import PathsConfig

Document: TypeAlias = dict[str, Any]

_JSON = "application/json"
_TEXT: Document = {"type": "string"}
_IRI: Document = {"type": "string", "format": "iri"}
_IRIS: Document = {"type": "array", "items": _IRI}
_ERROR: Document = {
    "type": "object",
    "required": ["error", "status_code", "error_description"],
    "properties": {"error": _TEXT, "status_code": {"type": "integer"}, "error_description": _TEXT},
}
_UPDATED: Document = {
    "type": "object",
    "required": ["response"],
    "properties": {"response": {"type": "object"}, "quads": {"type": "object"}},
}
# What any path may answer: no or a wrong token, too much or too many, not now.
_ALWAYS = (400, 401, 403, 405, 413, 415, 429, 503, 504)
_QUERY_GRAPHS = ("default-graph-uri", "named-graph-uri")
_UPDATE_GRAPHS = ("using-graph-uri", "using-named-graph-uri")
_ANSWERS = tuple(dict.fromkeys(format_.media_type for format_ in (*RESULTS, *GRAPHS)))
_GRAPHS = tuple(format_.media_type for format_ in GRAPHS)


def serve_description(app: FastAPI, paths: PathsConfig) -> None:
    """Have the application serve this description instead of FastAPI's own; it is made once, when it is asked for."""

    @cache
    def described() -> Document:
        return describe(app, paths)

    app.openapi = described  # type: ignore[method-assign]  # as FastAPI's documentation has it


def describe(app: FastAPI, paths: PathsConfig) -> Document:
    """The whole document; routes of two methods are described here, as FastAPI would give both the same name."""
    routes = [
        route for route in app.routes if not isinstance(route, APIRoute) or len(route.methods or ()) == 1
    ]
    found = get_openapi(title=app.title, version=app.version, routes=routes)
    found.setdefault("components", {}).update(
        {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {
                "error": {"description": "SEPA's error object", "content": _content(_ERROR, _JSON)}
            },
        }
    )
    found["security"] = [{}, {"token": []}]
    for operations in found["paths"].values():
        for method, operation in operations.items():
            created = {"201": _said(HTTPStatus.CREATED)} if method == "post" else {}
            operation["responses"] |= created | _refusals(404)
    found["paths"] = _sparql(paths) | _rest() | found["paths"]
    return found


def _sparql(paths: PathsConfig) -> Document:
    query, update = _query(), _update()
    both = {
        "get": query["get"],
        "post": _operation(
            "A query or an update, as its media type or its form says",
            ok=_content({}, *_ANSWERS, _JSON),
            parameters=_urls(*_QUERY_GRAPHS, *_UPDATE_GRAPHS),
            body=_form("query", *_QUERY_GRAPHS) | _content(_TEXT, SPARQL_QUERY, SPARQL_UPDATE),
            refusals=(406, 500, 502),
        ),
    }
    one = {paths.query: both} if paths.query == paths.update else {paths.query: query, paths.update: update}
    return {
        **one,
        paths.sparql: both,
        paths.graph_store: _graph_store(),
        paths.subscribe: {
            "get": _operation(
                "Follow a query as server-sent events",
                ok=_content(_TEXT, EVENT_STREAM),
                parameters=[_parameter("query", _TEXT, required=True), *_urls(*_QUERY_GRAPHS)],
                refusals=(406, 500),
            )
        },
        EXPLAIN: _explain(),
        paths.journal: {
            "get": _operation(
                "The journal's records as they are made, for brokers that follow this one",
                ok=_content({}, "application/octet-stream"),
                parameters=[_parameter("after", {"type": "integer", "minimum": 0})],
                refusals=(404, 410),
            )
        },
    }


def _query() -> Document:
    answer: Document = {"ok": _content({}, *_ANSWERS), "refusals": (406, 500, 502)}
    return {
        "get": _operation(
            "Query; without one, the service description",
            parameters=[_parameter("query", _TEXT), *_urls(*_QUERY_GRAPHS)],
            **answer,
        ),
        "post": _operation(
            "Query",
            parameters=_urls(*_QUERY_GRAPHS),
            body=_form("query", *_QUERY_GRAPHS) | _content(_TEXT, SPARQL_QUERY),
            **answer,
        ),
    }


def _explain() -> Document:
    told = {
        "type": "object",
        "required": ["followed", "touched_by"],
        "properties": {"followed": _TEXT, "touched_by": {"type": "array", "items": _TEXT}},
    }
    summary, ok = "How a subscription to a query would be followed, in words", _content(told, _JSON)
    return {
        "get": _operation(
            summary, ok=ok, parameters=[_parameter("query", _TEXT, required=True), *_urls(*_QUERY_GRAPHS)]
        ),
        "post": _operation(
            summary,
            ok=ok,
            parameters=_urls(*_QUERY_GRAPHS),
            body=_form("query", *_QUERY_GRAPHS) | _content(_TEXT, SPARQL_QUERY),
        ),
    }


def _update() -> Document:
    return {
        "post": _operation(
            "Update; answered when all subscriptions have been looked at",
            ok=_content(_UPDATED, _JSON),
            parameters=[_parameter("quads", _TEXT), *_urls(*_UPDATE_GRAPHS)],
            body=_form("update", *_UPDATE_GRAPHS) | _content(_TEXT, SPARQL_UPDATE),
            refusals=(500, 502),
        )
    }


def _graph_store() -> Document:
    which = [_parameter("graph", _IRI), _parameter("default", {"type": "string", "enum": [""]})]
    document = _content({}, *_GRAPHS)
    done = {"201": _said(HTTPStatus.CREATED), "204": _said(HTTPStatus.NO_CONTENT)}
    kinds: list[tuple[str, str, Document]] = [
        ("get", "Read a graph", {"ok": document}),
        ("put", "Replace a graph", {"body": document, "others": done}),
        ("post", "Add to a graph", {"body": document, "others": done}),
        ("delete", "Drop a graph", {"others": done}),
    ]
    return {
        method: _operation(summary, parameters=which, refusals=(404, 406, 500, 502), **parts)
        for method, summary, parts in kinds
    }


def _rest() -> Document:
    """What FastAPI serves by two methods."""
    state: Document = {"type": "object", "required": ["status"]}
    pages: list[tuple[str, str, Document, tuple[int, ...]]] = [
        ("/", "The page", _content(_TEXT, "text/html"), ()),
        (
            "/units",
            "The queries that stand, and how each is followed",
            _content({"type": "object"}, _JSON),
            (),
        ),
        ("/metrics", "The broker's figures for Prometheus", _content(_TEXT, "text/plain"), ()),
    ]
    found = {path: {"get": _operation(told, ok=ok, refusals=more)} for path, told, ok, more in pages}
    healthy = _operation("Whether the broker is well", ok=_content(state, _JSON))
    healthy["responses"]["503"] = {"description": "It is not", "content": _content(state, _JSON)}
    return {**found, "/health": {"get": healthy}}


def _operation(  # noqa: PLR0913 - what OpenAPI says of an operation
    summary: str,
    *,
    ok: Document | None = None,
    parameters: Iterable[Document] = (),
    body: Document | None = None,
    refusals: tuple[int, ...] = (),
    others: Document | None = None,
) -> Document:
    responses = {"200": {**_said(HTTPStatus.OK), "content": ok}} if ok is not None else {}
    operation: Document = {
        "summary": summary,
        "parameters": list(parameters),
        "responses": responses | (others or {}) | _refusals(*refusals),
    }
    if body is not None:
        operation["requestBody"] = {"required": True, "content": body}
    return operation


def _refusals(*more: int) -> Document:
    return {str(status): {"$ref": "#/components/responses/error"} for status in sorted({*_ALWAYS, *more})}


def _said(status: HTTPStatus) -> Document:
    return {"description": status.phrase}


def _content(schema: Document, *media_types: str) -> Document:
    return {media_type: {"schema": schema} for media_type in media_types}


def _form(text: str, *graphs: str) -> Document:
    properties = {text: _TEXT} | dict.fromkeys(graphs, _IRIS)
    return _content({"type": "object", "required": [text], "properties": properties}, FORM)


def _urls(*names: str) -> list[Document]:
    return [_parameter(name, _IRIS) for name in names]


def _parameter(name: str, schema: Document, *, required: bool = False) -> Document:
    return {"name": name, "in": "query", "required": required, "schema": schema}
