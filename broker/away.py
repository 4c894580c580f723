"""Lost connections: for a while their outboxes stay, and their clients can come back to their subscriptions.

Lives on the event loop, beside the scheduler.  What is kept has two bounds: limits.resume_s for each connection, and
limits.resumable for the subscriptions of all, of which the oldest go first.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from .config import LimitsConfig
    from .model import BindingsDelta, Message, Notification, SubscriberId


class Inbox(Protocol):
    """Where a subscriber's messages go; never blocks."""

    def put(self, message: Message) -> None:
        """Take one message, to be sent after all that came before."""

    def begin(self, first: Notification) -> None:
        """The same for the answer to the subscribe of a resumable subscription."""

    def finish(self) -> None:
        """Nothing more comes."""

    def lose(self) -> frozenset[str]:
        """The connection is gone: from now on keep only what a client that is back must be told.

        Returns the subscriptions, by spuid, that it could come back for.
        """
        ...

    def reaches(self, spuid: str, sequence: int) -> bool:
        """Whether all is known that came after this notification."""
        ...

    def hand_over(self, spuid: str, sequence: int) -> BindingsDelta | None:
        """What came after it, as one change, and no more of this subscription; None where it is not known."""
        ...


@dataclass(slots=True)
class _Lost:
    inbox: Inbox
    until: float


class Away:
    """The lost connections, in the order of their loss, and who owns which resumable subscription."""

    def __init__(
        self, limits: LimitsConfig, loop: asyncio.AbstractEventLoop, end: Callable[[SubscriberId], object]
    ) -> None:
        """`end` is called when a connection is waited for no longer."""
        self._limits = limits
        self._loop = loop
        self._end = end
        self._lost: dict[SubscriberId, _Lost] = {}
        self._owners: dict[str, tuple[SubscriberId, str]] = {}
        self._owned: dict[SubscriberId, set[str]] = {}
        self._asked: Counter[SubscriberId] = Counter()
        self._timer: asyncio.TimerHandle | None = None
        self.subscriptions = 0  # of lost connections

    def __len__(self) -> int:
        """How many connections are waited for."""
        return len(self._lost)

    def own(self, spuid: str, subscriber: SubscriberId, client: str = "") -> None:
        """This open connection holds it now, for that client."""
        self._owners[spuid] = subscriber, client
        self._owned.setdefault(subscriber, set()).add(spuid)

    def owner(self, spuid: str, client: str = "") -> SubscriberId | None:
        """The connection, open or lost, of a resumable subscription; None where it is another client's."""
        subscriber, its = self._owners.get(spuid, (None, client))
        return subscriber if its == client else None

    def ended(self, spuid: str) -> None:
        """A subscription has ended, or goes elsewhere."""
        if spuid not in self._owners:
            return
        subscriber, _ = self._owners.pop(spuid)
        owned = self._owned[subscriber]
        owned.discard(spuid)
        if subscriber in self._lost:
            self.subscriptions -= 1
        if not owned:
            del self._owned[subscriber]
            self._lost.pop(subscriber, None)

    def forget(self, subscriber: SubscriberId) -> None:
        """A connection has ended, and all that it held."""
        for spuid in tuple(self._owned.get(subscriber, ())):
            self.ended(spuid)

    def wait_for(self, subscriber: SubscriberId, inbox: Inbox, spuids: frozenset[str]) -> None:
        """A connection was lost; its client may come back for these subscriptions, of which there is one at least."""
        for spuid in self._owned[subscriber] - spuids:
            self.ended(spuid)
        self._lost[subscriber] = _Lost(inbox, self._loop.time() + self._limits.resume_s)
        self.subscriptions += len(spuids)
        for oldest in tuple(self._lost):
            if self.subscriptions <= self._limits.resumable:
                break
            if oldest not in self._asked:
                self._give_up(oldest)
        self._arm()

    def inbox(self, subscriber: SubscriberId) -> Inbox | None:
        """That of a lost connection."""
        lost = self._lost.get(subscriber)
        return lost.inbox if lost is not None else None

    def hold(self, subscriber: SubscriberId) -> None:
        """Its client is back and waits for its turn: until then it is kept, however long that takes."""
        self._asked[subscriber] += 1

    def release(self, subscriber: SubscriberId) -> None:
        """The turn has come."""
        self._asked[subscriber] -= 1
        if not self._asked[subscriber]:
            del self._asked[subscriber]

    def hand_over(self, spuid: str, sequence: int) -> BindingsDelta | None:
        """What came after that notification, as one change, and no more of it; None where it is not known."""
        inbox = self.inbox(self._owners.get(spuid, (0, ""))[0])
        change = inbox.hand_over(spuid, sequence) if inbox is not None else None
        self.ended(spuid)
        return change

    def close(self) -> None:
        """Nobody is waited for any more."""
        if self._timer is not None:
            self._timer.cancel()
        self._lost.clear()

    def _give_up(self, subscriber: SubscriberId) -> None:
        self.forget(subscriber)
        self._end(subscriber)

    def _arm(self) -> None:
        if self._timer is None and self._lost:
            self._timer = self._loop.call_at(next(iter(self._lost.values())).until, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = self._loop.time()
        for subscriber, lost in tuple(self._lost.items()):
            if lost.until > now:
                break
            if subscriber in self._asked:
                del self._lost[subscriber]  # to the end of the line
                self._lost[subscriber] = _Lost(lost.inbox, now + self._limits.resume_s)
            else:
                self._give_up(subscriber)
        self._arm()
