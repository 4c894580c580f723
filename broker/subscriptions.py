"""Who holds which query: subscriptions by id and by subscriber, and one unit for all that hold an equal query."""

from __future__ import annotations

from collections import Counter
from heapq import nlargest
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from triplewire.spu.choice import chosen, shared_key
from triplewire.spu.explanation import explained
from triplewire.spu.naive import NaiveSpu
from triplewire.spu.watching import Watching

from .errors import TooManyRequests, UnknownSubscription
from .guard import check_query
from .heap import Heap
from .held import Held
from .model import Query, Subscribe, SubscriberId, Subscription

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from triplewire.spu.analysis.analysis import Analysis
    from triplewire.spu.cases import Case
    from triplewire.spu.unit import Spu

    from .config import LimitsConfig
    from .model import Candidates, QuadDelta


_NUMBER = attrgetter("number")


class Subscriptions:
    """All subscriptions of the broker; it lives on the core thread."""

    def __init__(
        self,
        limits: LimitsConfig,
        unit: Callable[[Query], Spu] = NaiveSpu,
        analyse: Callable[[Query], Analysis] | None = None,
        *,
        exact: bool = True,
    ) -> None:
        """Without `analyse` every change is taken to touch every query.

        Where changes are not `exact`, all queries are served by a `unit` of their own.
        """
        self._limits = limits
        self._unit = unit
        self._analyse = analyse
        self._exact = exact
        self._watching: Watching[Held] = Watching()
        self._numbers = count(1)
        self._held: dict[Hashable, Held] = {}
        self._by_id: dict[str, tuple[Held, Case | None]] = {}
        self._by_subscriber: dict[SubscriberId, set[str]] = {}
        self._heap = Heap()
        self._kinds: Counter[tuple[str, str]] = Counter()
        self._unit_kinds: Counter[tuple[str, str]] = Counter()

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def units(self) -> int:
        """How many different queries are held."""
        return len(self._held)

    def kinds(self) -> list[dict[str, Any]]:
        """How many subscriptions and units there are by kind (`Held.kind`), on any thread."""
        units = self._unit_kinds.copy()
        return [
            {"followed": kind[0], "form": kind[1], "subscriptions": count, "units": units[kind]}
            for kind, count in self._kinds.copy().items()
        ]

    def told(self, most: int) -> list[dict[str, Any]]:
        """What is held, for operators, on any thread: the units with the most cases first, at most so many.

        Of each an example of its query, how its answer is followed, and how many different queries it serves.
        """
        held = nlargest(most, tuple(self._held.values()), key=lambda one: len(one.cases))
        return [
            {
                "query": query.sparql,
                "followed": explained(one.analysis, one.unit),
                "cases": len(one.cases),
            }
            for one in held
            if (query := one.example) is not None
        ]

    def check_room(self, subscriber: SubscriberId, instead_of: str | None = None) -> None:
        """Refuse what would be one too many, where it does not come `instead_of` another one.

        Raises:
            TooManyRequests: with the limit that is reached.
        """
        if len(self._by_id) - (instead_of in self._by_id) >= self._limits.subscriptions:
            raise TooManyRequests(f"the broker holds {len(self._by_id)} subscriptions (limits.subscriptions)")
        if len(self._by_subscriber.get(subscriber, ())) >= self._limits.subscriptions_per_socket:
            raise TooManyRequests(
                f"this connection holds {self._limits.subscriptions_per_socket} subscriptions "
                "(limits.subscriptions_per_socket)"
            )

    def unit_of(self, query: Query) -> tuple[Held, Case | None]:
        """The unit of an equal or like query, or a new one that nobody holds yet; and which case it is.

        Raises:
            RequestTooLarge: the query is longer, or more complex, than the limits allow.
        """
        check_query(query.sparql, self._limits)
        if self._analyse is None:
            return self._held.get(query) or Held(query, self._unit(query), None, next(self._numbers)), None
        analysis = self._analyse(query)
        held = self._held.get(shared_key(analysis)) if self._exact else None
        held = held or self._held.get(query) or self._new(analysis)
        return held, held.case_of(query, analysis)

    def _new(self, analysis: Analysis) -> Held:
        assert self._analyse is not None
        if self._exact:
            choice = chosen(analysis, self._analyse, self._limits.answer_rows)
            if choice is not None:
                return Held(choice.key, choice.unit, choice.analysis, next(self._numbers))
        return Held(analysis.query, self._unit(analysis.query), analysis, next(self._numbers))

    def add(self, held: Held, case: Case | None, request: Subscribe) -> Subscription:
        """A new subscription to `held`."""
        spuid = f"sepa://subscription/{uuid4()}"
        subscription = Subscription(
            spuid, request.query, request.subscriber, request.alias, client=request.client
        )
        if held.key not in self._held:
            self._held[held.key] = held
            self._unit_kinds[held.kind] += 1
            if held.analysis is not None:
                self._watching.add(held, held.analysis)
        held.join(subscription, case)
        self._kinds[held.kind] += 1
        self._by_id[spuid] = held, case
        self._by_subscriber.setdefault(request.subscriber, set()).add(spuid)
        self._heap.hold(len(self._by_id))
        return subscription

    def remove(self, spuid: str, subscriber: SubscriberId) -> None:
        """End a subscription; with its last, a unit goes too.

        Raises:
            UnknownSubscription: there is none of this id that belongs to `subscriber`.
        """
        if spuid not in self._by_subscriber.get(subscriber, ()):
            raise UnknownSubscription(f"there is no subscription {spuid:.200} on this connection")
        self._drop(spuid, subscriber)

    def take_over(self, request: Subscribe) -> bool:
        """Give the subscription that a client is back for to its new connection; False where there is none such."""
        assert request.resume is not None
        spuid = request.resume.spuid
        if spuid not in self._by_id or request.resume.sequence is None:
            return False
        held, case = self._by_id[spuid]
        subscription = held.find(spuid, case)
        if subscription.query != request.query or subscription.client != request.client:
            return False
        self._disown(spuid, subscription.subscriber)
        self._by_subscriber.setdefault(request.subscriber, set()).add(spuid)
        subscription.subscriber, subscription.alias = request.subscriber, request.alias
        return True

    def end_one(self, spuid: str) -> None:
        """End a subscription, whoever owns it, where it is there."""
        if spuid in self._by_id:
            held, case = self._by_id[spuid]
            self._drop(spuid, held.find(spuid, case).subscriber)

    def leave(self, subscriber: SubscriberId, keep: frozenset[str] = frozenset()) -> int:
        """End all subscriptions of a connection but those to keep; how many."""
        spuids = self._by_subscriber.get(subscriber, set()) - keep
        for spuid in spuids:
            self._drop(spuid, subscriber)
        self._heap.hold(len(self._by_id))
        return len(spuids)

    def end(self, held: Held) -> None:
        """End all subscriptions to a unit."""
        for subscription in held.subscriptions:
            self._drop(subscription.spuid, subscription.subscriber)

    def touched(self, delta: QuadDelta | Candidates | None) -> list[Held]:
        """The units whose answer the change could touch, the oldest first; all of them where it is not known."""
        if delta is None or (delta and self._analyse is None):
            return list(self._held.values())
        return sorted(self._watching.touched(delta), key=_NUMBER) if delta else []

    def _drop(self, spuid: str, subscriber: SubscriberId) -> None:
        held, case = self._by_id.pop(spuid)
        held.leave(spuid, case)
        self._kinds[held.kind] -= 1
        if not held.cases:
            del self._held[held.key]
            self._unit_kinds[held.kind] -= 1
            if held.analysis is not None:
                self._watching.remove(held, held.analysis)
        self._disown(spuid, subscriber)

    def _disown(self, spuid: str, subscriber: SubscriberId) -> None:
        mine = self._by_subscriber[subscriber]
        mine.discard(spuid)
        if not mine:
            del self._by_subscriber[subscriber]
