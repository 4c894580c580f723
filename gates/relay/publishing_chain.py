"""A node's own chain in one stream: what is published here gets its number, and leaves in parcels that the node signs.

The first items of a quiet chain leave at once; what comes within `parcel_s` after a parcel shares the next one, up to
`parcel_bytes`.  So a burst costs few signatures, and a lone item no delay.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from triplewire.broker.errors import EngineError
from triplewire.broker.wire.items import encode_item

from .parcels import LIMITS, chain_name, prove, seal
from .tracker_key import encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from triplewire.broker.overlay_config import RelayConfig
    from triplewire.broker.wire.items import Item

    from .counted import Counted
    from .parcels import Parcel

log = logging.getLogger("triplewire.gates.relay")


class PublishingChain:
    """A chain with a key of its own, `key` in base64url, as is `proof` that it has it; `send` is given each parcel.

    `token` is its newest certificate, `expires` the end of that in seconds since the epoch.
    """

    def __init__(
        self,
        stream: str,
        node: str,
        config: RelayConfig,
        counted: Counted,
        send: Callable[[Parcel], None],
    ) -> None:
        self._private = Ed25519PrivateKey.generate()
        public = self._private.public_key().public_bytes_raw()
        self.key = encoded(public)
        self.name = chain_name(stream, node, public)
        self.proof = encoded(prove(stream, node, self._private))
        self.token = ""
        self.expires = 0.0
        self._config = config
        self._counted = counted
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._next = 1
        self._waiting: list[Item] = []
        self._bytes = 0
        self._left: asyncio.Future[None] | None = None  # what waits has left
        self._sent_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def append(self, items: Sequence[Item]) -> list[asyncio.Future[None]]:
        """These are next; what to await until all of them have left."""
        leaving: list[asyncio.Future[None]] = []
        for item in items:
            size = len(encode_item(item))
            if self._waiting and self._bytes + size > self._config.parcel_bytes:
                self.flush()
            self._waiting.append(item)
            self._bytes += size
            if self._left is None:
                self._left = self._loop.create_future()
            if not leaving or leaving[-1] is not self._left:
                leaving.append(self._left)
            if len(self._waiting) >= LIMITS.items:
                self.flush()
        if self._waiting and self._timer is None:
            wait_s = self._sent_at + self._config.parcel_s - self._loop.time()
            if wait_s <= 0:
                self.flush()
            else:
                self._timer = self._loop.call_later(wait_s, self.flush)
        return leaving

    def flush(self) -> None:
        """What waits leaves now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        items, left = self._waiting, self._left
        if not items or left is None:
            return
        self._waiting, self._bytes, self._left = [], 0, None
        self._sent_at = self._loop.time()
        try:
            parcel = seal(self.name, self._next, items, self._private)
        except ValueError as error:  # an item that is larger than any that can be published
            left.set_exception(EngineError(f"{len(items)} items can't leave: {error}"))
            left.exception()  # whoever published them may have given up: nobody need ask
            return
        self._next = parcel.last + 1
        self._counted.published += 1
        self._counted.published_items += parcel.count
        try:
            self._send(parcel)
        except Exception as error:
            log.exception("! %d items could not leave", len(items))
            left.set_exception(EngineError(f"{len(items)} items could not leave: {error!r:.200}"))
            left.exception()
        else:
            left.set_result(None)


async def all_left(leaving: Sequence[asyncio.Future[None]]) -> None:
    """Wait until all have left, whoever else waits for the same.

    Raises:
        BrokerError: some can't.
    """
    for left in leaving:
        await asyncio.shield(left)
