"""Who is told that a resource has changed: streams of updates (2026-07-28), and sessions of the revisions before."""

from __future__ import annotations

import logging
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession
    from mcp.types import SubscriptionsListenRequestParams, SubscriptionsListenResult

    from .callers import Caller
    from .limits import Limits

logger = logging.getLogger("triplewire.clients.mcp")


class Listening:
    """Tells of changes; a resource is told of to those only whose subscription it is."""

    def __init__(self, limits: Limits) -> None:
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus, max_subscriptions=limits.sessions)
        self._sessions: dict[
            str, ServerSession
        ] = {}  # by resource, of whose one caller it is the last that asked

    async def publish(self, uri: str, gone: bool) -> None:
        """A resource has changed, or is gone, which is the last that is told of it."""
        await self._bus.publish(ResourceUpdated(uri=uri))
        session = self._sessions.get(uri)
        if session is not None:
            try:
                await session.send_resource_updated(uri)
            except Exception as error:  # noqa: BLE001 - the session is gone, in whatever way
                logger.info("a session is not told any more: %s", type(error).__name__)
                gone = True
        if gone:
            self.remove(uri)

    async def listen(
        self, ctx: ServerRequestContext[Any], params: SubscriptionsListenRequestParams, caller: Caller
    ) -> SubscriptionsListenResult:
        """Serve one stream of updates until the client ends it; it gets those of its own subscriptions."""
        names = {followed.uri: followed.name for followed in caller.followed}
        asked = params.notifications.resource_subscriptions or []
        own = [uri for uri in asked if uri in names]
        wanted = params.notifications.model_copy(update={"resource_subscriptions": own})
        with ExitStack() as listening:
            for uri in own:
                listening.enter_context(_listens(caller, names[uri]))
            return await self._streams(ctx, params.model_copy(update={"notifications": wanted}))

    def add(self, uri: str, session: ServerSession) -> None:
        """A session of a revision before 2026-07-28 wants to hear of a resource."""
        self._sessions[uri] = session

    def remove(self, uri: str) -> None:
        """It wants to no more, or the resource is gone."""
        self._sessions.pop(uri, None)

    def close(self) -> None:
        """End every stream with a goodbye."""
        self._streams.close()


@contextmanager
def _listens(caller: Caller, name: str) -> Iterator[None]:
    caller.listens(name, 1)
    try:
        yield
    finally:
        caller.listens(name, -1)
