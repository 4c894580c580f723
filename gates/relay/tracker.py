"""A tracker as an application of FastAPI.

::

    PUT    /nodes/{node}                 a status; what the node shall have is the answer
    DELETE /nodes/{node}?instance=       the node is gone
    GET    /nodes/{node}/instructions?instance=   server-sent events: the same, whenever it changes
    GET    /nodes/{node}/origin?stream=&chain=    a ticket for one link to the node that a chain is of
    GET    /consume/{stream}/{way}[?region=&avoid=..]   307 to the best node's stream port
    GET    /streams   /topology[/{stream}]   /latency?stream=[&from=[&to=]]
    GET    /keys   /health   /metrics

The decisions are those of `Tracking`; here they get a clock, callers who are known, and a way out.  Errors have SEPA's flat
form, as everywhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect

from triplewire.broker.errors import BrokerError, EngineError, Unauthorized
from triplewire.gates.oauth.answers import refusal, refused

from .callers import Callers, answer
from .estimates import Estimates
from .listeners import Listeners
from .node_routes import node_routes
from .overlay_routes import NODE, OverlayRoutes
from .registry_routes import registry_routes
from .tracker_metrics import TrackerMetrics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from fastapi import APIRouter

    from triplewire.broker.config import Config
    from triplewire.gates.quotas import Quotas

    from .registry import Registry
    from .tickets import TrackerKey
    from .tracker_access import TrackerAccess
    from .tracking import Tracking

log = logging.getLogger("triplewire.gates.relay")

_TICK_S: Final = 0.05
_IDLE_TICK_S: Final = 0.25
_KEEP_ALIVE_S: Final = 15.0
_CODES: Final = {404: "not_found", 405: "method_not_allowed"}


class Tracker:
    """What is served, on one event loop; `clock` gives seconds and never goes back."""

    def __init__(  # noqa: PLR0913 - its parts, by keyword
        self,
        config: Config,
        tracking: Tracking,
        *,
        key: TrackerKey,
        access: TrackerAccess,
        registry: Registry,
        quotas: Quotas,
        routers: Iterable[APIRouter] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config.tracker
        self._tracking = tracking
        self._key = key
        self._access = access
        self._registry = registry
        self._clock = clock
        self._refused: Counter[str] = Counter()  # by the errors' codes, of which there are some dozens
        self._changed = asyncio.Event()
        self._estimates = Estimates(tracking.overlays, config.tracker, clock)
        self._listeners = Listeners(tracking, clock, keep_alive_s=_KEEP_ALIVE_S, send_s=config.limits.send_s)
        self._callers = Callers(config, tracking, access, quotas, clock)
        self._metrics = TrackerMetrics(self.state)
        self.app = self._application(routers)

    def state(self) -> dict[str, Any]:
        """Figures, for administrators and /metrics."""
        return {
            "status": "ok",
            "epoch": self._tracking.epoch,
            **self._tracking.state(),
            "listeners": len(self._listeners),
            "refused": dict(self._refused),
        }

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Time passes until the block ends."""
        tasks = [asyncio.create_task(self._pass_time()), asyncio.create_task(self._estimate())]
        ends = [self._access.listen(self._judge), self._registry.listen(self._judge)]
        try:
            yield
        finally:
            for end in ends:
                end()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def close(self) -> None:
        """End all streams of instructions: nodes look for another tracker, or for this one when it is back."""
        self._listeners.close()

    async def _pass_time(self) -> None:
        """Tell nodes what there is to tell, in time, and notice who is gone."""
        while True:
            try:
                now = self._clock()
                gone = self._tracking.pass_time(now)
                self._listeners.wake([*gone, *self._tracking.due(now)])
            except Exception:  # the next node has to be told, whatever became of this one
                log.exception("! the tracker")
            if self._tracking.is_busy:
                await asyncio.sleep(_TICK_S)
                continue
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_IDLE_TICK_S):
                    await self._changed.wait()

    async def _estimate(self) -> None:
        while True:
            await asyncio.sleep(self._config.figures_s)
            try:
                await self._estimates.refresh()
            except Exception:  # a stream that ended meanwhile, or an error of ours: the next time comes
                log.exception("! delays could not be estimated")

    def _judge(self) -> None:
        """Permissions, or what the registry says, are others."""
        self._tracking.judge(self._clock())
        self._changed.set()

    def _application(self, routers: Iterable[APIRouter]) -> FastAPI:
        # The interactive documentation of FastAPI loads from a content network: not for a tracker in a cellar.
        app = FastAPI(
            title="Triplewire tracker", version=version("triplewire"), docs_url=None, redoc_url=None
        )
        app.include_router(
            node_routes(
                self._tracking,
                self._callers,
                self._listeners,
                self._changed.set,
                self._clock,
            )
        )
        app.include_router(
            OverlayRoutes(
                self._config, self._tracking, self._callers, self._access, self._estimates, self._clock
            ).router()
        )
        for router in (registry_routes(self._registry, self._callers), *routers):
            app.include_router(router)
        for path, serve in (("/keys", self._keys), ("/health", self._health), ("/metrics", self._figures)):
            app.add_api_route(path, serve, methods=["GET"], tags=["tracker"])
            app.add_api_route(path, serve, methods=["HEAD"], include_in_schema=False)
        # Tokens come in a header that no page sends by itself, so any page may ask for what it has a token for
        app.add_middleware(
            CORSMiddleware,
            allow_origins=["*"],
            allow_methods=["GET", "HEAD"],
            allow_headers=["Authorization"],
            expose_headers=["Location", NODE, "Retry-After", "WWW-Authenticate"],
        )
        self._answer_errors(app)
        return app

    def _answer_errors(self, app: FastAPI) -> None:
        @app.exception_handler(BrokerError)
        async def failed_as_told(request: Request, error: BrokerError) -> Response:
            self._refused[error.code] += 1
            return _for_consumers(request, refused(log, request, error))

        @app.exception_handler(HTTPException)
        async def not_there(request: Request, error: HTTPException) -> Response:
            found = BrokerError(f"{request.method} {request.url.path}: {error.detail}")
            found.status = error.status_code
            found.code = _CODES.get(error.status_code, "bad_request")
            self._refused[found.code] += 1
            said = refusal(found)
            said.headers.update(error.headers or {})
            return said

        @app.exception_handler(ClientDisconnect)
        async def hung_up(request: Request, error: ClientDisconnect) -> Response:  # noqa: ARG001
            return Response(status_code=400)  # nobody is there to read it

        @app.exception_handler(Exception)
        async def failed(request: Request, error: Exception) -> Response:
            log.error("! %s %s", request.method, request.url.path, exc_info=error)
            self._refused["internal_error"] += 1
            return _for_consumers(request, refusal(EngineError("internal error")))

    async def _keys(self) -> Response:
        """The public keys that verify what this tracker signs: a JWK Set."""
        return answer(self._key.jwks())

    async def _health(self, request: Request) -> Response:
        """Whether the tracker is well; administrators are told what it holds."""
        try:
            who = await self._callers.anybody(request)
        except Unauthorized:
            if "authorization" in request.headers:
                raise
            return answer({"status": "ok"})
        if not self._access.is_admin(who):
            return answer({"status": "ok"})
        return answer({**self.state(), "registry": self._registry.health()})

    async def _figures(self, request: Request) -> Response:
        """The tracker's figures for Prometheus, for administrators."""
        self._access.administer(await self._callers.anybody(request))
        body, content_type = self._metrics.page(request.headers.get("accept", ""))
        return Response(body, headers={"Content-Type": content_type})


def _for_consumers(request: Request, said: Response) -> Response:
    """An error as it is told: a consumer gets no body with a 5xx, as Ztreamy's would read it as items (facts 1.9)."""
    if said.status_code < 500 or not request.url.path.startswith("/consume/"):
        return said
    return Response(
        status_code=said.status_code,
        headers={
            name: value for name, value in said.headers.items() if name in {"retry-after", "cache-control"}
        },
    )
