"""A stream that other processes have as well: what is published here goes to them, and theirs comes here.

**A publisher is answered when its items are kept here and have left for the others.**  Before anything is taken, the
carrier is asked whether it can carry; one that can't refuses, and nothing has happened.  Should items be taken and then
not leave all the same, they are sent later, the publisher is told an error, and nothing more is taken until they have
left: a publisher that sends them again is answered when they have.

Items leave as this stream made them, with its Source-Id among their Aggregator-Ids and with a time.  The others' items
come in the order of their publishers, each once; where one could not be had, an item tells so in its place (`broker/wire/gap_items.py`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from triplewire.broker.errors import BrokerError, EngineError, Overloaded, ShuttingDown
from triplewire.broker.wire.gap_items import Missing, gap_item
from triplewire.broker.wire.item_bodies import check_body
from triplewire.broker.wire.items import TEST_CONNECTION, ItemError
from triplewire.gates.stream.feed_of import FeedOf
from triplewire.gates.stream.joined_source import published

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triplewire.broker.wire.items import Item
    from triplewire.gates.stream.entry import Batch, Entry
    from triplewire.gates.stream.feed import Feed, Receipt

    from .places import Places

log = logging.getLogger("triplewire.gates.relay")

_AGAIN_FIRST_S = 0.2
_AGAIN_LONGEST_S = 5.0
_LAST_S = 5.0  # for what is still to leave at the end
_TAKEN_IN_S = 5.0  # how long what comes may wait


class Sink(Protocol):
    """Where a stream's items from others go.  Both calls return when that is taken, which may last: one at a time."""

    async def take(self, items: Sequence[Item], publisher: str) -> None:
        """These are next of their chain."""

    async def missing(self, chain: str, publisher: str, first: int, last: int) -> None:
        """Items `first` to `last` of a chain could not be had."""


class Carrier(Protocol):
    """Takes items to the others.  All calls are on the event loop."""

    def carry(self, stream: str, sink: Sink, places: Places | None = None) -> None:
        """There is such a stream here: what others publish in it goes to `sink`; `places` where that is kept."""

    async def drop(self, stream: str) -> None:
        """There is none any more."""

    def follow(self, stream: str, followers: int) -> None:
        """So many follow it here now; called whenever that changes."""

    async def ready(self, stream: str) -> None:
        """Return once items of it can be carried, at once where they can; the first call makes this a publisher.

        Raises:
            BrokerError: they can't be: no tracker answers in time, or `is_there` is not (Overloaded), or it lets nobody here
                publish (Forbidden).
        """

    def is_there(self, stream: str) -> bool:
        """Whether the stream is really carried here; False where this node has been out of its overlay for longer than `relay.dial_s`."""

    async def publish(self, stream: str, items: Sequence[Item]) -> None:
        """Carry these; returns when they have left.

        They have their place before the call first waits, so further calls may come meanwhile.

        Raises:
            BrokerError: they have not left, and won't.
        """

    def health(self) -> dict[str, Any]:
        """What happens."""


@dataclass(slots=True)
class CarryingCounts:
    """What has happened to the items of one stream since it was opened."""

    carried: int = 0  # from here to the others
    came: int = 0  # from the others
    unfit: int = 0  # of these, what would have ended those who follow here
    gaps: int = 0  # markers


@dataclass(slots=True)
class _Own:
    """Items that were published here, by their numbers; `left` has what went wrong, or None."""

    first: int
    last: int
    left: asyncio.Future[BrokerError | None] = field(repr=False)


