"""Where the authorization server is on the HTTP port: routes for the FastAPI application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fastapi import APIRouter

from .administration import Administration
from .answers import answering
from .endpoints import GRANT_TYPE, Endpoints
from .metadata import Metadata

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fastapi import Request, Response

    from triplewire.broker.config import PathsConfig

    from .server import AuthorizationServer

_SECURE = "/secure"
_WELL_KNOWN = "/.well-known/oauth-authorization-server"
# RFC 8414, 5 lets others look for it there: brokers whose provider this one is.
_OPENID = "/.well-known/openid-configuration"
_FORM = {
    "type": "object",
    "properties": {
        name: {"type": "string"}
        for name in ("grant_type", "client_id", "client_secret", "scope", "token", "token_type_hint")
    },
}
_REGISTER = {
    "type": "object",
    "required": ["register"],
    "properties": {
        "register": {
            "type": "object",
            "required": ["client_identity", "grant_types"],
            "properties": {
                "client_identity": {"type": "string", "minLength": 1, "maxLength": 256},
                "grant_types": {"type": "array", "items": {"enum": [GRANT_TYPE]}, "minItems": 1},
            },
        }
    },
}
_FORM_BODY = {"application/x-www-form-urlencoded": {"schema": _FORM}}
_ANY_JSON: dict[str, Any] = {"application/json": {"schema": {}}}


def oauth_routes(server: AuthorizationServer, paths: PathsConfig) -> APIRouter:
    """The routes.

    Open to all are register, token, revoke, keys and the well-known paths.  The others need an Access with the scope
    admin in the request's scope, as `triplewire.access`.
    """
    router = APIRouter(tags=["oauth"])
    endpoints, metadata, administration = Endpoints(server), Metadata(server, paths), Administration(server)
    _add(router, paths.register, "POST", endpoints.register, {"application/json": {"schema": _REGISTER}})
    _add(router, paths.token, "POST", endpoints.token, _FORM_BODY | _ANY_JSON)
    _add(router, paths.revoke, "POST", endpoints.revoke, _FORM_BODY)
    _add(router, paths.keys, "GET", metadata.keys)
    _add(router, f"{paths.keys}/rotate", "POST", administration.rotate)
    _add(router, paths.clients, "GET", administration.list)
    _add(router, f"{paths.clients}/{{client_id:path}}", "DELETE", administration.revoke)
    below = urlsplit(server.parts.issuer).path.rstrip("/")
    for path in sorted({_WELL_KNOWN, _OPENID, _WELL_KNOWN + below, below + _OPENID}):
        _add_one(router, path, "GET", metadata.metadata)
    return router


def _add(
    router: APIRouter,
    path: str,
    method: str,
    serve: Callable[[Request], Awaitable[Response]],
    body: dict[str, Any] | None = None,
) -> None:
    """Serve the path, also under /secure."""
    _add_one(router, path, method, serve, body)
    _add_one(router, _SECURE + path, method, serve, shown=False)


def _add_one(  # noqa: PLR0913 - what a route is
    router: APIRouter,
    path: str,
    method: str,
    serve: Callable[[Request], Awaitable[Response]],
    body: dict[str, Any] | None = None,
    *,
    shown: bool = True,
) -> None:
    endpoint = answering(serve)
    router.add_api_route(
        path,
        endpoint,
        methods=[method],
        name=serve.__name__,
        description=serve.__doc__,
        response_model=None,
        openapi_extra=None if body is None else {"requestBody": {"content": body}},
        include_in_schema=shown,
    )
    if method == "GET":  # a route of its own: FastAPI would give both methods one name in the description
        router.add_api_route(path, endpoint, methods=["HEAD"], response_model=None, include_in_schema=False)
