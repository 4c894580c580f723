"""In words: how the answer to a query is followed, and why so."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .choice import chosen
from .constructed import ConstructedSpu
from .counted import CountedSpu
from .grouped import GroupedSpu
from .joined import JoinedRows
from .shaped import ShapedSpu

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.broker.model import Query

    from .analysis.analysis import Analysis
    from .analysis.occurrence import Occurrence, Place
    from .unit import Spu


EVERY_CHANGE = "every change"
# The ways, as short words: see `choice`.
METHODS = ("joined", "keyed", "counted", "grouped", "constructed", "whole")


def method(unit: Spu | ShapedSpu) -> str:
    """One of METHODS: how the answer is followed."""
    if isinstance(unit, CountedSpu):
        return "counted"
    if isinstance(unit, GroupedSpu):
        return "grouped"
    if isinstance(unit, ConstructedSpu):
        return "constructed"
    if isinstance(unit, ShapedSpu):
        return "joined" if isinstance(unit.way, JoinedRows) else "keyed"
    return "whole"


def explained(analysis: Analysis | None, unit: Spu | ShapedSpu | None) -> str:
    """One line; `analysis` is what the unit was made from, None where queries are not analysed.

    Without a unit, or with another than those here, the query is evaluated whole.
    """
    if analysis is None:
        return "full: changes are not told"
    if isinstance(unit, CountedSpu):
        return f"counted, of solutions that are {unit.way.words}"
    if isinstance(unit, GroupedSpu):
        keys = " ".join(map(str, analysis.group_keys or ()))
        return f"by group, {keys}, of solutions that are {unit.way.words}"
    if isinstance(unit, ConstructedSpu):
        return f"the template filled with solutions that are {unit.way.words}"
    if isinstance(unit, ShapedSpu):
        return unit.way.words
    words = analysis.explain_rows()
    return words if analysis.wellness or not analysis.occurrences else f"full: {words}"


def explain(analysis: Analysis, analyse: Callable[[Query], Analysis]) -> str:
    """The same for a query that nobody holds."""
    choice = chosen(analysis, analyse, sys.maxsize)
    if choice is None:
        return explained(analysis, None)
    words = explained(choice.analysis, choice.unit)
    lifted = analysis.lifted if choice.key != analysis.query else None
    if lifted is None:
        return words
    differ = [str(constant) for constant in lifted.constants]
    differ += [f"{variable} {operator} {number}" for variable, operator, number in lifted.conditions]
    return f"{words}; shared by all that differ in {', '.join(differ)}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The way in which a query is followed, and the patterns of the quads that touch it, in which `_` is anything."""

    followed: str
    touched_by: tuple[str, ...]


def explanation(query: Query, analyse: Callable[[Query], Analysis] | None) -> Explanation:
    """Of a query that nobody holds; without `analyse`, where queries are not analysed."""
    if analyse is None:
        return Explanation(explained(None, None), (EVERY_CHANGE,))
    found = analyse(query)
    if found.anything:
        return Explanation(explain(found, analyse), (EVERY_CHANGE,))
    return Explanation(explain(found, analyse), tuple(dict.fromkeys(map(_pattern, found.occurrences))))


def _pattern(occurrence: Occurrence) -> str:
    if occurrence.graphs.named is None:
        where = "in any graph" if occurrence.graphs.unnamed else "in any named graph"
    else:
        names = [f"<{graph.value}>" for graph in sorted(occurrence.graphs.named, key=str)]
        where = "in " + " or ".join([*(["the default graph"] if occurrence.graphs.unnamed else []), *names])
    places = (occurrence.subject, occurrence.predicate, occurrence.object)
    return f"{' '.join(map(_place, places))} {where}"


def _place(place: Place) -> str:
    return "_" if place is None else str(place)
