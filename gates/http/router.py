"""The HTTP port's front: a path leads to its gate by one look-up, everything else to the FastAPI application.

FastAPI's routing costs about as much as an update itself; the SPARQL paths go past it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Protocol

from triplewire.broker.errors import BrokerError, EngineError

from .request import ClientGone, HttpRequest
from .response import HttpResponse, cors, preflight

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from triplewire.broker.config import HttpConfig, LimitsConfig

    from .request import Receive, Scope, Send

log = logging.getLogger("triplewire.gates.http")

_SECURE = "/secure"
_REST_METHODS = ("GET", "HEAD", "POST", "OPTIONS")


class Gate(Protocol):
    """What serves a path."""

    async def serve(self, request: HttpRequest, response: HttpResponse) -> None:
        """Answer; a BrokerError raised before the response has started is sent in SEPA's form."""


class Router:
    """The ASGI application of the HTTP port."""

    def __init__(self, http: HttpConfig, limits: LimitsConfig, rest: Any) -> None:
        self._http = http
        self._limits = limits
        self._rest = rest
        self._gates: dict[str, tuple[Gate, tuple[str, ...]]] = {}
        self._below: list[tuple[str, Gate, tuple[str, ...]]] = []

    def add(self, path: str, gate: Gate, methods: tuple[str, ...], *, below: bool = False) -> None:
        """Serve `path`, with `below` all paths below it too; also under /secure."""
        self._gates[path] = (gate, methods)
        if below:
            self._below.append((f"{path}/", gate, methods))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        found = self._find(str(scope["path"]))
        request = HttpRequest(scope, receive, send, self._http, self._limits)
        if request.method == "OPTIONS":
            await preflight(request, found[1] if found else _REST_METHODS)
        elif found is None:
            await self._rest(scope, receive, _with_cors(request))
        else:
            await _serve(found[0], request)

    def _find(self, path: str) -> tuple[Gate, tuple[str, ...]] | None:
        found = self._gates.get(path)
        if found is not None:
            return found
        path = path.removeprefix(_SECURE)
        found = self._gates.get(path.rstrip("/"))
        if found is not None:
            return found
        return next(((gate, methods) for start, gate, methods in self._below if path.startswith(start)), None)


def _with_cors(request: HttpRequest) -> Send:
    fields = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in cors(request)]

    async def send(event: MutableMapping[str, Any]) -> None:
        if event["type"] == "http.response.start":
            event["headers"] = [*event["headers"], *fields]
        await request.send(event)

    return send


async def _serve(gate: Gate, request: HttpRequest) -> None:
    response = HttpResponse(request)
    try:
        await gate.serve(request, response)
    except ClientGone:
        return
    except asyncio.CancelledError:
        # The broker ends and this client keeps it waiting; uvicorn would log our end as its error
        request.abort()
        await request.gone()
    except BrokerError as error:
        log.info(
            "%s %s %d %s: %.200s", request.method, request.path, error.status, error.code, error.description
        )
        await _fail(request, response, error)
    except Exception:
        log.exception("! %s %s", request.method, request.path)
        await _fail(request, response, EngineError("internal error"))


async def _fail(request: HttpRequest, response: HttpResponse, error: BrokerError) -> None:
    if response.started:
        request.abort()
    else:
        await response.error(error)
