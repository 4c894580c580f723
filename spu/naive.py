"""The unit that every other is measured by: evaluate the whole query again, compare the bags.

This is SEPA's method, with two corrections: an answer is a bag (a row that comes twice has come twice), and blank
nodes compare by identity.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from triplewire.broker.model import BindingsDelta

from .construct import StableConstruct

if TYPE_CHECKING:
    from triplewire.broker.model import Bindings, Dataset, QuadDelta, Query, Row


class NaiveSpu:
    """Keeps the last answer; costs one evaluation for each update, and the answer's memory."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._construct = StableConstruct.of(query)
        self._answer: Bindings | None = None
        self._bag: Counter[Row] = Counter()

    def first(self, dataset: Dataset) -> Bindings:
        """See `Spu`; evaluated once, so that NOW() or RAND() give every subscriber the same first results."""
        if self._answer is None:
            self._keep(self._evaluate(dataset))
        assert self._answer is not None
        return self._answer

    def before(self, delta: QuadDelta | None, dataset: Dataset) -> None:
        """Nothing: the answer is kept."""

    def after(self, delta: QuadDelta | None, dataset: Dataset) -> BindingsDelta:  # noqa: ARG002 - any change is looked at
        """See `Spu`."""
        answer = self._evaluate(dataset)
        previous = self._bag
        if self._answer is not None and answer.rows == self._answer.rows:
            return BindingsDelta(answer.vars, Counter(), Counter())
        self._keep(answer)
        return BindingsDelta.between(answer.vars, previous, self._bag)

    def _keep(self, answer: Bindings) -> None:
        self._answer = answer
        self._bag = answer.bag()

    def _evaluate(self, dataset: Dataset) -> Bindings:
        if self._construct is not None:
            return self._construct.evaluate(dataset)
        return dataset.evaluate(self._query)
