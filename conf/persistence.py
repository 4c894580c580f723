"""Updates that must not be lost because the broker was away, or had no time, when they were to be made."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import TYPE_CHECKING

from triplewire.broker.errors import BrokerRefused, ConnectionLost
from triplewire.clients import ClientSettings
from triplewire.clients.backoff import Backoff

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

logger = logging.getLogger("triplewire.conf")

_TOO_MANY_REQUESTS = 429
_SERVERS_OWN = 500  # and above: the request may be right, and another time it may go well


async def persistently(
    update: Callable[[], Awaitable[object]],
    settings: ClientSettings | None = None,
    stopping: asyncio.Event | None = None,
) -> None:
    """Make the update, again and again where the broker is away or not well, until it is made or we are `stopping`.

    It may be made twice, where only the answer got lost: it has to be one that changes nothing the second time.

    Raises:
        BrokerRefused: the update itself is wrong, so it would be refused for ever.
    """
    backoff = Backoff(random.Random(), settings or ClientSettings())  # noqa: S311 - jitter, no secret
    while True:
        try:
            await update()
        except (ConnectionLost, BrokerRefused) as error:
            if not _passes(error):
                raise
            wait_s = backoff.next_s()
            logger.warning("! %s; again in %.1f s", error, wait_s)
            if await _comes(stopping or asyncio.Event(), wait_s):
                return
        else:
            return


async def _comes(event: asyncio.Event, within_s: float) -> bool:
    try:
        async with asyncio.timeout(within_s):
            return await event.wait()
    except TimeoutError:
        return False


def _passes(error: ConnectionLost | BrokerRefused) -> bool:
    return isinstance(error, ConnectionLost) or (
        error.status == _TOO_MANY_REQUESTS or error.status >= _SERVERS_OWN
    )
