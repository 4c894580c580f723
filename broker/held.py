"""A unit and those who hold its queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from triplewire.spu.explanation import method
from triplewire.spu.shaped import ShapedSpu

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator

    from triplewire.spu.analysis.analysis import Analysis
    from triplewire.spu.cases import Case
    from triplewire.spu.unit import Spu

    from .model import Bindings, BindingsDelta, Dataset, QuadDelta, Query, Subscription


@dataclass(slots=True, eq=False)
class Held:
    """A unit with the subscriptions that it serves, by the case that each is; None where there are no cases.

    `key` is what equal or like queries share; `number` tells which unit is older.  Of most cases there is one
    subscription, which stands for itself: with a million of them, a dictionary for each would be half of the memory.
    """

    key: Hashable
    unit: Spu | ShapedSpu
    analysis: Analysis | None = None
    number: int = 0
    cases: dict[Case | None, Subscription | dict[str, Subscription]] = field(default_factory=dict)

    def case_of(self, query: Query, analysis: Analysis | None) -> Case | None:
        """Which case a query is."""
        if not isinstance(self.unit, ShapedSpu):
            return None
        assert analysis is not None, "without it there are no cases"
        return self.unit.case_of(analysis, shared=self.key != query)

    def first(self, query: Query, case: Case | None, dataset: Dataset) -> Bindings:
        """The present answer to one of its queries.  Raises BrokerError."""
        if isinstance(self.unit, ShapedSpu):
            assert case is not None
            return self.unit.first(query, case, dataset)
        return self.unit.first(dataset)

    def changes(
        self, delta: QuadDelta | None, dataset: Dataset
    ) -> Iterator[tuple[BindingsDelta, Collection[Subscription]]]:
        """What the update just written changed, and for whom.  Raises BrokerError."""
        if isinstance(self.unit, ShapedSpu):
            for case, change in self.unit.after(delta, dataset).items():
                yield change, self._of(case)
        elif change := self.unit.after(delta, dataset):
            yield change, self._of(None)

    def join(self, subscription: Subscription, case: Case | None) -> None:
        """Serve one more."""
        there = self.cases.get(case)
        if there is None:
            self.cases[case] = subscription
            if case is not None:
                assert isinstance(self.unit, ShapedSpu)
                self.unit.join(case)
        elif isinstance(there, dict):
            there[subscription.spuid] = subscription
        else:
            self.cases[case] = {there.spuid: there, subscription.spuid: subscription}

    def leave(self, spuid: str, case: Case | None) -> None:
        """Serve one less."""
        there = self.cases[case]
        if isinstance(there, dict):
            del there[spuid]
            if there:
                return
        del self.cases[case]
        if case is not None:
            assert isinstance(self.unit, ShapedSpu)
            self.unit.leave(case)

    def find(self, spuid: str, case: Case | None) -> Subscription:
        """The one of this id, which must be there."""
        there = self.cases[case]
        return there[spuid] if isinstance(there, dict) else there

    @property
    def kind(self) -> tuple[str, str]:
        """How its answer is followed, and the form of its query in small letters; "" where that is not known."""
        form = None if self.analysis is None else self.analysis.form
        return method(self.unit), "" if form is None else form.value.lower()

    @property
    def subscriptions(self) -> list[Subscription]:
        """All of them."""
        return [subscription for case in self.cases for subscription in self._of(case)]

    @property
    def example(self) -> Query | None:
        """One of its queries, on any thread; None where they are just changing."""
        try:
            there = next(iter(self.cases.values()))
            if isinstance(there, dict):
                there = next(iter(there.values()))
        except (StopIteration, RuntimeError):  # the core thread has changed it meanwhile
            return None
        return there.query

    def _of(self, case: Case | None) -> Collection[Subscription]:
        there = self.cases[case]
        return there.values() if isinstance(there, dict) else (there,)
