"""What nodes ask of a tracker: statuses and instructions, goodbyes, tickets to a chain's origin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response

from triplewire.broker.errors import NotFound

from .callers import answer, parameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from .callers import Callers
    from .listeners import Listeners
    from .tracking import Tracking


def node_routes(
    tracking: Tracking,
    callers: Callers,
    listeners: Listeners,
    changed: Callable[[], None],
    clock: Callable[[], float],
) -> APIRouter:
    """The paths below /nodes; `changed` is called where others may have to be told something."""
    router = APIRouter(prefix="/nodes", tags=["nodes"])

    @router.put("/{node}")
    async def status(node: str, request: Request) -> Response:
        """A node's status; what it shall have is the answer."""
        said, who = await callers.status(request, node)
        before = tracking.counted.proofs
        instructions = tracking.status(said, who, clock())
        callers.proved(request, node, who, tracking.counted.proofs - before)
        changed()
        return answer(instructions.encode())

    @router.delete("/{node}", status_code=204)
    async def goodbye(node: str, request: Request) -> Response:
        """A node is gone, as this process: what that is called, nobody else knows."""
        await callers.asker(request, node)
        try:
            tracking.nodes.alive(node, parameter(request, "instance"))
        except NotFound:
            return Response(status_code=204)  # it was gone already
        tracking.remove(node, clock())
        listeners.wake([node])
        changed()
        return Response(status_code=204)

    @router.get("/{node}/instructions")
    async def instructions(node: str, request: Request) -> Response:
        """What a node shall have, as server-sent events: now, and whenever that changes."""
        await callers.asker(request, node)
        return listeners.open(node, parameter(request, "instance"))

    @router.get("/{node}/origin")
    async def origin(node: str, request: Request) -> Response:
        """The node that a chain is of, with a ticket for one link with it."""
        await callers.asker(request, node)
        found = tracking.origin(node, parameter(request, "stream"), parameter(request, "chain"))
        return answer(found.document())

    return router
