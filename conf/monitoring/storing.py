"""The storing service: what the broker holds for a moment, a second SPARQL endpoint keeps.

Each notification's values are stored in order.  While the second endpoint is away or slow they wait here, up to
`WAITING` of them; then reading stops, and they wait at the broker, up to the limits that it sets itself.  Values that
come and go while this service is not connected to the broker are not stored: a subscription tells how an answer changed,
not what happened in between.  The values of the moment are stored at each start, which does not store any of them twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode

from triplewire.broker.errors import BrokerMisbehaved, BrokerRefused
from triplewire.clients import AsyncProducer
from triplewire.conf.persistence import persistently

from .services import Follower, together, unless

if TYPE_CHECKING:
    from triplewire.clients import ClientSettings, Solution
    from triplewire.jsap import Profile

logger = logging.getLogger("triplewire.conf.monitoring")

WAITING = 10_000
_GRACE_S = 10.0  # for what waits when we are stopped


class StoringService(Follower):
    """Follows OBSERVATIONS_VALUES and makes a STORE_OBSERVATION of each row that is added."""

    def __init__(self, profile: Profile, settings: ClientSettings | None = None) -> None:
        super().__init__(profile, "OBSERVATIONS_VALUES", settings=settings)
        self.stored = 0
        self.refused = 0
        self._producer = AsyncProducer(profile, "STORE_OBSERVATION", settings=settings)
        self._rows: asyncio.Queue[Solution] = asyncio.Queue(WAITING)

    async def run(self) -> None:
        """Work until cancelled; then what waits is stored, if that does not take long.

        Raises:
            ClientError: the broker was away at the start, or refuses the subscription.
        """
        work = asyncio.create_task(self._store_all())
        try:
            await together(self.follow(), asyncio.shield(work))
        finally:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0 if work.done() else _GRACE_S):
                    await self._rows.join()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            await self._producer.close()

    async def on_first_results(self, rows: list[Solution]) -> None:
        """The values of the moment."""
        await self.on_added(rows)

    async def on_added(self, rows: list[Solution]) -> None:
        """New values."""
        for row in rows:
            if not self._rows.full():
                self._rows.put_nowait(row)
            elif not await unless(self.stopping, self._rows.put(row)):
                return

    async def _store_all(self) -> None:
        while True:
            row = await self._rows.get()
            try:
                await self._store(row)
            finally:
                self._rows.task_done()

    async def _store(self, row: Solution) -> None:
        match row:
            case {
                "observation": NamedNode(),
                "unit": NamedNode(),
                "value": Literal(),
                "time": Literal(value=time),
            }:
                # As a string the time gets the profile's datatype again, which the broker's store may have widened.
                values = {
                    "observation": row["observation"],
                    "unit": row["unit"],
                    "value": row["value"],
                    "time": time,
                }
            case _:
                raise BrokerMisbehaved(f"a value without observation, unit, number or time: {row}")
        try:
            await persistently(lambda: self._producer.update(values), self._settings)
        except BrokerRefused:
            self.refused += 1
            logger.exception("! the second endpoint refuses %s", values)
        else:
            self.stored += 1
