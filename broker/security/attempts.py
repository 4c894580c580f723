"""How often an address may be wrong: what makes guessing secrets and identities slow."""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from typing import TYPE_CHECKING

from triplewire.broker.errors import TooManyRequests

from .sites import site_of

if TYPE_CHECKING:
    from collections.abc import Callable

WINDOW_S = 60.0
_ADDRESSES = 10_000


class Attempts:
    """Failures by address within the last minute; on the event loop only."""

    def __init__(self, limit: int, now: Callable[[], float] = time.monotonic) -> None:
        """`limit` failures are one too many for more; 0: any number."""
        self._limit = limit
        self._now = now
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()

    def __len__(self) -> int:
        """How many addresses are remembered."""
        return len(self._failures)

    def check(self, address: str) -> None:
        """Called before something that can fail is tried.

        Raises:
            TooManyRequests: the address has failed too often; `retry_after_s` says when to come back.
        """
        failures = self._failures.get(site_of(address))
        if failures is None or len(failures) < self._limit:
            return
        wait_s = failures[0] + WINDOW_S - self._now()
        if wait_s > 0:
            error = TooManyRequests(
                f"{self._limit} wrong secrets or registrations from this address within a minute"
                " (security.attempts)"
            )
            error.retry_after_s = math.ceil(wait_s)
            raise error

    def failed(self, address: str) -> None:
        """Something failed; the address that did so first is forgotten when there are too many."""
        if not self._limit:
            return
        holder = site_of(address)
        failures = self._failures.setdefault(holder, deque(maxlen=self._limit))
        failures.append(self._now())
        self._failures.move_to_end(holder)
        while len(self._failures) > _ADDRESSES:
            self._failures.popitem(last=False)
