"""Which of very many queries of one shape a row belongs to: by their constants, and by the numbers they compare with.

A query has one set of constants, found by a hash.  Of those that compare a column with a number, as `?v > 30`, the ones
that a row meets are together in a list that is sorted by the numbers.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

from .numbers import NEAR, asked, holds, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyoxigraph import Variable

    from triplewire.broker.model import Row, Term

    from .analysis.analysis import Condition
    from .numbers import Number


class Case:
    """One query of a shape: its constants, its columns of the general query, and their names; what its rows meet.

    It is looked up so often that it knows its hash.
    """

    __slots__ = ("_hash", "columns", "conditions", "constants", "names")

    def __init__(
        self,
        constants: tuple[Term, ...],
        columns: tuple[Variable | Term, ...],
        names: tuple[str, ...],
        conditions: tuple[Condition, ...] = (),
    ) -> None:
        self.constants = constants
        self.columns = columns
        self.names = names
        self.conditions = conditions
        self._hash = hash((constants, columns, names, conditions))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Case)
            and self._hash == other._hash
            and self.constants == other.constants
            and self.columns == other.columns
            and self.names == other.names
            and self.conditions == other.conditions
        )


class Cases:
    """Those that are wanted."""

    def __init__(self, lifted: Sequence[str]) -> None:
        """`lifted` are the columns that hold a row's constants."""
        self._lifted = tuple(lifted)
        # Most often there is one of the same constants; then it stands here itself.
        self._by_constants: dict[tuple[Term | None, ...], Case | _Alike] = {}

    def add(self, case: Case) -> None:
        """Want one more; each is added once."""
        there = self._by_constants.get(case.constants)
        if there is None and not case.conditions:
            self._by_constants[case.constants] = case
            return
        if not isinstance(there, _Alike):
            alike = _Alike()
            if there is not None:
                alike.add(there)
            there = self._by_constants[case.constants] = alike
        there.add(case)

    def remove(self, case: Case) -> None:
        """Want it no longer."""
        there = self._by_constants[case.constants]
        if isinstance(there, _Alike):
            there.remove(case)
            if there:
                return
        del self._by_constants[case.constants]

    def of(self, row: Row, places: Mapping[str, int]) -> Iterable[Case]:
        """Those that the row belongs to."""
        constants = tuple([row[places[name]] for name in self._lifted]) if self._lifted else ()
        there = self._by_constants.get(constants)
        if there is None:
            return ()
        return there.of(row, places) if isinstance(there, _Alike) else (there,)


class _Alike:
    """Cases of the same constants."""

    def __init__(self) -> None:
        self._plain: dict[Case, None] = {}
        self._compared: dict[tuple[str, str], _Sorted] = {}

    def __bool__(self) -> bool:
        return bool(self._plain or self._compared)

    def add(self, case: Case) -> None:
        if not case.conditions:
            self._plain[case] = None
            return
        self._compared.setdefault(_comparison(case), _Sorted()).add(case)

    def remove(self, case: Case) -> None:
        if not case.conditions:
            del self._plain[case]
            return
        found = self._compared[_comparison(case)]
        found.remove(case)
        if not found:
            del self._compared[_comparison(case)]

    def of(self, row: Row, places: Mapping[str, int]) -> Iterator[Case]:
        yield from self._plain
        for (name, operator), found in self._compared.items():
            for case in found.met(row[places[name]], operator):
                if len(case.conditions) == 1 or all(
                    holds(row[places[variable.value]], operator, with_)
                    for variable, operator, with_ in case.conditions[1:]
                ):
                    yield case


def _comparison(case: Case) -> tuple[str, str]:
    """By what it is found: the first of its conditions."""
    variable, operator, _ = case.conditions[0]
    return variable.value, operator


class _Sorted:
    """Cases whose first condition compares the same column in the same way, by the number."""

    def __init__(self) -> None:
        self._exact = _List()  # integers and decimals
        self._doubles = _List()
        self._odd: dict[Case, None] = {}

    def __bool__(self) -> bool:
        return bool(self._exact.cases or self._doubles.cases or self._odd)

    def add(self, case: Case) -> None:
        found = _number(case)
        if found is None:
            self._odd[case] = None
        elif found.exact is not None:
            self._exact.add(found.exact, case)
        else:
            self._doubles.add(found.near, case)

    def remove(self, case: Case) -> None:
        found = _number(case)
        if found is None:
            del self._odd[case]
        elif found.exact is not None:
            self._exact.remove(found.exact, case)
        else:
            self._doubles.remove(found.near, case)

    def met(self, term: Term | None, operator: str) -> Iterator[Case]:
        """Those whose condition `term` meets."""
        for case in self._odd:
            if holds(term, operator, case.conditions[0].number):
                yield case
        try:
            value = number(term)
        except ValueError:
            for case in (*self._exact.cases, *self._doubles.cases):
                if asked(term, operator, case.conditions[0].number):
                    yield case
            return
        if value is None:
            return
        if value.exact is not None:
            yield from self._exact.met(value.exact, operator)
            yield from self._doubles.met_nearly(value.near, operator, term)
        else:
            yield from self._exact.met_nearly(value.near, operator, term)
            yield from self._doubles.met_nearly(value.near, operator, term)


class _List:
    """Cases sorted by a number."""

    def __init__(self) -> None:
        self.numbers: list[Any] = []
        self.cases: list[Case] = []

    def add(self, value: Any, case: Case) -> None:
        place = bisect_right(self.numbers, value)
        self.numbers.insert(place, value)
        self.cases.insert(place, case)

    def remove(self, value: Any, case: Case) -> None:
        place = self.cases.index(case, bisect_left(self.numbers, value))
        del self.numbers[place], self.cases[place]

    def met(self, value: Any, operator: str) -> Sequence[Case]:
        """Those with `value operator number`."""
        if not self.cases:
            return ()
        first, last = bisect_left(self.numbers, value), bisect_right(self.numbers, value)
        match operator:
            case ">":
                return self.cases[:first]
            case ">=":
                return self.cases[:last]
            case "<":
                return self.cases[last:]
            case "<=":
                return self.cases[first:]
        return self.cases[first:last]

    def met_nearly(self, value: float, operator: str, term: Term | None) -> Iterator[Case]:
        """The same for a double; what is near is looked at one by one."""
        if not self.cases:
            return
        margin = abs(value) * NEAR if math.isfinite(value) else 0.0
        first = bisect_left(self.numbers, value - margin)
        last = bisect_right(self.numbers, value + margin)
        if operator in {">", ">="}:
            yield from self.cases[:first]
        elif operator in {"<", "<="}:
            yield from self.cases[last:]
        for case in self.cases[first:last]:
            if holds(term, operator, case.conditions[0].number):
                yield case


def _number(case: Case) -> Number | None:
    try:
        return number(case.conditions[0].number)
    except ValueError:
        return None
