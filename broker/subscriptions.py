"""Who holds which query: subscriptions by id and by subscriber, and one unit for all that hold an equal query."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING
from uuid import uuid4

from triplewire.spu.naive import NaiveSpu
from triplewire.spu.shaped import ShapedSpu
from triplewire.spu.watching import Watching

from .errors import TooManyRequests, UnknownSubscription
from .model import Query, Subscribe, SubscriberId, Subscription

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from triplewire.spu.analysis.analysis import Analysis
    from triplewire.spu.shaped import Case
    from triplewire.spu.unit import Spu

    from .config import LimitsConfig
    from .model import Bindings, BindingsDelta, Dataset, QuadDelta, Term


_NUMBER = attrgetter("number")


@dataclass(slots=True, eq=False)
class Held:
    """A unit with the subscriptions that it serves, in the order they came.

    `key` is what equal or like queries share.  A unit of a shape has `cases`: who holds which, and by which constants.
    """

    key: Hashable
    unit: Spu | ShapedSpu
    analysis: Analysis | None = None
    number: int = 0
    subscriptions: dict[str, Subscription] = field(default_factory=dict)
    cases: dict[Case, dict[str, Subscription]] = field(default_factory=dict)
    by_constants: dict[tuple[Term, ...], list[Case]] = field(default_factory=dict)

    def first(self, query: Query, dataset: Dataset) -> Bindings:
        """The present answer to one of its queries.  Raises BrokerError."""
        if isinstance(self.unit, ShapedSpu):
            return self.unit.first(query, dataset)
        return self.unit.first(dataset)

    def changes(
        self, delta: QuadDelta | None, dataset: Dataset
    ) -> Iterator[tuple[BindingsDelta, Iterable[Subscription]]]:
        """What the update just written changed, and for whom.  Raises BrokerError."""
        if isinstance(self.unit, ShapedSpu):
            for case, change in self.unit.changes(dataset, self.by_constants).items():
                yield change, self.cases[case].values()
        elif change := self.unit.after(delta, dataset):
            yield change, self.subscriptions.values()

    def join(self, subscription: Subscription, case: Case | None) -> None:
        """Serve one more."""
        self.subscriptions[subscription.spuid] = subscription
        if case is not None:
            if case not in self.cases:
                self.by_constants.setdefault(case.constants, []).append(case)
            self.cases.setdefault(case, {})[subscription.spuid] = subscription

    def leave(self, spuid: str, case: Case | None) -> None:
        """Serve one less."""
        del self.subscriptions[spuid]
        if case is None:
            return
        del self.cases[case][spuid]
        if not self.cases[case]:
            del self.cases[case]
            self.by_constants[case.constants].remove(case)
            if not self.by_constants[case.constants]:
                del self.by_constants[case.constants]


class Subscriptions:
    """All subscriptions of the broker; it lives on the core thread."""

    def __init__(
        self,
        limits: LimitsConfig,
        unit: Callable[[Query], Spu] = NaiveSpu,
        analyse: Callable[[Query], Analysis] | None = None,
    ) -> None:
        """Without `analyse` every change is taken to touch every query."""
        self._limits = limits
        self._unit = unit
        self._analyse = analyse
        self._watching: Watching[Held] = Watching()
        self._numbers = count(1)
        self._held: dict[Hashable, Held] = {}
        self._by_id: dict[str, tuple[Held, Case | None]] = {}
        self._by_subscriber: dict[SubscriberId, set[str]] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def units(self) -> int:
        """How many different queries are held."""
        return len(self._held)

    def check_room(self, subscriber: SubscriberId) -> None:
        """Refuse what would be one too many.

        Raises:
            TooManyRequests: with the limit that is reached.
        """
        if len(self._by_id) >= self._limits.subscriptions:
            raise TooManyRequests(f"the broker holds {len(self._by_id)} subscriptions (limits.subscriptions)")
        if len(self._by_subscriber.get(subscriber, ())) >= self._limits.subscriptions_per_socket:
            raise TooManyRequests(
                f"this connection holds {self._limits.subscriptions_per_socket} subscriptions "
                "(limits.subscriptions_per_socket)"
            )

    def unit_of(self, query: Query) -> Held:
        """The unit of an equal query, or a new one that nobody holds yet."""
        analysis = self._analyse(query) if self._analyse is not None else None
        if analysis is not None and analysis.lifted is not None:
            assert self._analyse is not None
            key = ("shape", analysis.lifted.query, analysis.lifted.variables)
            held = self._held.get(key)
            if held is not None:
                return held
            shaped = ShapedSpu.of(analysis, self._analyse)
            if shaped is not None:
                unit, general = shaped
                return Held(key, unit, general, next(self._numbers))
        return self._held.get(query) or Held(query, self._unit(query), analysis, next(self._numbers))

    def add(self, held: Held, request: Subscribe) -> Subscription:
        """A new subscription to `held`."""
        spuid = f"sepa://subscription/{uuid4()}"
        subscription = Subscription(spuid, request.query, request.subscriber, request.alias)
        if held.key not in self._held:
            self._held[held.key] = held
            if held.analysis is not None:
                self._watching.add(held, held.analysis)
        case = self._case(held, request.query)
        held.join(subscription, case)
        self._by_id[spuid] = held, case
        self._by_subscriber.setdefault(request.subscriber, set()).add(spuid)
        return subscription

    def remove(self, spuid: str, subscriber: SubscriberId) -> None:
        """End a subscription; with its last, a unit goes too.

        Raises:
            UnknownSubscription: there is none of this id that belongs to `subscriber`.
        """
        if spuid not in self._by_subscriber.get(subscriber, ()):
            raise UnknownSubscription(f"there is no subscription {spuid:.200} on this connection")
        self._drop(spuid, subscriber)

    def leave(self, subscriber: SubscriberId) -> int:
        """End all subscriptions of a connection; how many."""
        spuids = list(self._by_subscriber.get(subscriber, ()))
        for spuid in spuids:
            self._drop(spuid, subscriber)
        return len(spuids)

    def end(self, held: Held) -> None:
        """End all subscriptions to a unit."""
        for subscription in list(held.subscriptions.values()):
            self._drop(subscription.spuid, subscription.subscriber)

    def _case(self, held: Held, query: Query) -> Case | None:
        if not isinstance(held.unit, ShapedSpu):
            return None
        assert self._analyse is not None
        return ShapedSpu.case_of(self._analyse(query))

    def touched(self, delta: QuadDelta | None) -> list[Held]:
        """The units whose answer the change could touch, the oldest first; all of them where it is not known."""
        if delta is None or (delta and self._analyse is None):
            return list(self._held.values())
        return sorted(self._watching.touched(delta), key=_NUMBER) if delta else []

    def _drop(self, spuid: str, subscriber: SubscriberId) -> None:
        held, case = self._by_id.pop(spuid)
        held.leave(spuid, case)
        if not held.subscriptions:
            del self._held[held.key]
            if held.analysis is not None:
                self._watching.remove(held, held.analysis)
        mine = self._by_subscriber[subscriber]
        mine.discard(spuid)
        if not mine:
            del self._by_subscriber[subscriber]
