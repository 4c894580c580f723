"""The FastAPI part of the HTTP port: the page, health, the OpenAPI description; OAuth and administration belong here."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from triplewire.broker.rights import Scope
from triplewire.gates.http.router import ACCESS

from .openapi import serve_description

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fastapi import APIRouter

    from triplewire.broker.config import PathsConfig
    from triplewire.broker.rights import Access

    from .metrics import Metrics


# Open to everybody, beside what authorization itself needs.
OPEN_PATHS = frozenset({"/", "/health"})

_INLINE = re.compile(r"<(script|style)>(.*?)</(?:script|style)>", re.DOTALL)
_CODES = {404: "not_found", 405: "method_not_allowed"}


def application(
    paths: PathsConfig,
    health: Callable[[], dict[str, Any]],
    metrics: Metrics,
    units: Callable[[], list[dict[str, Any]]],
    routers: Iterable[APIRouter] = (),
) -> FastAPI:
    """The application; `health` tells the broker's state, its `status` is `ok` or what is wrong.

    `units` are the queries that stand, and how each is followed.  `routers` serve more paths.  The front of the HTTP
    port has asked for the scope admin, but for OPEN_PATHS and those of authorization.
    """
    # The interactive documentation of FastAPI loads from a content network: not for a broker in a cellar.
    app = FastAPI(title="Triplewire", version=version("triplewire"), docs_url=None, redoc_url=None)
    page = files(__package__).joinpath("index.html").read_text(encoding="utf-8")
    for name, path in (("QUERY", paths.query), ("UPDATE", paths.update), ("SUBSCRIBE", paths.subscribe)):
        page = page.replace(f"__{name}__", path)

    headers = {
        "Content-Security-Policy": _policy(page),
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
    }

    @app.api_route("/", methods=["GET", "HEAD"], response_class=HTMLResponse)
    async def index() -> HTMLResponse:
        """The page."""
        return HTMLResponse(page, headers=headers)

    @app.api_route("/health", methods=["GET", "HEAD"])
    async def state(request: Request) -> JSONResponse:
        """Whether the broker is well; administrators are told what it holds."""
        found = health()
        access: Access | None = request.scope.get(ACCESS)
        told = found if access is not None and Scope.ADMIN in access.scopes else {"status": found["status"]}
        return JSONResponse(told, 200 if found["status"] == "ok" else 503)

    @app.api_route("/units", methods=["GET", "HEAD"])
    async def standing() -> JSONResponse:
        """The queries that stand, and how each is followed."""
        return JSONResponse({"units": units()})

    @app.api_route("/metrics", methods=["GET", "HEAD"])
    async def figures(request: Request) -> Response:
        """The broker's figures for Prometheus."""
        body, content_type = metrics.page(request.headers.get("accept", ""))
        return Response(body, headers={"Content-Type": content_type})

    for router in routers:
        app.include_router(router)

    serve_description(app, paths)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        """SEPA's flat error object, as everywhere."""
        description = f"{request.method} {request.url.path}: {error.detail}"
        if error.status_code == 404:
            description += f"; there are {paths.query}, {paths.update}, {paths.sparql}, {paths.graph_store}"
            description += f", {paths.subscribe}, /health, /units, /metrics and /"
        body = {
            "error": _CODES.get(error.status_code, "bad_request"),
            "status_code": error.status_code,
            "error_description": description,
        }
        return JSONResponse(body, error.status_code, headers=error.headers)

    return app


def _policy(page: str) -> str:
    """What the page may do: run the one script that is in it, and talk to its own broker."""
    sources = [
        f"{kind}-src 'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for kind, text in _INLINE.findall(page)
    ]
    fixed = ["default-src 'none'", "connect-src 'self'", "img-src data:", "base-uri 'none'"]
    return "; ".join([*fixed, "form-action 'none'", "frame-ancestors 'none'", *sources])
