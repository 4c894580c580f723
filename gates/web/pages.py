"""The FastAPI part of the HTTP port: the page, health, the OpenAPI description; OAuth and administration belong here.

The page is in page/, plain modules that are served as they are; index.html is its frame.
"""

from __future__ import annotations

import re
from html import escape
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from triplewire.broker.rights import Scope
from triplewire.gates.http.router import ACCESS

from .assets import assets
from .frame import policy_of, serve_page
from .openapi import serve_description

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fastapi import APIRouter

    from triplewire.broker.config import PathsConfig
    from triplewire.broker.rights import Access

    from .metrics import Metrics


# Open to everybody, beside what authorization itself needs.
OPEN_PATHS = frozenset({"/", "/health", *assets().by_path})

# What may stand in the policy: the name is a Host header's at times; IPv6 addresses can't (CSP Level 3, 2.3.1).
_ORIGIN = re.compile(r"https?://[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?:[0-9]{1,5}")
_CODES = {404: "not_found", 405: "method_not_allowed"}


def application(  # noqa: PLR0913 - all that it shows
    paths: PathsConfig,
    health: Callable[[], dict[str, Any]],
    metrics: Metrics,
    *,
    units: Callable[[], list[dict[str, Any]]],
    streams: Callable[[str | None, str], str],
    routers: Iterable[APIRouter] = (),
) -> FastAPI:
    """The application; `health` tells the broker's state, its `status` is `ok` or what is wrong.

    `units` are the queries that stand, and how each is followed.  `streams` tells where the stream port is, for one who
    calls this machine by that name and scheme.  `routers` serve more paths.  The front of the HTTP port has asked for the
    scope admin, but for OPEN_PATHS and those of authorization.
    """
    # The interactive documentation of FastAPI loads from a content network: not for a broker in a cellar.
    app = FastAPI(title="Triplewire", version=version("triplewire"), docs_url=None, redoc_url=None)
    _serve_page(app, paths, streams)

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
            description += f", {paths.subscribe}, /explain, /health, /units, /metrics and /"
        body = {
            "error": _CODES.get(error.status_code, "bad_request"),
            "status_code": error.status_code,
            "error_description": description,
        }
        return JSONResponse(body, error.status_code, headers=error.headers)

    return app


def _serve_page(app: FastAPI, paths: PathsConfig, streams: Callable[[str | None, str], str]) -> None:
    def policy(request: Request) -> str:
        return _policy(streams(request.url.hostname, request.url.scheme))

    serve_page(app.router, _page(paths), assets(), policy)


def _page(paths: PathsConfig) -> str:
    page = files(__package__).joinpath("index.html").read_text(encoding="utf-8")
    told = {
        "QUERY": paths.query,
        "UPDATE": paths.update,
        "SUBSCRIBE": paths.subscribe,
        "TOKEN": paths.token,
        "PAGE": assets().base,
    }
    for name, path in told.items():
        page = page.replace(f"__{name}__", escape(path))
    return page


def _policy(streams: str) -> str:
    """The page talks to its own broker, whose streams have an origin of their own."""
    return policy_of(streams if _ORIGIN.fullmatch(streams) else "")
