"""Which unit serves a query: the cheapest that tells exactly what `NaiveSpu` would.

- A basic graph pattern is joined from the changed quads outwards (`joined`).
- Other queries are evaluated for what the change has in common with their rows (`keyed`), if there is such for each
  pattern, or at least for some, and the rest is rarely met.
- Counts are kept up to date by counting the solutions that come and go (`counted`).
- Of other aggregates those groups are evaluated that gained or lost solutions (`grouped`).
- All others are evaluated whole, and compared (`naive`).

SELECT and ASK share a unit with all that differ in constants only, where the general query is served in one of the
first two ways (`shaped`); CONSTRUCT fills its template with the changed solutions (`constructed`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from triplewire.broker.model import QueryForm

from .construct import taken_apart
from .constructed import ConstructedSpu
from .counted import CountedSpu
from .grouped import GroupedSpu
from .joined import JoinedRows
from .keyed import KeyedRows
from .shaped import ShapedSpu

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from triplewire.broker.model import Query

    from .analysis.analysis import Analysis
    from .changes import Changes
    from .unit import Spu

    Analyse = Callable[[Query], Analysis]

# To evaluate the general query of very many cases is worth it for very many keys only.
_WHOLE_SHAPE_IN_KEYS = 2000
# How to join more patterns takes long to find out, and is better left to the store.
_MOST_JOINED = 16


class Choice(NamedTuple):
    """A unit, what it depends on, and the key that queries have which can share it."""

    key: Hashable
    unit: Spu | ShapedSpu
    analysis: Analysis


def shared_key(analysis: Analysis) -> Hashable:
    """What queries that could share a unit have in common."""
    lifted = analysis.lifted
    return analysis.query if lifted is None else ("shape", analysis.form, lifted.query, lifted.variables)


def chosen(analysis: Analysis, analyse: Analyse, most_rows: int) -> Choice | None:
    """The unit for an analysed query, None where it must be evaluated whole; `most_rows` may change with one update."""
    query = analysis.query
    if analysis.form in {QueryForm.SELECT, QueryForm.ASK}:
        if analysis.lifted is not None:
            general = analyse(analysis.lifted.query)
            lifted = tuple(variable.value for variable in analysis.lifted.variables)
            unit = _shaped(analysis.form, general, lifted, analyse, most_rows)
            if unit is not None:
                return Choice(shared_key(analysis), unit, general)
        plain = replace(analysis, lifted=None)
        unit = _shaped(analysis.form, plain, (), analyse, most_rows)
        if unit is not None:
            return Choice(query, unit, plain)
    if analysis.form is QueryForm.CONSTRUCT and _is_mostly_keyed(analysis):
        parts = taken_apart(query)
        if parts is not None:
            return Choice(query, ConstructedSpu(query, *parts, _way(analysis, most_rows)), analysis)
    return None


def _shaped(
    form: QueryForm, general: Analysis, lifted: tuple[str, ...], analyse: Analyse, most_rows: int
) -> ShapedSpu | None:
    if general.group_keys is not None and (general.counts is not None or not general.wellness):
        unit = _aggregate(general, lifted, analyse, most_rows)
        if unit is not None:
            return unit
    if general.fickle:
        return None
    if lifted:
        whole_in_keys = _WHOLE_SHAPE_IN_KEYS
        return (
            ShapedSpu(_way(general, most_rows, whole_in_keys), lifted, form) if _is_keyed(general) else None
        )
    return ShapedSpu(_way(general, most_rows), (), form) if _is_mostly_keyed(general) else None


def _aggregate(
    general: Analysis, lifted: tuple[str, ...], analyse: Analyse, most_rows: int
) -> ShapedSpu | None:
    solutions = analyse(general.ungrouped())
    keys = general.group_keys
    if keys is None or not _is_keyed(solutions) or not set(keys) <= solutions.certain:
        return None
    certain = {variable.value for variable in solutions.certain}
    if general.counts is not None and general.counts - {"*"} <= certain:
        return CountedSpu(general, _way(solutions, most_rows), lifted)
    if keys and not general.wellness and general.may_be_given(keys):
        return GroupedSpu(general, _way(solutions, most_rows), lifted)
    return None


def _way(analysis: Analysis, most_rows: int, whole_in_keys: int | None = None) -> Changes:
    pattern = analysis.pattern
    if pattern is not None and analysis.is_plain and len(pattern.triples) <= _MOST_JOINED:
        return JoinedRows(pattern, most_rows)
    return KeyedRows(analysis) if whole_in_keys is None else KeyedRows(analysis, whole_in_keys)


def _is_keyed(analysis: Analysis) -> bool:
    """Whether each pattern has keys."""
    return _is_mostly_keyed(analysis) and all(one.keys and not one.closure for one in analysis.occurrences)


def _is_mostly_keyed(analysis: Analysis) -> bool:
    """Whether there are keys; what has none is thought to be met rarely: a path's `*`, what comes with a graph."""
    return (
        not analysis.anything
        and not analysis.wellness
        and bool(analysis.occurrences)
        and any(one.keys for one in analysis.occurrences)
        and "<<" not in analysis.query.sparql
    )
