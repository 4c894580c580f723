"""Many users in one process, each of whom sends messages to every other: the chat as a measure of a broker."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import AsyncExitStack
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from .client import Client
from .messages import Listener

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from pyoxigraph import NamedNode

    from triplewire.clients import ClientSettings
    from triplewire.jsap import Profile

    from .messages import Message

# A message makes four notifications: SENT and RECEIVED each gain a row and lose it again.
EVENTS = 4


@dataclass(slots=True)
class Totals:
    """What all clients have counted together."""

    sent: int = 0
    received: int = 0  # at their receivers
    delivered: int = 0  # and known so at their senders
    removed: int = 0
    known: int = 0  # receivers who know that their senders know
    events: int = 0
    errors: int = 0

    def is_complete(self, messages: int) -> bool:
        """Whether everything has happened that this many messages make happen, and nothing else."""
        expected = Totals(
            sent=messages,
            received=messages,
            delivered=messages,
            removed=messages,
            known=messages,
            events=EVENTS * messages,
        )
        return self == expected

    def lines(self) -> list[str]:
        """For people."""
        return [f"{field.name:<10}{getattr(self, field.name)}" for field in fields(self)]


class Tally(Listener):
    """Counts for all clients."""

    def __init__(self) -> None:
        self.totals = Totals()
        self.moved = asyncio.Event()

    def on_message(self, message: Message) -> None:
        """See `Listener`."""
        del message
        self.totals.received += 1

    def on_known(self, message: NamedNode) -> None:
        """See `Listener`."""
        del message
        self.totals.known += 1

    def on_delivered(self, message: NamedNode) -> None:
        """See `Listener`."""
        del message
        self.totals.delivered += 1

    def on_removed(self, message: NamedNode) -> None:
        """See `Listener`."""
        del message
        self.totals.removed += 1
        self.moved.set()

    def on_event(self) -> None:
        """See `Listener`."""
        self.totals.events += 1
        self.moved.set()

    def on_error(self, error: Exception) -> None:
        """See `Listener`."""
        del error
        self.totals.errors += 1
        self.moved.set()

    async def comes_to(self, condition: Callable[[Totals], bool], patience_s: float) -> bool:
        """Wait for it; False where nothing has moved for so long."""
        while not condition(self.totals):
            self.moved.clear()
            try:
                async with asyncio.timeout(patience_s):
                    await self.moved.wait()
            except TimeoutError:
                return condition(self.totals)
        return True


async def all_to_all(
    profile: Profile,
    clients: int,
    messages: int,
    *,
    patience_s: float = 30.0,
    settings: ClientSettings | None = None,
) -> Totals:
    """Every user sends so many messages to every other; returns when all is done, or when nothing moves any more.

    Users have names of their own in each run, so nothing that is in the store before counts.

    Raises:
        ClientError: the broker can't be reached, or refuses.
    """
    run = uuid.uuid4().hex[:8]
    tally = Tally()
    async with AsyncExitStack() as stack:
        users = [
            await stack.enter_async_context(Client(profile, f"{run}-{number}", tally, settings))
            for number in range(clients)
        ]
        await _all_of([_talk(user, users, messages, tally) for user in users])
        total = clients * (clients - 1) * messages
        await tally.comes_to(lambda totals: totals.is_complete(total), patience_s)
        counted = replace(
            tally.totals
        )  # leaving takes a user's messages out of the answers, where some are left
        for user in users:
            await user.leave()
    return counted


async def _all_of(works: Sequence[Coroutine[Any, Any, None]]) -> None:
    """All of them, or the first error."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _talk(user: Client, users: Sequence[Client], messages: int, tally: Tally) -> None:
    for number in range(messages):
        for other in users:
            if other is not user:
                await user.say(other.user, f"message {number} from {user.name} to {other.name}")
                tally.totals.sent += 1
