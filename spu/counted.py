"""COUNT, kept up to date by counting: as many more as solutions came, as many less as went.

For queries whose columns are group keys and counts of solutions.  What was counted is kept, for each group a number; so
the millionth row costs what the tenth did.  As in `shaped`, one unit serves all queries that differ in constants.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from pyoxigraph import Literal

from triplewire.broker.model import Bindings, BindingsDelta, QueryForm

from .shaped import ShapedSpu

if TYPE_CHECKING:
    from triplewire.broker.model import Dataset, QuadDelta, Query, Row, Term

    from .analysis.analysis import Analysis
    from .cases import Case
    from .changes import Changes

    Key: TypeAlias = tuple[Term | None, ...]


class CountedSpu(ShapedSpu):
    """The unit of a shape of counts."""

    def __init__(self, general: Analysis, solutions: Changes, lifted: tuple[str, ...]) -> None:
        """`solutions` are the changed rows of what `general` counts."""
        super().__init__(solutions, lifted, QueryForm.SELECT)
        self._keys = tuple(key.value for key in general.group_keys or () if key.value not in lifted)
        self._counted: dict[Case, Counter[Key]] = {}

    def leave(self, case: Case) -> None:
        """See `ShapedSpu`."""
        super().leave(case)
        self._counted.pop(case, None)

    def first(self, query: Query, case: Case, dataset: Dataset) -> Bindings:
        """See `ShapedSpu`."""
        answer = dataset.evaluate(query)
        if case not in self._counted:
            places = {name: place for place, name in enumerate(answer.vars)}
            count = next(place for name, place in places.items() if name not in self._keys)
            self._counted[case] = Counter(
                {tuple([row[places[key]] for key in self._keys]): _number(row[count]) for row in answer.rows}
            )
        return answer

    def after(self, delta: QuadDelta | None, dataset: Dataset) -> dict[Case, BindingsDelta]:
        """See `ShapedSpu`."""
        came, went = self.way.after(delta, dataset)
        changed: dict[Case, Counter[Key]] = {}
        places = self.way.places
        for rows, sign in ((came, 1), (went, -1)):
            for row, count in rows.items():
                key = tuple([row[places[name]] for name in self._keys])
                for case in self._cases.of(row, places):
                    changed.setdefault(case, Counter())[key] += sign * count
        changes = {case: self._change(case, more) for case, more in changed.items()}
        return {case: change for case, change in changes.items() if change}

    def _change(self, case: Case, more: Counter[Key]) -> BindingsDelta:
        counted = self._counted[case]
        added: Counter[Row] = Counter()
        removed: Counter[Row] = Counter()
        for key, count in more.items():
            before = counted[key]
            if count == 0:
                continue
            # A group is there with its first solution; where nothing is grouped, there is always one.
            if before or not self._keys:
                removed[self._row(case, key, before)] += 1
            if before + count or not self._keys:
                counted[key] = before + count
                added[self._row(case, key, before + count)] += 1
            else:
                del counted[key]
        return BindingsDelta(case.names, added, removed)

    def _row(self, case: Case, key: Key, count: int) -> Row:
        values = dict(zip(self._keys, key, strict=True))
        return tuple([values[name] if name in values else Literal(count) for name in case.names])


def _number(count: Term | None) -> int:
    assert isinstance(count, Literal), "COUNT is a number"
    return int(count.value)
