"""What others ask of a tracker: where to follow a stream, which streams there are, how their overlays look, how fast they are."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import OrderedDict
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request, Response

from triplewire.broker.errors import (
    MalformedRequest,
    NotFound,
    Overloaded,
    RequestTooLarge,
    TooManyRequests,
)

from .callers import answer, parameter, site
from .paces import Paces
from .paths import way

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.broker.overlay_config import TrackerConfig

    from .callers import Callers
    from .estimates import Estimates
    from .tracker_access import TrackerAccess
    from .tracking import Tracking

NODE: Final = "Triplewire-Node"  # the node that a consumer is sent to, which it may want to avoid later
WAYS: Final = ("stream", "compressed", "priority", "long-polling")
_MOST_AVOIDED: Final = 32
_SHOWN_S: Final = 1.0  # a picture of an overlay is as old as this at most
# Who is sent on more often at one address is not thought to be so many consumers: it could fill all nodes but its own
_CONSUMERS_S: Final = 5.0
_CONSUMERS: Final = 100  # at once


class OverlayRoutes:
    """The paths, whatever they are read with; `clock` gives seconds."""

    def __init__(  # noqa: PLR0913, PLR0917 - the parts of a tracker
        self,
        config: TrackerConfig,
        tracking: Tracking,
        callers: Callers,
        access: TrackerAccess,
        estimates: Estimates,
        clock: Callable[[], float],
    ) -> None:
        self._config = config
        self._tracking = tracking
        self._callers = callers
        self._access = access
        self._estimates = estimates
        self._clock = clock
        self._consumers = Paces(1 / _CONSUMERS_S, _CONSUMERS)
        self._shown: OrderedDict[str, tuple[float, bytes]] = OrderedDict()  # the newest last

    def router(self) -> APIRouter:
        """What FastAPI serves."""
        router = APIRouter()
        for path, serve, tag in (
            ("/consume/{stream}/{way}", self.consume, "streams"),
            ("/streams", self.streams, "streams"),
            ("/topology", self.topologies, "overlays"),
            ("/topology/{stream}", self.topology, "overlays"),
            ("/latency", self.latency, "overlays"),
        ):
            router.add_api_route(path, serve, methods=["GET"], tags=[tag])
            router.add_api_route(path, serve, methods=["HEAD"], include_in_schema=False)
        return router

    async def consume(self, request: Request) -> Response:
        """Where a consumer goes (307): to the best node that serves the stream, near `region`, none of `avoid`.

        `avoid` names nodes, by their ids or by what a Location began with; there may be several.  Whatever means "not now"
        is a 503: after a 4xx, consumers never come back (facts 1.9).
        """
        stream, how = request.path_params["stream"], request.path_params["way"]
        try:
            who = await self._callers.reader(request, stream)
        except TooManyRequests as error:
            raise Overloaded(error.description, code=error.code) from error
        if how not in WAYS:
            raise NotFound(f"{how!r:.80} is no way to follow a stream; there are {', '.join(WAYS)}")
        query = request.query_params.multi_items()
        avoid = [value for name, value in query if name == "avoid"]
        if len(avoid) > _MOST_AVOIDED:
            raise MalformedRequest(f"avoid: at most {_MOST_AVOIDED} nodes can be avoided")
        asker = (who.issuer, who.client, site(request))
        counts = request.method != "HEAD" and self._consumers.may(asker, self._clock())
        region = request.query_params.get("region", "")
        found = self._tracking.redirects.best(stream, region, avoid, counts=counts)
        if found is None:
            raise Overloaded(f"no node serves the stream {stream!r:.200} just now", code="no_node")
        node, at = found
        kept = urlencode([(name, value) for name, value in query if name not in {"avoid", "region"}])
        location = f"{at}/{quote(stream)}/{how}" + (f"?{kept}" if kept else "")
        headers = {"Location": location, NODE: node, "Cache-Control": "no-store"}
        return Response(status_code=307, headers=headers)

    async def streams(self, request: Request) -> Response:
        """The streams that have nodes, and how many."""
        who = await self._callers.anybody(request)
        visible = self._access.visible(self._tracking.overlays.names(), who)
        return answer({"streams": [{"stream": stream, **self._summary(stream)} for stream in visible]})

    async def topologies(self, request: Request) -> Response:
        """All overlays."""
        who = await self._callers.anybody(request)
        visible = self._access.visible(self._tracking.overlays.names(), who)
        nodes = sum(self._summary(stream)["nodes"] for stream in visible)
        if nodes > self._config.nodes:
            raise RequestTooLarge(
                f"the streams have {nodes} nodes together: ask for one, as /topology/{{stream}}"
            )
        parts: list[bytes] = []
        for stream in visible:
            with contextlib.suppress(NotFound):  # it ended meanwhile
                parts.append(json.dumps(stream).encode() + b":" + self._picture(stream))
            await asyncio.sleep(0)  # nodes have to be heard between
        return answer(b'{"epoch":"%b","streams":{%b}}' % (self._tracking.epoch.encode(), b",".join(parts)))

    async def topology(self, request: Request) -> Response:
        """The overlay of one stream: its nodes, and the delays of their links in ms."""
        stream = request.path_params["stream"]
        await self._callers.reader(request, stream)
        return answer(self._picture(stream))

    async def latency(self, request: Request) -> Response:
        """How long items take: figures of all pairs, or from one node, or from one to another with the way."""
        stream = parameter(request, "stream")
        await self._callers.reader(request, stream)
        source, target = request.query_params.get("from"), request.query_params.get("to")
        if source is None:
            if target is not None:
                raise MalformedRequest("to: it needs from")
            figures = await self._estimates.figures(stream)
            overlay = self._tracking.overlays.get(stream)
            collecting = overlay is not None and overlay.collecting is not None
            return answer({"stream": stream, "collecting": collecting, **asdict(figures)})
        routes = await self._estimates.routes(stream, source)
        if routes is None:
            raise NotFound(f"there is no node {source!r:.80} in the stream {stream!r:.200}")
        said: dict[str, Any] = {"stream": stream, "from": source}
        if target is None:
            said["delay_ms"] = {node: round(route.delay_ms, 3) for node, route in routes.items()}
        elif target in routes:
            said |= {"to": target, "delay_ms": round(routes[target].delay_ms, 3), "path": way(routes, target)}
        else:
            raise NotFound(
                f"no item comes from {source!r:.80} to {target!r:.80} in the stream {stream!r:.200}"
            )
        return answer(said)

    def _summary(self, stream: str) -> dict[str, Any]:
        return self._tracking.overlays.there(stream).summary()

    def _picture(self, stream: str) -> bytes:
        now = self._clock()
        while self._shown and now - next(iter(self._shown.values()))[0] >= _SHOWN_S:
            self._shown.popitem(last=False)
        if stream not in self._shown:
            picture = json.dumps(self._tracking.topology(stream), separators=(",", ":")).encode()
            self._shown[stream] = (now, picture)
        return self._shown[stream][1]
