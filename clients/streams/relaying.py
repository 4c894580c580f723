"""From one stream into another, without losing an item."""

from __future__ import annotations

import asyncio
from random import SystemRandom
from typing import TYPE_CHECKING

from triplewire.broker.errors import BrokerRefused, ClientError, ConnectionLost
from triplewire.clients.backoff import Backoff
from triplewire.clients.flows import BUSY

if TYPE_CHECKING:
    from collections.abc import Callable

    from .consumer import AsyncStreamConsumer
    from .publisher import AsyncStreamPublisher
    from .settings import StreamSettings


async def relay(
    consumer: AsyncStreamConsumer,
    publisher: AsyncStreamPublisher,
    settings: StreamSettings,
    on_lost: Callable[[ClientError], object],
) -> None:
    """Publish what comes, as many items at a time as have come, until the consumer ends.

    What can't be published is tried again, and `on_lost` is told; more is read when it has been taken, and only then
    does it count as had.

    Raises:
        BrokerRefused: one of the servers answered with an error of ours (4xx).
        ClientError: what the consumer raises.
    """
    backoff = Backoff(SystemRandom(), settings)
    async for batch in consumer.batches():
        while True:
            try:
                await publisher.publish(*batch)
            except (ConnectionLost, BrokerRefused) as error:
                if isinstance(error, BrokerRefused) and error.status < 500 and error.status not in BUSY:
                    raise
                on_lost(error)
                await asyncio.sleep(backoff.next_s())
            else:
                backoff.reset()
                break
