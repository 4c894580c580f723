"""The rows of a query that come and go, by evaluating it for what the change has in common with them.

A changed quad that fits into one of the query's patterns has some variables in common with all rows that it can
change: the keys (see `analysis`).  The query is evaluated with these given, before the write and after it.  Where a
pattern that is met has no keys, or there are so many that it would take longer, the whole query is evaluated twice.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from .costs import WHOLE_IN_KEYS, Costs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyoxigraph import Variable

    from triplewire.broker.model import Dataset, QuadDelta, Row, Term

    from .analysis.analysis import Analysis

    Keys = dict[Variable, Term]

# More are not even looked for; so many evaluations would take seconds.
_MOST_KEYS = 20_000


class KeyedRows:
    """See the module; keeps nothing between updates but what evaluations cost."""

    def __init__(self, analysis: Analysis, whole_in_keys: int = WHOLE_IN_KEYS) -> None:
        keys = dict.fromkeys(key for one in analysis.occurrences for key in one.keys)
        self._analysis = analysis
        self._asked, self._place = analysis.restricting(tuple(keys))
        self._costs = Costs(whole_in_keys)
        self._keys: list[Keys] | None = None
        self._rows: Counter[Row] = Counter()
        self.places: Mapping[str, int] = {}

    @property
    def words(self) -> str:
        """See `Changes`."""
        return self._analysis.explain_rows()

    def before(self, delta: QuadDelta | None, dataset: Dataset) -> None:
        """See `Changes`."""
        self._keys = None if delta is None else self._keys_of(delta)
        self._rows = self._evaluate(dataset)

    def after(self, delta: QuadDelta | None, dataset: Dataset) -> tuple[Counter[Row], Counter[Row]]:  # noqa: ARG002 - the keys were found before
        """See `Changes`."""
        before, self._rows = self._rows, Counter()
        after = self._evaluate(dataset)
        return after - before, before - after

    def _keys_of(self, delta: QuadDelta) -> list[Keys] | None:
        """None where the whole query is to be evaluated."""
        found: dict[tuple[tuple[Variable, Term], ...], Keys] = {}
        for _, keys in self._analysis.met(delta):
            if not keys:
                return None
            found[tuple(keys.items())] = keys
            if len(found) > _MOST_KEYS:
                return None
        least = _least(list(found.values()))
        return least if self._costs.is_worth(len(least)) else None

    def _evaluate(self, dataset: Dataset) -> Counter[Row]:
        began = time.perf_counter()
        bag: Counter[Row] = Counter()
        if self._keys is None:
            answer = dataset.evaluate(self._asked)
            self.places = {name: place for place, name in enumerate(answer.vars)}
            bag.update(answer.rows)
            self._costs.saw_whole(time.perf_counter() - began)
            return bag
        alike: dict[tuple[Variable, ...], list[Keys]] = {}
        for keys in self._keys:
            alike.setdefault(tuple(keys), []).append(keys)
        # A row that agrees with several keys counts once; keys over the same variables have no row in common.
        done: list[tuple[tuple[int, ...], set[tuple[Term, ...]]]] = []
        for names, given in alike.items():
            answer = dataset.evaluate(self._asked, given, self._place)
            self.places = {name: place for place, name in enumerate(answer.vars)}
            for row in answer.rows:
                if not any(tuple([row[place] for place in places]) in terms for places, terms in done):
                    bag[row] += 1
            mine = tuple(self.places[variable.value] for variable in names)
            done.append((mine, {tuple(keys.values()) for keys in given}))
        self._costs.saw_keys(len(self._keys), time.perf_counter() - began)
        return bag


def _least(found: list[Keys]) -> list[Keys]:
    """Without those that say more than others: the rows of more keys are among those of fewer."""
    names = {tuple(keys) for keys in found}
    if len(names) == 1:
        return found
    least: list[Keys] = []
    fewer: dict[tuple[Variable, ...], set[tuple[Term, ...]]] = {}
    for keys in sorted(found, key=len):
        known = any(
            all(name in keys for name in some) and tuple(keys[name] for name in some) in terms
            for some, terms in fewer.items()
        )
        if not known:
            least.append(keys)
            fewer.setdefault(tuple(keys), set()).add(tuple(keys.values()))
    return least
