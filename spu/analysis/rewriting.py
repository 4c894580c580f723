"""Other texts of a query, made by cutting at known places: with more columns, and with constants as variables.

A change is `(start, end, replacement)` of the text that was read.  `Text` cuts it once, so that for other constants it
only has to be put together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triplewire.broker.names import RDF_TYPE

from .algebra import AGGREGATES, group_keys
from .paths import Link, is_sequence
from .syntax import Constant, Filter, InGraph, Triples, Union

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from .paths import Path
    from .syntax import Group, Item, Select

    Change = tuple[int, int, str]
LIFTED = "lifted"
_NOTHING = " (1 AS ?something)"
_COUNT = re.compile(r"\(\s*COUNT\s*\(\s*(?P<counted>\*|[?$]\w+)\s*\)\s*AS\s*[?$]\w+\s*\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Text:
    """A text with holes; a number is the constant that belongs there."""

    parts: tuple[str | int, ...]

    def filled(self, constants: Sequence[str]) -> str:
        """The text with these constants."""
        return "".join([part if isinstance(part, str) else constants[part] for part in self.parts])


def cut(text: str, holes: Iterable[tuple[int, int, int]], changes: Iterable[Change]) -> Text:
    """`text` with its changes; `holes` are `(start, end, number)`, and those inside a change are gone."""
    ordered = sorted(changes)
    parts: list[str | int] = []
    done = 0
    events: list[tuple[int, int, str | int]] = [
        *ordered,
        *(hole for hole in holes if not any(start <= hole[0] < end for start, end, _ in ordered)),
    ]
    for start, end, put in sorted(events, key=lambda event: event[:2]):
        parts += (text[done:start], put)
        done = end
    parts.append(text[done:])
    return Text(tuple(part for part in parts if part != ""))


def columns(select: Select, visible: Iterable[str]) -> tuple[str, ...]:
    """The columns in the text's order; for `*` those that it stands for, as they were found."""
    match select.form:
        case "ASK":
            return ("boolean",)
        case "CONSTRUCT" | "DESCRIBE":
            return ("subject", "predicate", "object")
    if select.star is not None:
        return tuple(visible)
    return tuple(item.variable for item in select.items)


def asking(
    select: Select, names: tuple[str, ...], shown: tuple[str, ...], dropped: Iterable[Item] = ()
) -> list[Change]:
    """The changes that make it a SELECT with these columns more; `shown` is what `*` or the template names.

    ORDER BY goes, as answers are bags.  A slice stays as it is, and so does DESCRIBE.
    """
    if select.sliced or select.form == "DESCRIBE":
        return []
    more = "".join(f" ?{name}" for name in names)
    changes: list[Change] = [(item.start, item.end, " ") for item in dropped]
    if select.order_span is not None:
        changes.append((*select.order_span, " "))
    own = "".join(f" ?{name}" for name in shown)
    if select.form == "ASK":
        changes.append((*select.head, f" SELECT{more or _NOTHING} "))
    elif select.form == "CONSTRUCT":
        changes.append((*select.head, f" SELECT{own}{more}{'' if own or more else _NOTHING} "))
    elif select.star is not None:
        changes.append((*select.star, f"{own}{more} " if own or more else "*"))
    else:
        end = select.items[-1].end
        changes.append((end, end, f"{more} "))
    return changes


def counts(select: Select, text: str) -> set[str] | None:
    """The variables that are counted (`*`: solutions), where the columns are group keys and at least one such count.

    None where there is more to it: DISTINCT, HAVING, a slice, another aggregate.
    """
    if select.distinct or select.having or select.sliced or select.star is not None:
        return None
    found = set[str]()
    for item in select.items:
        if item.expression is None:
            continue
        count = _COUNT.fullmatch(text, item.start, item.end)
        if count is None:
            return None
        found.add(count["counted"].lstrip("?$"))
    keys = set(group_keys(select))
    columns = {item.variable for item in select.items if item.expression is None}
    return found if found and columns == keys and len(keys) == len(select.group_by) else None


def ungrouped(select: Select, length: int) -> list[Change]:
    """The changes that make it a SELECT of what it groups."""
    end = select.star[1] if select.star is not None else select.items[-1].end
    return [(select.head[1], end, " * "), (select.where_end, length, " ")]


def liftable(select: Select) -> list[Constant]:
    """Constants of triples that every solution has, outside of sub-SELECTs, in the order of the text.

    A path of predicates one after the other can begin and end at one.  A constant that also stands elsewhere stays there: a row with the
    new variable equal to it is a row of the query, whatever else is said of it.
    """
    found = {constant.start: constant for constant in _mandatory(select.where)}
    return [found[start] for start in sorted(found) if start >= 0]


def liftable_filters(select: Select, bound: Collection[str]) -> list[Filter]:
    """The query's own FILTERs that only compare what every solution has bound with numbers; not those of groups."""
    if is_aggregate(select):
        return []
    return [
        element
        for element in select.where.elements
        if isinstance(element, Filter)
        and element.expression.comparisons
        and all(comparison.variable in bound for comparison in element.expression.comparisons)
    ]


def _mandatory(group: Group) -> Iterator[Constant]:
    for element in group.elements:
        match element:
            case Triples(items):
                for subject, path, object_ in items:
                    if is_sequence(path):
                        ends = (subject,) if _is_type(path) else (subject, object_)
                        yield from (end for end in ends if isinstance(end, Constant) and end.written)
            case Union([inner]):
                yield from _mandatory(inner)
            case InGraph(_, inner):
                yield from _mandatory(inner)


def _is_type(path: Path) -> bool:
    """Whether it is `a`.  Classes stay: queries for other classes are others, and most subjects have one."""
    if (
        not isinstance(path, Link)
        or not isinstance(path.predicate, Constant)
        or path.predicate.slot is not None
    ):
        return False
    # Other names in full have a slot (`names`).
    return path.predicate.text == f"<{RDF_TYPE}>" or path.predicate.text.endswith(":type")


def constant_items(select: Select) -> list[Item]:
    """Columns that are a constant, `("x" AS ?v)`, by a name that nothing else uses."""
    used = set[str]()
    for expression in [*(item.expression for item in select.items if item.expression), *select.having]:
        used |= expression.variables
    return [
        item
        for item in select.items
        if item.expression is not None
        and isinstance(item.expression.only, Constant)
        and item.variable not in used
    ]


def fresh(count: int, taken: Iterable[str]) -> tuple[str, ...]:
    """So many names that are not taken."""
    known = set(taken)
    names: list[str] = []
    number = 0
    while len(names) < count:
        if (name := f"{LIFTED}{number}") not in known:
            names.append(name)
        number += 1
    return tuple(names)


def is_aggregate(select: Select) -> bool:
    """Whether its rows are groups."""
    words = set().union(*(expression.words for expression in select.expressions))
    return bool(select.grouped or select.having or words & AGGREGATES)
