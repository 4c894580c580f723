"""One unit for all queries that differ in constants only: the changed rows of the query that they are cases of.

Nothing is kept between updates but, for ASK, whether it is true.  The rows of the general query that came and went are
dealt to the cases by their constants.  A million cases cost one look for changes.  A query that shares with none is a
case of itself.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from pyoxigraph import Literal, Variable

from triplewire.broker.model import Bindings, BindingsDelta, QueryForm

from .cases import Case, Cases

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from triplewire.broker.model import Dataset, QuadDelta, Query, Row, Term

    from .analysis.analysis import Analysis
    from .changes import Changes

_TRUE, _FALSE = (Literal(True),), (Literal(False),)
_BOOLEAN = ("boolean",)
# Where a column is a constant, it is another for each case, and there is nothing to be had in common.
_FEW = 16


class ShapedSpu:
    """The unit of a shape; what it is asked `before` an update is answered by `after` it, for each case."""

    def __init__(self, changes: Changes, lifted: tuple[str, ...], form: QueryForm) -> None:
        self.way = changes
        self._form = form
        self._cases = Cases(lifted)
        self._columns: dict[
            tuple[tuple[Variable | Term, ...], tuple[str, ...]],
            tuple[tuple[Variable | Term, ...], tuple[str, ...]],
        ] = {}
        # Of ASK: the query, and whether it was true.
        self._truths: dict[Case, tuple[Query, bool]] = {}

    def case_of(self, analysis: Analysis, *, shared: bool) -> Case:
        """Which case a query is; one that does not share the unit with others is the only one."""
        lifted = analysis.lifted
        if lifted is None or not shared:
            return Case((), *self._alike(analysis.projected, analysis.projected))
        return Case(lifted.constants, *self._alike(lifted.columns, analysis.projected), lifted.conditions)

    def _alike(
        self, columns: tuple[Variable | Term, ...], projected: tuple[Variable, ...]
    ) -> tuple[tuple[Variable | Term, ...], tuple[str, ...]]:
        """Columns and names, once for all cases that have the same."""
        found = columns, tuple(variable.value for variable in projected)
        if len(self._columns) < _FEW:
            return self._columns.setdefault(found, found)
        return self._columns.get(found, found)

    def join(self, case: Case) -> None:
        """There is somebody who wants the case."""
        self._cases.add(case)

    def leave(self, case: Case) -> None:
        """Nobody wants it any more."""
        self._cases.remove(case)
        self._truths.pop(case, None)

    def first(self, query: Query, case: Case, dataset: Dataset) -> Bindings:
        """The present answer of one case.  Raises BrokerError."""
        answer = dataset.evaluate(query)
        if self._form is QueryForm.ASK:
            self._truths[case] = query, answer.rows == (_TRUE,)
        return answer

    def before(self, delta: QuadDelta | None, dataset: Dataset) -> None:
        """See `Spu`."""
        self.way.before(delta, dataset)

    def after(self, delta: QuadDelta | None, dataset: Dataset) -> dict[Case, BindingsDelta]:
        """What the update just written changed, for each case that it changed.

        Raises:
            BrokerError: the query can no longer be evaluated.
        """
        came, went = self.way.after(delta, dataset)
        if not came and not went:
            return {}
        met = self._met(came, went)
        if self._form is QueryForm.ASK:
            changes = {
                case: self._flipped(case, dataset, came=rows[0] < len(came)) for case, rows in met.items()
            }
        else:
            changes = self._changes(met, [*came.items(), *went.items()], len(came))
        return {case: change for case, change in changes.items() if change}

    def _met(self, *bags: Counter[Row]) -> dict[Case, tuple[int, ...]]:
        """Which of the rows each case has, by their numbers."""
        places = self.way.places
        found: dict[Case, tuple[int, ...]] = {}
        for number, row in enumerate(chain(*bags)):
            mine = (number,)
            for case in self._cases.of(row, places):
                there = found.get(case)
                found[case] = mine if there is None else there + mine
        return found

    def _changes(
        self, met: dict[Case, tuple[int, ...]], rows: list[tuple[Row, int]], came: int
    ) -> dict[Case, BindingsDelta]:
        """What each case is told; those that show the same of the same rows, the same: it is encoded once.

        The first `came` of the rows have come, the others gone.
        """
        places = self.way.places
        known: dict[tuple[tuple[int, ...], int], BindingsDelta] = {}
        found = {}
        for case, mine in met.items():
            key = (mine, id(case.columns))
            change = known.get(key)
            if change is None or change.vars is not case.names:
                pick = picker(case.columns, places)
                added: Counter[Row] = Counter()
                removed: Counter[Row] = Counter()
                for number in mine:
                    row, count = rows[number]
                    (added if number < came else removed)[pick(row)] += count
                if added and removed:
                    # Rows that differ in what the case does not show cancel each other.
                    added, removed = added - removed, removed - added
                change = known[key] = BindingsDelta(case.names, added, removed)
            found[case] = change
        return found

    def _flipped(self, case: Case, dataset: Dataset, *, came: bool) -> BindingsDelta:
        query, was = self._truths[case]
        # Rows that went may have been the last ones; rows that came are there now.
        now = came or (was and dataset.evaluate(query).rows == (_TRUE,))
        if now == was:
            return BindingsDelta(_BOOLEAN, Counter(), Counter())
        self._truths[case] = query, now
        before, after = (_FALSE, _TRUE) if now else (_TRUE, _FALSE)
        return BindingsDelta(_BOOLEAN, Counter([after]), Counter([before]))


def picker(columns: tuple[Variable | Term, ...], places: Mapping[str, int]) -> Callable[[Row], Row]:
    """What makes of a row one with these columns: a place, a constant, or nothing where no row binds it."""
    found = [
        (places.get(column.value, -1), None) if isinstance(column, Variable) else (-1, column)
        for column in columns
    ]
    if len(found) > 1 and all(place >= 0 for place, _ in found):
        return itemgetter(*(place for place, _ in found))
    return lambda row: tuple([term if place < 0 else row[place] for place, term in found])