class OverlayFeed(FeedOf):
    """Implements Feed and Sink; `feed` is what keeps, and stores, the items of this process and of the others."""

    def __init__(
        self,
        feed: Feed,
        carrier: Carrier,
        again_s: float = _AGAIN_FIRST_S,
        places: Places | None = None,
        taken_in_s: float = _TAKEN_IN_S,
    ) -> None:
        """What could not leave is tried again after `again_s`, and then less and less often.

        `places` are where the stream stands in its chains, where it is kept.  Where what comes has not been taken in
        `taken_in_s`, the stream is not there.
        """
        super().__init__(feed)
        self.counts = CarryingCounts()
        self.followers = 0
        self._carrier = carrier
        self._places = places
        self._taken_in_s = taken_in_s
        self._taking_since: float | None = None  # what came is still to be taken
        self._again_s = again_s
        self._own: deque[_Own] = deque()  # what was taken in this step of the event loop
        self._leaving: set[asyncio.Task[None]] = set()
        self._behind: list[Item] = []  # what was taken and has not left
        self._mending: asyncio.Task[None] | None = None
        self._ending = False
        # What a process before this one kept: nobody knows whether it has left.
        self._uncertain_until = feed.history.last
        self._certain: set[int] = set()
        self._unlisten = feed.listen_now(self._came)
        carrier.carry(feed.name, self, places)

    @property
    def behind(self) -> int:
        """How many items were taken and have not left, though they should have."""
        return len(self._behind)

    def is_there(self) -> bool:
        """Whether what the others publish comes here, see `Carrier`, and is taken: not where a disk is full, say."""
        since = self._taking_since
        if since is not None and asyncio.get_running_loop().time() - since > self._taken_in_s:
            return False
        return self._carrier.is_there(self.name)

    def followed(self, change: int) -> None:
        """See `Feed`."""
        self.followers += change
        if not self._ending:
            self._carrier.follow(self.name, self.followers)

    async def publish(self, items: Sequence[Item], publisher: str) -> Receipt:
        """See `Feed`; returns when the items have left for the others as well.

        Raises:
            BrokerError: as of `Feed`, or they can't be carried; of what was taken all the same see above.
        """
        await self._carrier.ready(self.name)
        if self._ending:
            raise ShuttingDown(f"the stream {self.name} has left the others")
        self._check_behind()
        uncertain = self._uncertain(items)
        receipt = await self._feed.publish(items, publisher)
        if uncertain:
            self._certain.update(entry.number for entry in uncertain)
            self._send([entry.item for entry in uncertain], [])
        if receipt.taken:
            left = asyncio.get_running_loop().create_future()
            self._own.append(_Own(receipt.last - receipt.taken + 1, receipt.last, left))
            error = await asyncio.shield(left)
            if error is not None:
                raise error
        if receipt.duplicates:
            await self._all_left()
        return receipt

    async def take(self, items: Sequence[Item], publisher: str) -> None:
        """See `Sink`; waits for a store that is behind."""
        fit = [item for item in items if self._fits(item)]
        self.counts.came += len(fit)
        self.counts.unfit += len(items) - len(fit)
        await self._keep(fit, publisher)

    async def missing(self, chain: str, publisher: str, first: int, last: int) -> None:
        """See `Sink`: says so to those who follow."""
        self.counts.gaps += 1
        log.warning("! %s: items %d to %d of the chain %s can't be had", self.name, first, last, chain)
        marker = gap_item(Missing(chain, publisher, first, last), self.source_id)
        await self._keep([marker], publisher)

    async def _keep(self, items: Sequence[Item], publisher: str) -> None:
        self._taking_since = asyncio.get_running_loop().time()
        try:
            await published(self._feed, items, publisher or "the overlay")
        finally:
            self._taking_since = None
        if self._places is not None and self.closed:
            self._places.freeze()  # nobody knows whether they were taken

    async def close(self) -> None:
        """Nothing more is published; what was taken leaves, if that can be in time."""
        if self._ending:
            return
        self._ending = True
        if waiting := self._under_way():
            await asyncio.wait(waiting, timeout=_LAST_S)
        self._unlisten()
        if self._mending is not None:
            self._mending.cancel()
            await asyncio.gather(self._mending, return_exceptions=True)
        if self._behind:
            log.warning("! %s: %d items have not left for the others", self.name, len(self._behind))
        await self._carrier.drop(self.name)

    def _came(self, batch: Batch) -> None:
        """All that was taken in a step, of ours and of others."""
        if self._places is not None:
            for entry in batch.entries:
                if entry.item.command != TEST_CONNECTION:  # which is not kept
                    self._places.took(entry.number)
        items: list[Item] = []
        whole: list[asyncio.Future[BrokerError | None]] = []
        for entry in batch.entries:
            if not self._own:
                break
            own = self._own[0]
            if entry.number >= own.first:
                items.append(entry.item)
            if entry.number == own.last:
                whole.append(self._own.popleft().left)
        if items:
            self._send(items, whole)

    def _send(self, items: list[Item], whole: list[asyncio.Future[BrokerError | None]]) -> None:
        """Whoever publishes may give up; its items leave all the same."""
        task = asyncio.get_running_loop().create_task(self._leave(items, whole))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _leave(self, items: list[Item], whole: list[asyncio.Future[BrokerError | None]]) -> None:
        error = await self._trouble(items)
        if error is not None:
            self._behind += items
            if self._mending is None:
                self._mending = asyncio.get_running_loop().create_task(self._mend())
        for left in whole:
            if not left.done():
                left.set_result(error)

    async def _trouble(self, items: list[Item], *, again: bool = False) -> BrokerError | None:
        """Why these could not leave; `again` where much may have happened since that could be carried at all."""
        try:
            if again:
                await self._carrier.ready(self.name)
            await self._carrier.publish(self.name, items)
        except BrokerError as error:
            log.warning("! %s: %d items could not leave: %.200s", self.name, len(items), error.description)
            return error
        except Exception:
            log.exception("! %s: %d items could not leave", self.name, len(items))
            return EngineError(f"what was published to {self.name} was taken, and could not leave")
        self.counts.carried += len(items)
        return None

    async def _mend(self) -> None:
        wait_s = self._again_s
        while self._behind:
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _AGAIN_LONGEST_S)
            items = self._behind[:]
            if await self._trouble(items, again=True) is None:
                del self._behind[: len(items)]
        self._mending = None

    async def _all_left(self) -> None:
        """What was there already may be on its way still."""
        if waiting := self._under_way():
            await asyncio.wait(waiting)
        self._check_behind()

    def _under_way(self) -> set[asyncio.Future[Any]]:
        return {*self._leaving, *(own.left for own in self._own)}

    def _check_behind(self) -> None:
        if self._behind:
            raise Overloaded(f"{len(self._behind)} items of {self.name} have not left for the others yet")

    def _uncertain(self, items: Sequence[Item]) -> list[Entry]:
        """Those that are kept from before: their publisher may never have been answered."""
        if not self._uncertain_until:
            return []
        history = self._feed.history
        if history.first > self._uncertain_until:
            self._uncertain_until = 0
            self._certain.clear()
            return []
        numbers = {
            history.place(item.event_id) or self._uncertain_until + 1 for item in items
        } - self._certain
        return [
            entry
            for number in sorted(numbers)
            if number <= self._uncertain_until
            for entry in history.since(number - 1, upto=number).entries
        ]

    def _fits(self, item: Item) -> bool:
        """Whether it would end none of those who follow here, whatever another node lets through."""
        try:
            check_body(item)
        except ItemError as error:
            log.warning("! %s passes over an item of another node: %.200s", self.name, error)
            return False
        return True
