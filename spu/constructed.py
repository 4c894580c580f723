"""CONSTRUCT: the changed solutions, put into the template; a triple goes with the last solution that makes it.

How many solutions make each triple is kept, and where the template has blank nodes, which are made anew for each
solution, how often there is each.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from triplewire.broker.errors import RequestError
from triplewire.broker.model import Bindings, BindingsDelta

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triplewire.broker.model import Dataset, QuadDelta, Query, Row

    from .changes import Changes
    from .construct import Template

_NAMES = ("subject", "predicate", "object")


class ConstructedSpu:
    """The unit of one CONSTRUCT query."""

    def __init__(self, query: Query, solutions: Query, template: Template, changes: Changes) -> None:
        """`solutions` is the query for what the template is filled with."""
        self._query = query
        self._solutions = solutions
        self._template = template
        self.way = changes
        self._triples: Counter[Row] | None = None
        self._seen: Counter[Row] = Counter()

    def first(self, dataset: Dataset) -> Bindings:
        """See `Spu`."""
        if self._triples is None:
            answer = self._evaluate(dataset)
            self._triples = Counter()
            places = {name: place for place, name in enumerate(answer.vars)}
            self._count(Counter(answer.rows), places, self._triples, 1)
        return Bindings(_NAMES, tuple(self._triples))

    def _evaluate(self, dataset: Dataset) -> Bindings:
        try:
            self._template.read(dataset)
            return dataset.evaluate(self._solutions)
        except RequestError:
            dataset.evaluate(self._query)  # what is wrong is told of the sender's own text
            raise

    def before(self, delta: QuadDelta | None, dataset: Dataset) -> None:
        """See `Spu`."""
        self.way.before(delta, dataset)

    def after(self, delta: QuadDelta | None, dataset: Dataset) -> BindingsDelta:
        """See `Spu`."""
        came, went = self.way.after(delta, dataset)
        assert self._triples is not None, "the first results were asked for"
        change: Counter[Row] = Counter()
        self._count(went, self.way.places, change, -1)
        self._count(came, self.way.places, change, 1)
        added: Counter[Row] = Counter()
        removed: Counter[Row] = Counter()
        for triple, count in change.items():
            if count == 0:
                continue
            was = self._triples[triple]
            self._triples[triple] = was + count
            if was == 0:
                added[triple] = 1
            elif was + count == 0:
                removed[triple] = 1
                del self._triples[triple]
        return BindingsDelta(_NAMES, added, removed)

    def _count(self, rows: Counter[Row], places: Mapping[str, int], into: Counter[Row], sign: int) -> None:
        """Add to `into` the triples that these solutions make, or take them away."""
        names = self._template.variables
        for row, count in rows.items():
            values = {name: row[places[name]] if name in places else None for name in names}
            if not self._template.has_blanks:
                for triple in set(self._template.filled(values, 0)):
                    into[triple] += sign * count
                continue
            shown = tuple(values.values())
            for _ in range(count):
                if sign < 0:
                    number = self._seen[shown]
                    self._seen[shown] -= 1
                else:
                    self._seen[shown] += 1
                    number = self._seen[shown]
                for triple in set(self._template.filled(values, number)):
                    into[triple] += sign
            if not self._seen[shown]:
                del self._seen[shown]
