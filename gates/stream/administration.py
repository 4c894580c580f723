"""The streams on the HTTP port: the directory, and what administrators do with streams at run time."""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response

from triplewire.broker.config import StreamConfig, build
from triplewire.broker.errors import ConfigError, MalformedRequest, RequestTooLarge, Unauthorized
from triplewire.broker.rights import Access, Scope
from triplewire.broker.wire.depth import json_of
from triplewire.gates.oauth.answers import answer, answering

from .directory import LD_JSON, PATH

if TYPE_CHECKING:
    from collections.abc import Callable

    from .directory import Directory
    from .hub import Hub

log = logging.getLogger("triplewire.gates.stream")

_SECURE = "/secure"
_MOST_BYTES = 64 * 1024


class StreamAdministration:
    """Who asks was found out by the router, which puts an Access into the request's scope."""

    def __init__(self, hub: Hub, directory: Directory, place: Callable[[str | None, str], str]) -> None:
        """`place` tells where the stream port is, for one who calls this machine by that name and scheme."""
        self._hub = hub
        self._directory = directory
        self._place = place

    async def directory(self, request: Request) -> Response:
        """The streams that there are: for browsers a page, for others JSON-LD (DCAT)."""
        access = _access(request)
        access.need(Scope.SUBSCRIBE)
        body, media_type = self._directory.page(
            self._place(request.url.hostname, request.url.scheme), request.headers.get("accept", ""), access
        )
        return Response(
            body,
            headers={
                "Content-Type": media_type,
                "Vary": "Accept",
                "X-Frame-Options": "DENY",
                "Cache-Control": "no-store",
            },
        )

    async def add(self, request: Request) -> Response:
        """Make a stream: `{"name": ..., ` and settings of [streams.NAME]`}`; it is there until the broker ends."""
        access = _access(request)
        access.need(Scope.ADMIN)
        name, config = _stream(await _body(request))
        self._hub.add(name, config)
        log.info("= %r made the stream %s", access.client, name)
        shown = {"name": name, "kept": "in memory only: it is not there after a restart"}
        return answer(shown | asdict(config), 201)

    async def remove(self, request: Request) -> Response:
        """End a stream, until the next start where it is one of the settings."""
        access = _access(request)
        access.need(Scope.ADMIN)
        name = request.path_params["name"]
        await self._hub.remove(name)
        log.info("= %r ended the stream %.100s", access.client, name)
        return Response(status_code=204)


_LISTED: dict[int | str, dict[str, Any]] = {
    200: {"content": {LD_JSON: {"schema": {"type": "object"}}, "text/html": {"schema": {"type": "string"}}}}
}


def stream_routes(administration: StreamAdministration) -> APIRouter:
    """The routes for the FastAPI application."""
    router = APIRouter(tags=["streams"])
    for path, method, serve in (
        (PATH, "GET", administration.directory),
        (PATH, "POST", administration.add),
        (f"{PATH}/{{name}}", "DELETE", administration.remove),
    ):
        for prefix in ("", _SECURE):
            router.add_api_route(
                f"{prefix}{path}",
                answering(serve),
                methods=[method],
                name=f"streams_{serve.__name__}",
                description=serve.__doc__,
                response_model=None,
                responses=_LISTED if method == "GET" else None,
                include_in_schema=not prefix,
            )
    for prefix in ("", _SECURE):
        router.add_api_route(
            f"{prefix}{PATH}",
            answering(administration.directory),
            methods=["HEAD"],
            response_model=None,
            include_in_schema=False,
        )
    return router


def _access(request: Request) -> Access:
    access = request.scope.get("triplewire.access")
    if not isinstance(access, Access):
        raise Unauthorized(
            "no token: send Authorization: Bearer",
            code="invalid_request",
            challenge='Bearer realm="triplewire"',
        )
    return access


async def _body(request: Request) -> str:
    parts = bytearray()
    async for part in request.stream():
        parts += part
        if len(parts) > _MOST_BYTES:
            raise RequestTooLarge(f"a stream is described in {_MOST_BYTES} bytes")
    return parts.decode("utf-8", "replace")


def _stream(text: str) -> tuple[str, StreamConfig]:
    try:
        document = json_of(text)
    except ValueError as error:
        raise MalformedRequest(f"the body is not JSON: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("name"), str):
        raise MalformedRequest('the body must be a JSON object with the member "name"')
    name = document.pop("name")
    try:
        return name, build(StreamConfig, document, f"streams.{name:.100}")
    except ConfigError as error:
        raise MalformedRequest(str(error)) from error
