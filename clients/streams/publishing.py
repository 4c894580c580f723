"""Publishing items, as flows without I/O (see `clients/flows.py`).

A POST is taken whole or not at all, and a server passes over an id that is in its history: so one whose answer was
lost can be sent again.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

from triplewire.broker.wire.item_json import encode_array
from triplewire.broker.wire.items import encode_item
from triplewire.clients.flows import Call, Flow, Flows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from triplewire.broker.wire.items import Item
    from triplewire.clients.authorization import Authorization

    from .settings import StreamSettings

EVENTS = "application/ztreamy-event"
_ANSWERS = "application/json, */*;q=0.1"


class PublishFlows(Flows):
    """Makes the flows; `as_json` sends JSON instead of items, `compressed` as gzip."""

    def __init__(
        self,
        settings: StreamSettings,
        authorization: Authorization | None,
        *,
        as_json: bool,
        compressed: bool,
    ) -> None:
        super().__init__(settings, authorization)
        self._most_items = settings.post_items
        self._most_bytes = settings.post_bytes
        self._as_json = as_json
        self._compressed = compressed

    def publish(self, url: str, items: Iterable[Item]) -> Flow[None]:
        """Send them, in one POST or in several; returns when the last has been taken.

        Raises:
            BrokerRefused: one of the POSTs was not taken, and no later one was sent.
            ConnectionLost: it may have been taken, or not.
        """
        for batch in batches(items, self._most_items, self._most_bytes):
            yield from self._exchange(self._call(url, batch), _ANSWERS)

    def _call(self, url: str, items: Sequence[Item]) -> Call:
        if self._as_json:
            body, media_type = encode_array(items), "application/json"
        else:
            body, media_type = b"".join(map(encode_item, items)), EVENTS
        headers = {"content-type": media_type}
        if self._compressed:
            body = gzip.compress(body, 6, mtime=0)
            headers["content-encoding"] = "gzip"
        return Call("POST", url, (), headers, body, safe=True)


def batches(items: Iterable[Item], most_items: int, most_bytes: int) -> Iterator[list[Item]]:
    """The items in order, in batches of at most so many items, and of so many bytes where they are more than one."""
    batch: list[Item] = []
    size = 0
    for item in items:
        length = len(encode_item(item))
        if batch and (len(batch) >= most_items or size + length > most_bytes):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += length
    if batch:
        yield batch
