"""What the registry says of one stream, at any tracker: so a node that knows one of them learns the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from triplewire.broker.errors import Overloaded

from .callers import answer

if TYPE_CHECKING:
    from .callers import Callers
    from .registry import Registry

PATH = "/streams/{stream}"


def registry_routes(registry: Registry, callers: Callers) -> APIRouter:
    """GET /streams/{stream}, for those who may follow it."""
    router = APIRouter(tags=["streams"])

    async def stream(request: Request) -> Response:
        """Which trackers keep a stream, in the order to ask them; none where the registry leaves that open.

        503 until the registry has been read for the first time.
        """
        name = str(request.path_params["stream"])
        await callers.reader(request, name)
        if not registry.known:  # who goes by another tracker than the stream's is in an overlay of its own
            raise Overloaded("the registry has not been read yet")
        found = registry.of(name)
        return answer(
            {
                "stream": name,
                "registered": found is not None,
                "title": found.title if found is not None else "",
                "trackers": [*registry.trackers(name)],
                "degree": registry.degree(name),
            }
        )

    router.add_api_route(PATH, stream, methods=["GET"], name="stream", description=stream.__doc__)
    router.add_api_route(PATH, stream, methods=["HEAD"], include_in_schema=False)
    return router
