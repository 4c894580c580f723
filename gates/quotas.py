"""How much one client, and one address, may ask of the broker: requests and bytes a second, and what is open at once.

A rate is kept as one moment, the one until which it is used up: each request moves it on by what it is worth (the generic
cell rate algorithm, ITU-T I.371, A.1), and may come while the moment is not farther off than the burst.  Bytes are
counted after they have come, so whoever sent too many waits until they are paid off.

What is known of somebody with nothing open is at most a full burst, so the table may forget those that were not heard
of for longest.  Nobody who has something open is forgotten; the other limits bound how many those are.

On the event loop only: nothing here waits, and there are no locks.
"""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, TypeAlias

from triplewire.broker.errors import TooManyRequests
from triplewire.broker.security.sites import site_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.broker.config import LimitsConfig

Opened: TypeAlias = Literal["queries", "subscriptions", "sockets"]

# Of clients, and as many of addresses: those who have nothing open.
KNOWN = 100_000
_BURST_BYTES_S = 1.0  # so many seconds' bytes may come at once


class Quotas:
    """The limits on clients (by client_id, "" where nobody has to say who they are) and on their addresses.

    `None` stands for an address that is not known, as on a Unix socket; it has no limits.
    """

    def __init__(
        self, limits: LimitsConfig, now: Callable[[], float] = time.monotonic, known: int = KNOWN
    ) -> None:
        clients = _Side("this client", "client", _of_clients(limits), known)
        addresses = _Side("this address", "address", _of_addresses(limits), known)
        self._now = now
        self._clients = clients if clients.limited else None
        self._addresses = addresses if addresses.limited else None

    def request(self, client: str, address: str | None) -> None:
        """One more request, or one more message on a socket.

        Raises:
            TooManyRequests: there are too many a second, or too many bytes have come; this one is not counted.
        """
        found = self._who(client, address)
        if found:
            now = self._now()
            for side, account in found:
                side.may_ask(account, now)
            for side, account in found:
                side.asked(account, now)

    def received(self, client: str, address: str | None, size: int) -> None:
        """So many bytes have come: of a body, or a message on a socket.  They count against the next `request`."""
        for side, account in self._who(client, address):
            side.sent(account, size, self._now())

    def take(self, what: Opened, client: str, address: str | None) -> None:
        """One more is open, until `give`.

        Raises:
            TooManyRequests: as many as may be are; this one is not counted.
        """
        found = self._who(client, address)
        for side, account in found:
            side.may_open(account, what)
        for side, account in found:
            side.opened(account, what)

    def give(self, what: Opened, client: str, address: str | None, count: int = 1) -> None:
        """What was taken is not open any more."""
        for side, account in self._who(client, address):
            side.closed(account, what, count)

    def holding(self, what: Opened, client: str, address: str | None) -> Held:
        """The same for a `with`: taken at its start, given at its end."""
        return Held(self, what, client, address)

    def _who(self, client: str, address: str | None) -> tuple[tuple[_Side, _Account], ...]:
        clients = self._clients if client else None
        addresses = self._addresses if address else None
        if clients is None:
            if addresses is None:
                return ()
            assert address is not None
            return ((addresses, addresses.account(site_of(address))),)
        if addresses is None:
            return ((clients, clients.account(client)),)
        assert address is not None
        return ((clients, clients.account(client)), (addresses, addresses.account(site_of(address))))


class Held:
    """One that is open for as long as a `with` lasts; see `Quotas.take`."""

    __slots__ = ("_quotas", "_what", "_who")

    def __init__(self, quotas: Quotas, what: Opened, client: str, address: str | None) -> None:
        self._quotas = quotas
        self._what: Opened = what
        self._who = (client, address)

    def __enter__(self) -> Self:
        self._quotas.take(self._what, *self._who)
        return self

    def __exit__(self, *_: object) -> None:
        self._quotas.give(self._what, *self._who)


class Holdings:
    """What one connection that stays has open, for one client or several, so that its end gives all of it back."""

    def __init__(self, quotas: Quotas, address: str | None) -> None:
        """Raises TooManyRequests: the address has as many sockets as it may have."""
        self._quotas = quotas
        self._address = address
        self._taken: Counter[tuple[Opened, str, str | None]] = Counter()
        self._take("sockets", "", address)

    def message(self, client: str, size: int) -> None:
        """A message of so many bytes has come, by a client that may be another than before.

        Raises:
            TooManyRequests: it is one too many, or the client has as many sockets as it may have.
        """
        self._quotas.request(client, self._address)
        self._quotas.received(client, self._address, size)
        if client and not self._taken["sockets", client, None]:
            self._take("sockets", client, None)

    def subscribe(self, client: str) -> None:
        """One more subscription; raises TooManyRequests."""
        self._take("subscriptions", client, self._address)

    def unsubscribe(self, client: str) -> None:
        """One less; nothing where there is none."""
        key: tuple[Opened, str, str | None] = ("subscriptions", client, self._address)
        if self._taken[key]:
            self._taken[key] -= 1
            self._quotas.give(*key)

    def close(self) -> None:
        """The connection is gone."""
        for key, count in self._taken.items():
            if count:
                self._quotas.give(*key, count)
        self._taken.clear()

    def _take(self, what: Opened, client: str, address: str | None) -> None:
        self._quotas.take(what, client, address)
        self._taken[what, client, address] += 1


