"""What all queries of a shape have in common; found once, at the cost of reading one of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from triplewire.broker.tokens import tokens

from . import rewriting
from .algebra import Reader, group_keys
from .parser import Parser
from .paths import Link
from .syntax import InGraph, NotUnderstood, Quoted, Triples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triplewire.broker.tokens import Shape

    from .algebra import Found
    from .paths import Path
    from .rewriting import Text
    from .syntax import Comparison, Constant, Item, Node, Select

_EXAMPLES = {'"': '""', "<": "<urn:x>", "0": "0", "+": "+0", "-": "-0", "#": " "}


@dataclass(frozen=True, slots=True)
class Lifting:
    """The shape with its liftable constants as variables, and without the FILTERs that are comparisons."""

    text: Text
    variables: tuple[str, ...]
    constants: tuple[Constant, ...]
    comparisons: tuple[Comparison, ...]
    columns: tuple[str | Constant, ...]  # those of the query: a column of the text, or always the same


@dataclass(frozen=True, slots=True)
class Template:
    """A shape that was understood."""

    text: str
    holes: tuple[tuple[int, int, int], ...]
    prologue: str
    select: Select
    found: Found
    columns: tuple[str, ...]
    visible: tuple[str, ...]
    allowed: frozenset[str]  # variables that may be keys
    certain: frozenset[str]
    lifting: Lifting | None

    @property
    def group_keys(self) -> tuple[str, ...] | None:
        """None where it has no groups."""
        return group_keys(self.select) if rewriting.is_aggregate(self.select) else None

    @property
    def counts(self) -> set[str] | None:
        """See `rewriting.counts`; lifted variables are group keys that the columns of a case do not show."""
        return rewriting.counts(self.select, self.text)

    @property
    def triples(self) -> list[tuple[Node, Path, Node]] | None:
        """Those of the WHERE, where there is nothing else, in one graph or in each; in the order of the patterns."""
        elements = self.select.where.elements
        if len(elements) == 1 and isinstance(elements[0], InGraph):
            elements = elements[0].group.elements
        if len(elements) != 1 or not isinstance(elements[0], Triples):
            return None
        items = elements[0].items
        return items if all(_is_plain(*item) for item in items) else None

    def asking(self, names: tuple[str, ...], mark: str = "") -> Text:
        """The shape as a SELECT with more columns; `mark` is put where more patterns can stand, where there is such."""
        shown = self.visible
        if self.select.template is not None:
            shown = tuple(self.select.template)
        have = {"SELECT": self.columns, "CONSTRUCT": shown}.get(self.select.form, ())
        new = tuple(name for name in names if name not in have)
        changes = rewriting.asking(self.select, new, shown)
        if mark and self.select.where_open is not None:
            changes.append((self.select.where_open, self.select.where_open, mark))
        return rewriting.cut(self.text, self.holes, changes)

    def ungrouped(self) -> Text:
        """What the shape groups: the solutions of its WHERE."""
        return rewriting.cut(self.text, self.holes, rewriting.ungrouped(self.select, len(self.text)))


@lru_cache(maxsize=1024)
def template(shape: Shape, prefixes: tuple[str, ...]) -> Template | str:
    """What is known of the shape; words where it is not understood."""
    try:
        return _template(shape, prefixes)
    except NotUnderstood as reason:
        return f"not understood: {reason}"
    except RecursionError:
        return "not understood: it is nested too deep"
    except (ValueError, LookupError, AssertionError) as error:  # a text that is no SPARQL
        return f"not understood: {error}"


def _template(shape: Shape, prefixes: tuple[str, ...]) -> Template:
    examples = [_EXAMPLES.get(kind, kind) for kind in shape.kinds]
    text = shape.filled(examples)
    holes = tuple(_holes(shape, examples))
    parser = Parser(text, prefixes, {start: number for start, _, number in holes})
    prologue = parser.prologue()
    select = parser.query()
    found = Reader().query(select)
    visible = _ordered(text, select, found.visible)
    columns = rewriting.columns(select, visible)
    allowed = _allowed(select, found, columns)
    certain = {name for name in found.certain if not name.startswith("_:")}
    if select.form == "SELECT":
        certain &= set(columns)
    made = Template(
        text, holes, prologue, select, found, columns, visible, frozenset(allowed), frozenset(certain), None
    )
    return replace(made, lifting=_lifting(made))


def _is_plain(subject: Node, path: Path, object_: Node) -> bool:
    return isinstance(path, Link) and not isinstance(subject, Quoted) and not isinstance(object_, Quoted)


def _holes(shape: Shape, examples: list[str]) -> Iterator[tuple[int, int, int]]:
    place = len(shape.declarations)
    for number, (between, example) in enumerate(zip(shape.between.split("\0"), examples, strict=False)):
        place += len(between)
        yield place, place + len(example), number
        place += len(example)


def _ordered(text: str, select: Select, visible: set[str]) -> tuple[str, ...]:
    """The variables that `*` stands for, as they appear."""
    names = (token.text[1:] for token in tokens(text, select.head[1]) if token.kind == "variable")
    return tuple(dict.fromkeys(name for name in names if name in visible))


def _allowed(select: Select, found: Found, columns: tuple[str, ...]) -> set[str]:
    """Variables that can be given to the store, and tell which rows can change."""
    if select.form == "DESCRIBE":
        return set()
    allowed = {name for name in found.certain - found.unsafe if not name.startswith("_:")}
    if select.form == "SELECT" and select.distinct:
        return allowed & set(columns)
    if select.grouped:
        return allowed & set(group_keys(select))
    return allowed


def _lifting(of: Template) -> Lifting | None:
    select, found = of.select, of.found
    if select.form not in {"SELECT", "ASK"} or found.reasons or found.volatile:
        return None
    constants = rewriting.liftable(select)
    filters = rewriting.liftable_filters(select, of.certain if select.distinct else found.certain)
    if not (constants or filters) or any(pattern.closure for pattern in found.patterns):
        return None
    names = rewriting.fresh(
        len(constants), (token.text[1:] for token in tokens(of.text) if token.kind == "variable")
    )
    dropped = rewriting.constant_items(select) if select.form == "SELECT" else []
    changes = [
        (constant.start, constant.end, f" ?{name} ") for constant, name in zip(constants, names, strict=True)
    ]
    comparisons = [comparison for one in filters for comparison in one.expression.comparisons]
    compared = tuple(dict.fromkeys(comparison.variable for comparison in comparisons))
    changes += [(one.start, one.end, " . " if one.after_triples else " ") for one in filters]
    have = of.columns if select.form == "SELECT" else ()
    also = tuple(name for name in compared if name not in have)
    changes += rewriting.asking(select, (*names, *also), of.visible, dropped)
    if select.grouped:
        more = "".join(f" ?{name}" for name in names)
        changes.append((select.group_end, select.group_end, f"{more} "))
    columns = tuple(_column(name, dropped) for name in of.columns) if select.form == "SELECT" else ()
    return Lifting(
        rewriting.cut(of.text, of.holes, changes), names, tuple(constants), tuple(comparisons), columns
    )


def _column(name: str, dropped: list[Item]) -> str | Constant:
    for item in dropped:
        if item.variable == name and item.expression is not None:
            return item.expression.only  # type: ignore[return-value]  # a constant: that is why it was dropped
    return name
