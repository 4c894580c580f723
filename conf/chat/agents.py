"""The two aggregators of a chat client; its third agent, the sender, is a producer of SEND and needs no code."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from triplewire.clients import AsyncAggregator
from triplewire.conf.persistence import persistently

from .messages import Answer, Message, iri

if TYPE_CHECKING:
    from pyoxigraph import NamedNode

    from triplewire.broker.model import Notification
    from triplewire.clients import ClientSettings, Solution
    from triplewire.jsap import Profile

    from .messages import Listener


class _Agent(AsyncAggregator):
    """Follows messages and makes one update for each; the update may be made twice, as the profile's can."""

    def __init__(
        self,
        profile: Profile,
        query_id: str,
        update_id: str,
        listener: Listener,
        settings: ClientSettings | None,
    ) -> None:
        super().__init__(profile, query_id, update_id, settings=settings)
        self._listener = listener
        self._messages = Answer()
        self._stopping = asyncio.Event()

    async def on_first_results(self, rows: list[Solution]) -> None:
        """What came while the user was away is as good as what comes now."""
        await self.on_added(rows)

    def on_notification(self, notification: Notification) -> None:
        """Counted, and no more: rows come to the other methods."""
        del notification
        self._listener.on_event()

    async def on_added(self, rows: list[Solution]) -> None:
        """One update for each message, in turn; the next notification is read when all are made."""
        for row in self._messages.added(rows):
            self.appeared(row)
            update = partial(self.update, message=iri(row, "message"))
            await persistently(update, self._settings, self._stopping)

    def on_removed(self, rows: list[Solution]) -> None:
        """Messages that are no longer in the answer."""
        for message in self._messages.removed(rows):
            self.vanished(message)

    def on_error(self, error: Exception) -> None:
        """The agent's own failures as well as the broker's."""
        self._listener.on_error(error)

    async def close(self) -> None:
        """Close both connections; an update that the broker is away for is given up."""
        self._stopping.set()
        await super().close()

    def appeared(self, row: Solution) -> None:
        """A message is in the answer now."""

    def vanished(self, message: NamedNode) -> None:
        """A message is in the answer no longer."""


class Receiver(_Agent):
    """Hears of messages to its user, and says that they have come."""

    def __init__(self, profile: Profile, listener: Listener, settings: ClientSettings | None = None) -> None:
        super().__init__(profile, "SENT", "SET_RECEIVED", listener, settings)

    def appeared(self, row: Solution) -> None:
        """A message has come."""
        self._listener.on_message(Message.of(row))

    def vanished(self, message: NamedNode) -> None:
        """Its sender has taken it away, so its sender knows."""
        self._listener.on_known(message)


class Remover(_Agent):
    """Hears which messages from its user have come, and takes them away."""

    def __init__(self, profile: Profile, listener: Listener, settings: ClientSettings | None = None) -> None:
        super().__init__(profile, "RECEIVED", "REMOVE", listener, settings)

    def appeared(self, row: Solution) -> None:
        """A message has come to its receiver."""
        self._listener.on_delivered(iri(row, "message"))

    def vanished(self, message: NamedNode) -> None:
        """It is out of the store."""
        self._listener.on_removed(message)
