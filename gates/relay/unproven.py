"""What nodes say that is signed by trackers whose keys are not known yet, and all that they say behind it, in order.

A JOIN or a certificate means nothing before its signature is looked at, and what is said of a chain nothing before its
certificate.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .link import Link
    from .messages import Message

log = logging.getLogger("triplewire.gates.relay")

_MOST: Final = 1_000  # messages of all links together


class Unproven:
    """Messages that wait until `learn` has asked the trackers for their keys; `tell` is given each of them then."""

    def __init__(self, learn: Callable[[], Awaitable[None]], tell: Callable[[Link, Message], None]) -> None:
        self._learn = learn
        self._tell = tell
        self._waiting: list[tuple[Link, Message]] = []
        self._learning: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def holds(self, link: Link) -> bool:
        """Whether something of that link waits."""
        return any(one is link for one, _ in self._waiting)

    def put(self, link: Link, message: Message) -> None:
        """This one has to wait; a link of which too much would have to is cut, and is told all of it anew later."""
        if len(self._waiting) >= _MOST:
            log.info("! %s says too much that is signed by who is not known yet; the link is cut", link.peer)
            link.cut()
            return
        self._waiting.append((link, message))
        if self._learning is None:
            self._learning = asyncio.create_task(self._prove())

    async def _prove(self) -> None:
        try:
            await self._learn()
        except Exception:  # whose keys are not known then is refused
            log.exception("! the trackers' keys can't be had")
        self._learning = None
        waiting, self._waiting = self._waiting, []
        for link, message in waiting:
            link.handle(partial(self._tell, link, message))

    async def close(self) -> None:
        """Nothing waits any more."""
        self._waiting.clear()
        if self._learning is not None:
            self._learning.cancel()
            await asyncio.gather(self._learning, return_exceptions=True)
