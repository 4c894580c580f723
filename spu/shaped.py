"""One unit for all queries that differ in constants only: the keyed evaluation of the query that they are cases of.

Nothing is kept between updates.  Before the write and after it the general query is evaluated for the keys that the
change has in common with the rows it can change, and the rows that came and went are dealt to the cases by their
constants.  A million cases cost one evaluation.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from pyoxigraph import Variable

from triplewire.broker.model import BindingsDelta, QueryForm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from triplewire.broker.model import Bindings, Dataset, QuadDelta, Query, Row, Term

    from .analysis.analysis import Analysis, Lifted

# More different keys than this, and the general query is evaluated for all of them at once.
_MOST_KEYS = 64

Keys = dict[Variable, "Term"]


class Case(NamedTuple):
    """One query of a shape: its constants, its columns in terms of the general query, and their names."""

    constants: tuple[Term, ...]
    columns: tuple[Variable | Term, ...]
    names: tuple[str, ...]


class ShapedSpu:
    """The unit of a shape; what it is asked `before` an update is answered by `changes` after it."""

    def __init__(self, general: Analysis, lifted: Lifted) -> None:
        keys = dict.fromkeys(key for one in general.occurrences for key in one.keys)
        self._general = general
        self._asked = general.asking(tuple(keys))
        self._lifted = tuple(variable.value for variable in lifted.variables)
        self._keys: list[Keys] | None = None
        self._rows: Counter[Row] = Counter()
        self._places: dict[str, int] = {}

    @classmethod
    def of(
        cls, analysis: Analysis, analyse: Callable[[Query], Analysis]
    ) -> tuple[ShapedSpu, Analysis] | None:
        """The unit for a query's shape and what is known of the general query; None where keys will not do."""
        lifted = analysis.lifted
        if lifted is None or analysis.form is not QueryForm.SELECT:
            return None
        general = analyse(lifted.query)
        if not _is_keyed(analysis) or not _is_keyed(general):
            return None
        return cls(general, lifted), general

    @staticmethod
    def case_of(analysis: Analysis) -> Case:
        """Which case a query is."""
        assert analysis.lifted is not None
        names = tuple(variable.value for variable in analysis.projected)
        return Case(analysis.lifted.constants, analysis.lifted.columns, names)

    def first(self, query: Query, dataset: Dataset) -> Bindings:
        """The present answer of one case.  Raises BrokerError."""
        return dataset.evaluate(query)

    def before(self, delta: QuadDelta | None, dataset: Dataset) -> None:
        """See `Spu`."""
        self._keys = None if delta is None else self._keys_of(delta)
        self._rows = self._evaluate(dataset)

    def changes(
        self, dataset: Dataset, cases: Mapping[tuple[Term, ...], list[Case]]
    ) -> dict[Case, BindingsDelta]:
        """What the update just written changed, for the cases that are wanted, by their constants.

        Raises:
            BrokerError: the query can no longer be evaluated.
        """
        before, self._rows = self._rows, Counter()
        after = self._evaluate(dataset)
        lifted = [self._places[name] for name in self._lifted]
        added: dict[Case, Counter[Row]] = {}
        removed: dict[Case, Counter[Row]] = {}
        for rows, sides in ((after - before, added), (before - after, removed)):
            for row, count in rows.items():
                for case in cases.get(tuple(row[place] for place in lifted), ()):  # type: ignore[misc]  # certain, so bound
                    sides.setdefault(case, Counter())[self._row_of(case, row)] += count
        found = {}
        for case in added.keys() | removed.keys():
            came, went = added.get(case, Counter()), removed.get(case, Counter())
            # Rows that differ in what the case does not show cancel each other.
            delta = BindingsDelta(case.names, came - went, went - came)
            if delta:
                found[case] = delta
        return found

    def _row_of(self, case: Case, row: Row) -> Row:
        return tuple(
            row[self._places[column.value]] if isinstance(column, Variable) else column
            for column in case.columns
        )

    def _keys_of(self, delta: QuadDelta) -> list[Keys] | None:
        found: dict[tuple[tuple[Variable, Term], ...], Keys] = {}
        for _, keys in self._general.met(delta):
            if not keys:
                return None
            found[tuple(keys.items())] = keys
            if len(found) > _MOST_KEYS * 8:
                return None
        # The rows of more keys are among those of fewer.
        least: list[Keys] = []
        for keys in sorted(found.values(), key=len):
            if not any(one.items() <= keys.items() for one in least):
                least.append(keys)
        return least if len(least) <= _MOST_KEYS else None

    def _evaluate(self, dataset: Dataset) -> Counter[Row]:
        bag: Counter[Row] = Counter()
        if self._keys is None:
            answer = dataset.evaluate(self._asked)
            self._places = {name: place for place, name in enumerate(answer.vars)}
            bag.update(answer.rows)
            return bag
        done: list[list[tuple[int, Term]]] = []
        for keys in self._keys:
            answer = dataset.evaluate(self._asked, keys)
            self._places = {name: place for place, name in enumerate(answer.vars)}
            for row in answer.rows:
                # A row that agrees with several keys counts once.
                if not any(all(row[place] == term for place, term in one) for one in done):
                    bag[row] += 1
            done.append([(self._places[variable.value], term) for variable, term in keys.items()])
        return bag


def _is_keyed(analysis: Analysis) -> bool:
    return (
        not analysis.anything
        and not analysis.wellness
        and analysis.group_keys is None
        and not analysis.sub_selects
        and bool(analysis.occurrences)
        and all(one.keys and not one.closure for one in analysis.occurrences)
        and "<<" not in analysis.query.sparql
    )
