"""Consumers whose tokens may end while they follow: their response ends with it, and they have to ask again."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, NamedTuple

from triplewire.broker.errors import BrokerError, Overloaded
from triplewire.broker.rights import OPEN, Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.broker.rights import Access
    from triplewire.broker.security.authority import Judge

    from .consumers import Consumer


class _Held(NamedTuple):
    token: str | None
    expires: float
    stream: str


class Lapses:
    """Those who follow by a token; who need none, or one that is good for ever in an open broker, are not among them."""

    def __init__(self, judge: Judge, now: Callable[[], float] = time.time) -> None:
        self._judge = judge
        self._now = now
        self._held: dict[Consumer, _Held] = {}

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, consumer: Consumer, token: str | None, access: Access, stream: str) -> None:
        """It follows as long as its token is good for that."""
        if access is not OPEN:
            self._held[consumer] = _Held(token, access.expires, stream)

    def drop(self, consumer: Consumer) -> None:
        """It has gone."""
        self._held.pop(consumer, None)

    def expire(self) -> None:
        """End those whose tokens have expired."""
        now = self._now()
        for consumer, held in tuple(self._held.items()):
            if held.expires <= now:
                self._end(consumer)

    async def judge_again(self) -> None:
        """Something was revoked, or permissions are others: each token is judged once more."""
        good: dict[tuple[str | None, str], float] = {}
        for consumer, held in tuple(self._held.items()):
            key = (held.token, held.stream)
            if key not in good:
                good[key] = await self._good_until(held)
            if consumer in self._held and good[key] <= self._now():  # it may have gone meanwhile
                self._end(consumer)

    async def _good_until(self, held: _Held) -> float:
        try:
            access = await self._judge.access(held.token)
            access.need(Scope.SUBSCRIBE)
        except Overloaded:
            return held.expires  # nobody can say just now
        except BrokerError:
            return -math.inf
        return access.expires if access.rights.may_follow(held.stream) else -math.inf

    def _end(self, consumer: Consumer) -> None:
        self.drop(consumer)
        consumer.end()