class _Most(NamedTuple):
    """The limits on each client, or each address; 0 is none."""

    requests_s: float
    burst: int
    queries: int
    subscriptions: int
    sockets: int
    bytes_s: float


def _of_clients(limits: LimitsConfig) -> _Most:
    return _Most(
        limits.client_requests_s,
        limits.client_burst,
        limits.client_queries,
        limits.client_subscriptions,
        limits.client_sockets,
        limits.client_bytes_s,
    )


def _of_addresses(limits: LimitsConfig) -> _Most:
    return _Most(
        limits.address_requests_s,
        limits.address_burst,
        limits.address_queries,
        limits.address_subscriptions,
        limits.address_sockets,
        limits.address_bytes_s,
    )


class _Account:
    """What is known of one client or address; `requests` and `bytes` are the moments until which they are used up."""

    __slots__ = ("bytes", "key", "open", "queries", "requests", "sockets", "subscriptions")

    def __init__(self, key: str) -> None:
        self.key = key
        self.requests = self.bytes = -math.inf
        self.queries = self.subscriptions = self.sockets = 0
        self.open = 0


class _Side:
    """The limits on all clients, or on all addresses, and what is known of each."""

    def __init__(self, whose: str, side: str, most: _Most, known: int) -> None:
        self._whose, self._side, self._most, self._known = whose, side, most, known
        self._step = 1 / most.requests_s if most.requests_s else 0.0
        self._ahead = max(most.burst - 1, 0) * self._step + 1e-9  # of a clock's rounding
        self._idle: OrderedDict[str, _Account] = OrderedDict()
        self._busy: dict[str, _Account] = {}

    @property
    def limited(self) -> bool:
        return any(self._most._replace(burst=0))

    def account(self, key: str) -> _Account:
        found = self._busy.get(key)
        if found is not None:
            return found
        found = self._idle.get(key)
        if found is not None:
            self._idle.move_to_end(key)
            return found
        found = self._idle[key] = _Account(key)
        self._forget()
        return found

    def may_ask(self, account: _Account, now: float) -> None:
        if account.requests - now > self._ahead:
            over = f"sends more than {self._most.requests_s:g} requests a second ({self._name('requests_s')})"
            raise self._refused(over, account.requests - now - self._ahead)
        if account.bytes - now > _BURST_BYTES_S:
            over = f"has sent more than {self._most.bytes_s:g} bytes a second ({self._name('bytes_s')})"
            raise self._refused(over, account.bytes - now - _BURST_BYTES_S)

    def asked(self, account: _Account, now: float) -> None:
        if self._step:
            account.requests = max(now, account.requests) + self._step

    def sent(self, account: _Account, size: int, now: float) -> None:
        if self._most.bytes_s:
            account.bytes = max(account.bytes, now) + size / self._most.bytes_s

    def may_open(self, account: _Account, what: Opened) -> None:
        most = getattr(self._most, what)
        if most and getattr(account, what) >= most:
            raise self._refused(f"has {most} {what} open, and may have no more ({self._name(what)})", 1)

    def opened(self, account: _Account, what: Opened) -> None:
        setattr(account, what, getattr(account, what) + 1)
        account.open += 1
        if account.open == 1:
            self._busy[account.key] = self._idle.pop(account.key)

    def closed(self, account: _Account, what: Opened, count: int) -> None:
        setattr(account, what, getattr(account, what) - count)
        account.open -= count
        assert getattr(account, what) >= 0, f"more {what} were given than taken"
        if not account.open:
            self._idle[account.key] = self._busy.pop(account.key)
            self._forget()

    def _forget(self) -> None:
        if len(self._idle) > self._known:
            self._idle.popitem(last=False)

    def _name(self, setting: str) -> str:
        return f"limits.{self._side}_{setting}"

    def _refused(self, over: str, wait_s: float) -> TooManyRequests:
        error = TooManyRequests(f"{self._whose} {over}")
        error.retry_after_s = max(1, math.ceil(wait_s))
        return error
