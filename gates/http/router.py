"""The HTTP port's front: a path leads to its gate by one look-up, everything else to the FastAPI application.

FastAPI's routing costs about as much as an update itself; the SPARQL paths go past it.

Before anything else of a request is looked at, its token is.  Each gate has a scope that its clients need; of the rest,
what is not named as open needs the scope admin, also what is not there: without a token, nobody learns what is.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from triplewire.broker import meters
from triplewire.broker.errors import BrokerError, EngineError
from triplewire.broker.rights import Scope
from triplewire.broker.security.authority import access_of
from triplewire.gates.quotas import Quotas

from .request import ClientGone, HttpRequest
from .response import NO_SNIFFING, HttpResponse, cors, preflight

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from triplewire.broker.config import HttpConfig, LimitsConfig
    from triplewire.broker.rights import Access
    from triplewire.broker.security.authority import Authority

    from .request import Receive, Send
    from .request import Scope as Asked

log = logging.getLogger("triplewire.gates.http")

ACCESS = "triplewire.access"  # where the FastAPI application finds the sender's `Access`
_SECURE = "/secure"
_REST_METHODS = ("GET", "HEAD", "POST", "DELETE", "OPTIONS")


class Gate(Protocol):
    """What serves a path."""

    async def serve(self, request: HttpRequest, response: HttpResponse) -> None:
        """Answer; a BrokerError raised before the response has started is sent in SEPA's form."""


class _Route(NamedTuple):
    gate: Gate
    methods: tuple[str, ...]
    scope: Scope | None


class Router:
    """The ASGI application of the HTTP port."""

    def __init__(  # noqa: PLR0913, PLR0917 - all that it depends on
        self,
        http: HttpConfig,
        limits: LimitsConfig,
        authority: Authority,
        rest: Any,
        open_paths: frozenset[str] = frozenset(),
        quotas: Quotas | None = None,
    ) -> None:
        """`rest` serves what no gate does: to everybody at the `open_paths`, elsewhere to administrators."""
        self._quotas = quotas or Quotas(limits)
        self._http = http
        self._limits = limits
        self._authority = authority
        self._rest = rest
        self._open = open_paths
        self._gates: dict[str, _Route] = {}
        self._below: list[tuple[str, _Route]] = []

    def add(
        self, path: str, gate: Gate, methods: tuple[str, ...], scope: Scope | None, *, below: bool = False
    ) -> None:
        """Serve `path`, with `below` all paths below it too; also under /secure.

        Clients need the `scope`; with None a good token, and the gate asks for the scope itself.
        """
        route = self._gates[path] = _Route(gate, methods, scope)
        if below:
            self._below.append((f"{path}/", route))

    async def __call__(self, scope: Asked, receive: Receive, send: Send) -> None:
        """One request."""
        route = self._find(str(scope["path"]))
        request = HttpRequest(scope, receive, send, self._http, self._limits, quotas=self._quotas)
        try:
            self._quotas.request("", request.address)
        except BrokerError as error:
            await _refuse(request, HttpResponse(request), error)
        else:
            await self._serve(request, route)
        finally:
            self._quotas.received(request.access.client, request.address, request.came)

    async def _serve(self, request: HttpRequest, route: _Route | None) -> None:
        if request.method == "OPTIONS":
            await preflight(request, route.methods if route else _REST_METHODS)
        elif route is None:
            await self._serve_rest(request)
        elif await self._admitted(request, route.scope):
            await _serve(route.gate, request)

    def _find(self, path: str) -> _Route | None:
        found = self._gates.get(path)
        if found is not None:
            return found
        path = path.removeprefix(_SECURE)
        found = self._gates.get(path.rstrip("/"))
        if found is not None:
            return found
        return next((route for start, route in self._below if path.startswith(start)), None)

    async def _serve_rest(self, request: HttpRequest) -> None:
        if request.path.removeprefix(_SECURE) in self._open:
            access = await self._recognized(request)
        elif await self._admitted(request, Scope.ADMIN):
            access = request.access
        else:
            return
        if access is not None:
            request.scope[ACCESS] = access
        await self._rest(request.scope, request.receive, _with_cors(request))

    async def _recognized(self, request: HttpRequest) -> Access | None:
        """What the sender may do, where that matters little: None without a good token."""
        try:
            return await self._access(request)
        except BrokerError:
            return None

    async def _admitted(self, request: HttpRequest, scope: Scope | None) -> bool:
        """Find out what the sender may do; False where that is not this, and it has been told so."""
        try:
            request.access = await self._access(request)
            self._quotas.request(request.access.client, None)
            if scope is not None:
                request.access.need(scope)
        except BrokerError as error:
            await _refuse(request, HttpResponse(request), error)
        except Exception:
            log.exception("! %s %s", request.method, request.path)
            await _fail(request, HttpResponse(request), EngineError("internal error"))
        else:
            return True
        return False

    async def _access(self, request: HttpRequest) -> Access:
        return await access_of(self._authority, request.token())


def _with_cors(request: HttpRequest) -> Send:
    fields = [
        (name.lower().encode(), value.encode("latin-1", "replace"))
        for name, value in (NO_SNIFFING, *cors(request))
    ]

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
        await _refuse(request, response, error)
    except Exception:
        log.exception("! %s %s", request.method, request.path)
        await _fail(request, response, EngineError("internal error"))


async def _refuse(request: HttpRequest, response: HttpResponse, error: BrokerError) -> None:
    log.info("%s %s %d %s: %.200s", request.method, request.path, error.status, error.code, error.description)
    await _fail(request, response, error)


async def _fail(request: HttpRequest, response: HttpResponse, error: BrokerError) -> None:
    meters.refused("http", error.status)
    if response.started:
        request.abort()
    else:
        await response.error(error)
