"""What the stream port's clients may use: the broker's quotas, in its process or asked for by a worker.

Consumers count as server-sent events do on the HTTP port: the connection as a socket of its address, the response as a
subscription of its client and address.  A long poll is a connection and a request.

Over a quota a consumer is answered by 503, as Ztreamy's never come back after a 4xx (facts 1.9), and a publisher by 429.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import fields
from typing import TYPE_CHECKING, Protocol, TypeAlias

from triplewire.broker.errors import ShuttingDown
from triplewire.gates.quotas import Opened

from .channel import Gave, Received, Requested, Take

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from triplewire.broker.config import LimitsConfig
    from triplewire.gates.quotas import Quotas

    from .channel import Asking, Channel

# What is open, of which client, at which address: "" and None stand for nobody.
Key: TypeAlias = tuple[Opened, str, str | None]


class Accounts(Protocol):
    """See `Quotas`; what is returned is to be waited for."""

    def request(self, client: str, address: str | None) -> Awaitable[None] | None:
        """One more; raises TooManyRequests, at once or later."""

    def received(self, client: str, address: str | None, size: int) -> None:
        """So many bytes."""

    def take(self, key: Key) -> Awaitable[None] | None:
        """One more is open; raises TooManyRequests, at once or later."""

    def give(self, key: Key) -> None:
        """One less."""

    def counts(self, client: str, address: str | None) -> bool:
        """Whether there are limits on either."""


class OwnAccounts:
    """Those of this process."""

    def __init__(self, quotas: Quotas, limits: LimitsConfig) -> None:
        self._quotas = quotas
        self._limited = _Limited(limits)

    def counts(self, client: str, address: str | None) -> bool:
        """See `Accounts`."""
        return self._limited.counts(client, address)

    def request(self, client: str, address: str | None) -> None:
        """See `Accounts`."""
        self._quotas.request(client, address)

    def received(self, client: str, address: str | None, size: int) -> None:
        """See `Accounts`."""
        self._quotas.received(client, address, size)

    def take(self, key: Key) -> None:
        """See `Accounts`."""
        self._quotas.take(*key)

    def give(self, key: Key) -> None:
        """See `Accounts`."""
        self._quotas.give(*key)


class AskedAccounts:
    """Those of the main process, as a worker has them; it is not asked about whom no limit is for."""

    def __init__(self, channel: Channel, asking: Asking, limits: LimitsConfig) -> None:
        self._channel = channel
        self._asking = asking
        self._limited = _Limited(limits)

    def counts(self, client: str, address: str | None) -> bool:
        """See `Accounts`."""
        return self._limited.counts(client, address)

    def request(self, client: str, address: str | None) -> Awaitable[None] | None:
        """See `Accounts`."""
        return self._asking.ask(Requested(client, address)) if self.counts(client, address) else None

    def received(self, client: str, address: str | None, size: int) -> None:
        """See `Accounts`."""
        if self.counts(client, address):
            self._channel.send(Received(client, address, size))

    def take(self, key: Key) -> Awaitable[None] | None:
        """See `Accounts`."""
        return self._asking.ask(Take(*key)) if self.counts(*key[1:]) else None

    def give(self, key: Key) -> None:
        """See `Accounts`."""
        if self.counts(*key[1:]):
            self._channel.send(Gave(*key))


class Ledger:
    """What the clients of one worker have open, as the main process knows it: whatever becomes of it, it is given back."""

    def __init__(self, quotas: Quotas) -> None:
        self._quotas = quotas
        self._taken: Counter[Key] = Counter()
        self._closed = False

    def take(self, key: Key) -> None:
        """One more; raises TooManyRequests."""
        if self._closed:
            raise ShuttingDown("the worker has gone")
        self._quotas.take(*key)
        self._taken[key] += 1

    def give(self, key: Key) -> None:
        """One less, of those that were taken."""
        if self._taken[key]:
            self._quotas.give(*key)
            self._taken[key] -= 1
        if not self._taken[key]:
            del self._taken[key]

    def close(self) -> None:
        """The worker has gone; may be called again."""
        self._closed = True
        for key, count in self._taken.items():
            self._quotas.give(*key, count)
        self._taken.clear()


class Hold:
    """One place on an account, from when it is asked for until `give`."""

    __slots__ = ("_accounts", "_asked", "_given", "_key")

    def __init__(self, accounts: Accounts, key: Key) -> None:
        """Raises TooManyRequests where that is known at once; else `sure` does."""
        self._accounts = accounts
        self._key = key
        self._given = False
        asked = accounts.take(key)
        self._asked = None if asked is None else asyncio.ensure_future(asked)

    async def sure(self) -> None:
        """Return when it is taken; raises TooManyRequests where it can't be."""
        if self._asked is not None:
            await asyncio.shield(self._asked)

    def when_refused(self, refused: Callable[[], object]) -> None:
        """Call `refused` where it turns out that it can't be taken."""
        if self._asked is not None:
            self._asked.add_done_callback(lambda asked: None if _is_taken(asked) else refused())

    def give(self) -> None:
        """It is not needed any more; may be called again, and before it is sure."""
        if self._given:
            return
        self._given = True
        if self._asked is None:
            self._accounts.give(self._key)
        else:  # the channel keeps the order: not before it is known that it was taken
            self._asked.add_done_callback(self._give_back)

    def _give_back(self, asked: asyncio.Future[None]) -> None:
        if _is_taken(asked):
            self._accounts.give(self._key)


def _is_taken(asked: asyncio.Future[None]) -> bool:
    return not asked.cancelled() and asked.exception() is None


class _Limited:
    """For whom there are limits at all, which each worker can tell by itself."""

    def __init__(self, limits: LimitsConfig) -> None:
        self._clients = _any(limits, "client_")
        self._addresses = _any(limits, "address_")

    def counts(self, client: str, address: str | None) -> bool:
        return bool((client and self._clients) or (address and self._addresses))


def _any(limits: LimitsConfig, side: str) -> bool:
    names = [setting.name for setting in fields(limits) if setting.name.startswith(side)]
    return any(getattr(limits, name) for name in names if not name.endswith("burst"))
