"""Clients of streams: consumers and publishers of items, each blocking and for asyncio, and filters.

`triplewire.broker.wire.items.Item` is what they give and take.
"""

from triplewire.broker.wire.items import Item

from .consumer import AsyncStreamConsumer, StreamConsumer
from .continuous import AsyncContinuousPublisher, ContinuousPublisher
from .following import Gap
from .new_items import new_item
from .publisher import AsyncStreamPublisher, StreamPublisher
from .settings import StreamSettings

__all__ = [
    "AsyncContinuousPublisher",
    "AsyncStreamConsumer",
    "AsyncStreamPublisher",
    "ContinuousPublisher",
    "Gap",
    "Item",
    "StreamConsumer",
    "StreamPublisher",
    "StreamSettings",
    "new_item",
]
