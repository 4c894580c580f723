"""Subscriptions that a connection ends by itself: each is an unsubscribe that nobody asked for."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

from triplewire.broker.errors import BrokerError, Overloaded, ShuttingDown
from triplewire.broker.model import Unsubscribe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triplewire.broker.model import SubscriberId
    from triplewire.broker.scheduler import Scheduler

log = logging.getLogger("triplewire.gates.websocket")

_AGAIN_S = 0.25


class Endings:
    """Has the core end subscriptions, in the background, and again where it has no time."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._spuids: deque[str] = deque()
        self._task: asyncio.Task[None] | None = None
        self.subscriber: SubscriberId = 0

    def add(self, spuids: Iterable[str]) -> None:
        """End these, too."""
        self._spuids.extend(spuids)
        if self._spuids and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._run())

    def close(self) -> None:
        """The connection ends, and all its subscriptions with it."""
        self._spuids.clear()
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while self._spuids:
            try:
                await self._scheduler.submit(Unsubscribe(self._spuids[0], self.subscriber))
            except ShuttingDown:
                return
            except Overloaded:
                await asyncio.sleep(_AGAIN_S)
                continue
            except BrokerError as error:  # the core has ended it already
                log.debug("= %d %s", self.subscriber, error.description)
            self._spuids.popleft()
