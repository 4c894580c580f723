"""What no neighbour has is asked of the node where its chain begins: a tracker gives a ticket for one link with it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from .messages import Join, Wanted, encode

if TYPE_CHECKING:
    from .counted import Counted
    from .gaps import Want
    from .links import Links
    from .statuses import Neighbour
    from .tickets import Certificate
    from .tracked import Tracked

log = logging.getLogger("triplewire.gates.relay")

_MOST: Final = 4  # nodes at a time that are asked
_ANSWER_S: Final = 2.0  # for the answer, and before the next question to the same node


class Origins:
    """The questions of `node`; each costs the tracker one request, so there are few, whoever publishes what gaps."""

    def __init__(self, node: str, dial_s: float, tracked: Tracked, links: Links, counted: Counted) -> None:
        """`dial_s`: see `relay.dial_s`."""
        self._node = node
        self._dial_s = dial_s
        self._tracked = tracked
        self._links = links
        self._counted = counted
        self._asked: set[str] = set()
        self._dialled: dict[str, tuple[Neighbour, asyncio.Event]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def __contains__(self, peer: str) -> bool:
        return peer in self._dialled

    def target(self, peer: str) -> Neighbour | None:
        """Where to dial a node that is asked; None where it is not."""
        return self._dialled[peer][0] if peer in self._dialled else None

    def opened(self, peer: str) -> None:
        """There is a link to that node."""
        if peer in self._dialled:
            self._dialled[peer][1].set()

    def ask(self, certificate: Certificate, want: Want) -> None:
        """Ask where this chain begins, if that node is not asked already; the answer comes like that of a neighbour."""
        peer = certificate.node
        if self._closed or peer == self._node or peer in self._asked or len(self._asked) >= _MOST:
            return
        self._asked.add(peer)
        task = asyncio.create_task(self._ask(certificate, Wanted(want.chain, want.first, want.last)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ask(self, certificate: Certificate, wanted: Wanted) -> None:
        peer = certificate.node
        try:
            target = await self._tracked.origin(certificate.stream, certificate.chain.hex())
            if target is not None and target.node == peer:
                await self._ask_there(target, Join(certificate.stream, target.ticket), wanted)
            await asyncio.sleep(_ANSWER_S)
        except TimeoutError:
            log.info("! %s, where a chain of %s begins, can't be reached", peer, certificate.stream)
        finally:
            self._dialled.pop(peer, None)
            self._asked.discard(peer)

    async def _ask_there(self, target: Neighbour, join: Join, wanted: Wanted) -> None:
        there = asyncio.Event()
        self._dialled[target.node] = (target, there)
        if self._links.get(target.node) is None:
            self._links.dial(target.node)
            async with asyncio.timeout(self._dial_s):
                await there.wait()
        link = self._links.get(target.node)
        if link is not None:
            self._counted.origins += 1
            link.send(encode(join))
            link.send(encode(wanted))

    async def close(self) -> None:
        """Ask nobody any more."""
        self._closed = True
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
