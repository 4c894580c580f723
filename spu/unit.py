"""What every subscription processing unit is: the one question of the core, asked in two halves.

A unit holds one query for all the subscriptions to it.  Around each update that could touch the query the core asks it
twice: `before` the write, so that a unit without a kept answer can look at the rows that will go, and `after` it, for
what has changed.  A unit that keeps its answer has nothing to do before.  Whatever a unit's method, its deltas are
those of `NaiveSpu` on the same inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from triplewire.broker.model import Bindings, BindingsDelta, Dataset, QuadDelta


class Spu(Protocol):
    """One query's subscription processing unit; it lives on the core thread."""

    def first(self, dataset: Dataset) -> Bindings:
        """The present answer, in its order; asked at each subscribe.

        Raises:
            BrokerError: the query can't be evaluated.
        """
        ...

    def before(self, delta: QuadDelta | None, dataset: Dataset) -> None:
        """An update is about to be written: exactly `delta`, or None where the change is not known.

        It may fail to be written: then `after` is not asked, and the next `before` starts anew.
        """

    def after(self, delta: QuadDelta | None, dataset: Dataset) -> BindingsDelta:
        """What the update just written changed in the answer.

        Raises:
            BrokerError: the query can no longer be evaluated; the unit is of no more use.
        """
        ...
