"""The parts of a query as they stand in its text: groups of patterns, by recursive descent over the terminals.

Oxigraph is the arbiter of syntax: what is read here it has accepted, so nothing is checked that does not help reading.
What could be read in two ways, or is not known here, is `NotUnderstood`, and the query is treated as one that anything
can touch.  Nothing is simplified: `{ {A} B }` stays what it is, so that the places of things in the text are known.

Variables are their names; blank nodes, which are variables too, have names that begin with `_:`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from .paths import Path


class NotUnderstood(Exception):
    """The text is, or may be, more than what is read here."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A term of the text, `text[start:end]`; `slot` counts the constants that its shape leaves open."""

    text: str
    start: int
    end: int
    slot: int | None = None
    suffix: str = ""  # the language tag or datatype, which the slot does not hold
    written: bool = False  # in full, not by a prefix or a keyword


@dataclass(frozen=True, slots=True)
class Quoted:
    """A triple term with variables in it."""

    variables: frozenset[str]


Node: TypeAlias = "str | Constant | Quoted"


@dataclass(frozen=True, slots=True)
class Comparison:
    """`?variable operator number`; the operator is one of < <= > >= =."""

    variable: str
    operator: str
    constant: Constant


@dataclass(slots=True)
class Expression:
    """What is known of an expression: the variables, keywords and EXISTS groups in it."""

    variables: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    groups: list[Group] = field(default_factory=list)
    only: str | Constant | None = None  # the variable or constant that is all of it
    comparisons: tuple[Comparison, ...] = ()  # all of it, where it is these, joined by `&&`


@dataclass(slots=True)
class Triples:
    """Triples and paths in a row."""

    items: list[tuple[Node, Path, Node]] = field(default_factory=list)


@dataclass(slots=True)
class Filter:
    """FILTER, with the dot that may follow; `after_triples` where nothing but it parts what is around it."""

    expression: Expression
    start: int = 0
    end: int = 0
    after_triples: bool = False


@dataclass(slots=True)
class Bind:
    """BIND."""

    expression: Expression
    variable: str


@dataclass(slots=True)
class Optional:
    """OPTIONAL."""

    group: Group


@dataclass(slots=True)
class Minus:
    """MINUS."""

    group: Group


@dataclass(slots=True)
class Union:
    """One group or more between UNIONs."""

    groups: list[Group]


@dataclass(slots=True)
class InGraph:
    """GRAPH."""

    name: str | Constant
    group: Group


@dataclass(slots=True)
class Service:
    """SERVICE; what is in it is another's."""

    variables: frozenset[str]


@dataclass(slots=True)
class Values:
    """VALUES: its variables, and those that have a value in each row."""

    variables: frozenset[str]
    certain: frozenset[str]


@dataclass(slots=True)
class SubSelect:
    """A SELECT inside."""

    select: Select


Element: TypeAlias = (
    "Triples | Filter | Bind | Optional | Minus | Union | InGraph | Service | Values | SubSelect"
)


@dataclass(slots=True)
class Group:
    """What stands between braces."""

    elements: list[Element] = field(default_factory=list)


@dataclass(slots=True)
class Item:
    """A column: a variable, or an expression's value by that name."""

    variable: str
    expression: Expression | None
    start: int
    end: int


@dataclass(slots=True)
class Select:
    """A query or a SELECT inside one; `start` and `end` of its parts are places in the text."""

    form: str = "SELECT"
    distinct: bool = False
    reduced: bool = False
    star: tuple[int, int] | None = None
    items: list[Item] = field(default_factory=list)
    head: tuple[int, int] = (0, 0)  # the word SELECT, ASK, DESCRIBE, or CONSTRUCT with its template
    template: list[str] | None = None  # the variables of CONSTRUCT's template, where it has one
    described: list[str | Constant] = field(default_factory=list)
    default_graphs: list[Constant] = field(default_factory=list)
    named_graphs: list[Constant] = field(default_factory=list)
    where: Group = field(default_factory=Group)
    where_open: int | None = (
        None  # behind its `{`, where more patterns can stand; None where it is a sub-SELECT
    )
    where_end: int = 0
    grouped: bool = False
    group_by: list[Item | Expression] = field(default_factory=list)
    group_end: int = 0
    having: list[Expression] = field(default_factory=list)
    order: list[Expression] = field(default_factory=list)
    order_span: tuple[int, int] | None = None
    sliced: bool = False
    values_after: bool = False  # VALUES behind all

    @property
    def expressions(self) -> list[Expression]:
        """Those outside the WHERE."""
        keyed = [item if isinstance(item, Expression) else item.expression for item in self.group_by]
        found = [*(item.expression for item in self.items), *keyed, *self.having, *self.order]
        return [expression for expression in found if expression is not None]
