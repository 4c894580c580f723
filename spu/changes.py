"""How the rows of a query that come and go with an update are found, without its answer being kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

    from triplewire.broker.model import Dataset, QuadDelta, Row


class Changes(Protocol):
    """A query's changed rows; it lives on the core thread."""

    @property
    def places(self) -> Mapping[str, int]:
        """Where each variable is in a row."""
        ...

    @property
    def words(self) -> str:
        """How they are found, for people."""
        ...

    def before(self, delta: QuadDelta | None, dataset: Dataset) -> None:
        """An update is about to be written: exactly `delta`, or None where the change is not known.

        Raises:
            BrokerError: the query can't be evaluated.
        """

    def after(self, delta: QuadDelta | None, dataset: Dataset) -> tuple[Counter[Row], Counter[Row]]:
        """The rows that came, and those that went, with the update just written; a row may be in both, and cancels.

        Raises:
            BrokerError: the query can't be evaluated.
        """
        ...
