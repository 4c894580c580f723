"""Aggregates by group key: only the groups that have gained or lost solutions are evaluated again.

Which they are, the changed solutions of the WHERE tell; what a group's rows were is kept, as told: evaluated again,
a sum of doubles may differ in its last digit, and of `1` and `1.0` either is the least.  A group of its own is
evaluated by giving its keys to the store, all of them at once where that is cheaper.  As in `shaped`, one unit serves all
queries that differ in constants.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from pyoxigraph import Variable

from triplewire.broker.model import Bindings, BindingsDelta, QueryForm

from .costs import Costs
from .shaped import ShapedSpu, picker

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from triplewire.broker.model import Dataset, QuadDelta, Query, Row, Term

    from .analysis.analysis import Analysis
    from .cases import Case
    from .changes import Changes

    Key: TypeAlias = tuple[Term | None, ...]
    Groups: TypeAlias = dict[Key, tuple[Row, ...]]


class GroupedSpu(ShapedSpu):
    """The unit of a shape of aggregates; it keeps the answers of the cases that are wanted, by their groups."""

    def __init__(self, general: Analysis, solutions: Changes, lifted: tuple[str, ...]) -> None:
        """`solutions` are the changed rows of what `general` groups."""
        super().__init__(solutions, lifted, QueryForm.SELECT)
        assert general.group_keys is not None, "it has groups"
        self._lifted = tuple(map(Variable, lifted))
        self._keys = tuple(key for key in general.group_keys if key.value not in lifted)
        self._asked, self._place = general.restricting(general.group_keys)
        self._kept: dict[Case, Groups] = {}
        self._costs = Costs()

    def leave(self, case: Case) -> None:
        """See `ShapedSpu`."""
        super().leave(case)
        self._kept.pop(case, None)

    def first(self, query: Query, case: Case, dataset: Dataset) -> Bindings:
        """See `ShapedSpu`."""
        answer = dataset.evaluate(query)  # in the order that it asks for
        kept = self._kept.get(case)
        if kept is None:
            kept = self._kept[case] = self._evaluate(case, [{}], dataset)
        told = Counter(row for rows in kept.values() for row in rows)
        if told == answer.bag():
            return answer
        return _as_told(answer, told, {key.value for key in self._keys})

    def after(self, delta: QuadDelta | None, dataset: Dataset) -> dict[Case, BindingsDelta]:
        """See `ShapedSpu`."""
        came, went = self.way.after(delta, dataset)
        changes = {}
        for case, keys in self._groups(came, went).items():
            change = self._change(case, keys, dataset)
            if change:
                changes[case] = change
        return changes

    def _groups(self, *bags: Counter[Row]) -> dict[Case, dict[Key, None]]:
        """The groups that have gained or lost a solution."""
        found: dict[Case, dict[Key, None]] = {}
        places = self.way.places
        for row in (row for bag in bags for row in bag):
            key = tuple([row[places[name.value]] for name in self._keys])
            for case in self._cases.of(row, places):
                found.setdefault(case, {})[key] = None
        return found

    def _change(self, case: Case, keys: dict[Key, None], dataset: Dataset) -> BindingsDelta:
        kept = self._kept[case]
        added: Counter[Row] = Counter()
        removed: Counter[Row] = Counter()
        for key, rows in self._now(case, keys, dataset).items():
            before = kept.get(key, ())
            if rows == before:
                continue
            added.update(rows)
            removed.update(before)
            if rows:
                kept[key] = rows
            else:
                del kept[key]
        return BindingsDelta(case.names, added - removed, removed - added)

    def _now(self, case: Case, keys: Iterable[Key], dataset: Dataset) -> Groups:
        """The present rows of these groups; of a group that is gone, none."""
        wanted = list(keys)
        began = time.perf_counter()
        if self._costs.is_worth(len(wanted)):
            given = [dict(zip(self._keys, key, strict=True)) for key in wanted]
            found = self._evaluate(case, given, dataset)  # type: ignore[arg-type]  # certain, so bound
            self._costs.saw_keys(len(wanted), time.perf_counter() - began)
        else:
            found = self._evaluate(case, [{}], dataset)
            self._costs.saw_whole(time.perf_counter() - began)
        return {key: found.get(key, ()) for key in wanted}

    def _evaluate(self, case: Case, given: list[dict[Variable, Term]], dataset: Dataset) -> Groups:
        """The groups with these keys; of none, all of them."""
        constants = dict(zip(self._lifted, case.constants, strict=True))
        known = [{**constants, **keys} for keys in given]
        answer = dataset.evaluate(self._asked, known if known[0] else None, self._place)
        places = {name: place for place, name in enumerate(answer.vars)}
        shown = picker(case.columns, places)
        own = [places[key.value] for key in self._keys]
        found: dict[Key, list[Row]] = {}
        for row in answer.rows:
            found.setdefault(tuple([row[place] for place in own]), []).append(shown(row))
        # Sorted, as equal bags must be equal here.
        return {
            key: tuple(sorted(rows, key=str)) if len(rows) > 1 else tuple(rows) for key, rows in found.items()
        }


def _as_told(fresh: Bindings, told: Counter[Row], keys: Collection[str]) -> Bindings:
    """The rows that are told, each in the place of a fresh one of the same keys, as far as those are shown."""
    places = [place for place, name in enumerate(fresh.vars) if name in keys]
    others: dict[Row, list[Row]] = {}
    for row in (told - fresh.bag()).elements():
        others.setdefault(tuple([row[place] for place in places]), []).append(row)
    rows: list[Row] = []
    left = told.copy()
    for row in fresh.rows:
        if left[row] > 0:
            left[row] -= 1
            rows.append(row)
        elif found := others.get(tuple([row[place] for place in places])):
            rows.append(found.pop())
    return Bindings(fresh.vars, (*rows, *(row for found in others.values() for row in found)))
