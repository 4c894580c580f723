"""What the parts of a query say together: patterns, the variables that are surely bound, and the keys of each pattern.

The keys of a pattern are found from the inside out.  Take one quad that comes or goes, bound to the pattern by mu.  The
solutions of the pattern's own group that change contain it, so they agree with mu on all its variables.  Going out:

    A B, A UNION B     a changed solution of A stays in the joined one: the same variables
    A OPTIONAL B       of a change in B: solutions of A with or without B; those agree on what A surely binds.  A is what
    A MINUS B          stands *before*; `{ ?a :p ?b OPTIONAL { ?c :q ?b } ?c :r ?d }` has no key for :q but ?b
    A FILTER EXISTS B  the same, A being the whole group
    SELECT             what is projected; of groups their keys; nothing of a slice

In the end, keys are used by giving them to the store as substitutions.  It puts the terms in all places of the name, so
a variable can't be one where its name is also that of another thing, or where it may be unbound in a part that would
then see it bound: `unsafe`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from .paths import Alternative, Closure, Inverse, Link, Negated, Sequence, needs_quad
from .syntax import (
    Bind,
    Constant,
    Filter,
    InGraph,
    Item,
    Minus,
    Optional,
    Quoted,
    Service,
    SubSelect,
    Triples,
    Union,
    Values,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .paths import Path
    from .syntax import Element, Expression, Group, Node, Select

End: TypeAlias = "Node | None"
Place: TypeAlias = "str | Constant | None"
VOLATILE = frozenset({"NOW", "RAND", "UUID", "STRUUID", "BNODE"})
AGGREGATES = frozenset({"COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT"})
ORDERED = ("GROUP_CONCAT", "SAMPLE")
# Of equal or of rounded numbers what comes out depends on who comes first, which is another for other keys.
FICKLE = frozenset({"SUM", "AVG", "MIN", "MAX"})
UNGROUPED = "an aggregate without group keys"


@dataclass(frozen=True, slots=True)
class Context:
    """Where patterns look: in the default graph, in one graph, or in each; `variable` where it is known outside."""

    kind: str = "default"  # default | one | each
    name: Constant | None = None
    variable: str | None = None


_DEFAULT = Context()


@dataclass(slots=True)
class Pattern:
    """An occurrence before its constants are known."""

    subject: Place
    predicate: Place
    object: Place
    context: Context
    keys: set[str] = field(default_factory=set)
    closure: bool = False
    existence: bool = False
    blank_subject: bool = False


@dataclass(frozen=True, slots=True)
class Inner:
    """What a sub-SELECT does that a plain group does not."""

    sliced: bool
    distinct: bool
    aggregated: bool
    group_keys: tuple[str, ...]


@dataclass(slots=True)
class Found:
    """What is known of a part; it grows from element to element."""

    patterns: list[Pattern] = field(default_factory=list)
    certain: set[str] = field(default_factory=set)
    visible: set[str] = field(default_factory=set)
    mentioned: set[str] = field(default_factory=set)
    unsafe: set[str] = field(default_factory=set)
    loose: set[str] = field(default_factory=set)  # named in an OPTIONAL, and not surely bound before it
    filtered: set[str] = field(default_factory=set)  # in the group's own filters
    needs_quad: bool = False  # each solution has a quad of the context's graph
    reasons: dict[str, None] = field(default_factory=dict)
    volatile: dict[str, None] = field(default_factory=dict)
    inner: list[Inner] = field(default_factory=list)
    fickle: bool = False  # its groups must not be evaluated twice and compared

    def take(self, part: Found, keys: set[str] | None = None) -> None:
        """What is in a part, however it is joined; `keys` are those that go through."""
        if keys is not None:
            part.keep(keys)
        self.patterns += part.patterns
        self.mentioned |= part.mentioned
        self.unsafe |= part.unsafe
        self.loose |= part.loose
        self.reasons.update(part.reasons)
        self.volatile.update(part.volatile)
        self.inner += part.inner

    def keep(self, keys: set[str]) -> None:
        """No other keys go through."""
        for pattern in self.patterns:
            pattern.keys &= keys

    def settle(self, around: Iterable[str] = ()) -> None:
        """The group is whole: what its filters name is bound in it or around it, or may be unbound."""
        self.unsafe |= self.filtered - self.certain - set(around)
        self.filtered = set()


class Reader:
    """Walks over a query's parts."""

    def query(self, select: Select) -> Found:
        """The whole query; the keys of its patterns are those of its solutions, projected or not."""
        found = self._solutions(select, _DEFAULT, set(), inner=False)
        if select.form == "DESCRIBE":
            self._describe(select, found)
        return found

    @staticmethod
    def _describe(select: Select, found: Found) -> None:
        found.reasons["DESCRIBE"] = None
        nodes = [node for node in select.described if isinstance(node, Constant)]
        if select.star is not None or len(nodes) < len(select.described):
            found.patterns.append(Pattern(None, None, None, _DEFAULT))
            return
        found.patterns += [Pattern(node, None, None, _DEFAULT) for node in nodes]
        # Oxigraph goes on at objects that are blank nodes: which they are is not known here
        found.patterns.append(Pattern(None, None, None, _DEFAULT, blank_subject=True))

    def _solutions(self, select: Select, context: Context, given: set[str], *, inner: bool) -> Found:  # noqa: C901 - a case for each kind
        """WHERE and what is done with its solutions, but for the projection."""
        found = self._group(select.where, context, given)
        found.settle()
        for expression in select.expressions:
            self._expression(expression, found, context, given)
            found.settle()
        aliases = {item.variable for item in [*select.items, *_items(select)] if item.expression is not None}
        found.unsafe |= aliases
        found.mentioned |= aliases
        words = set().union(*(expression.words for expression in select.expressions))
        aggregated = bool(select.grouped or words & AGGREGATES or select.having)
        if select.reduced:
            found.reasons["REDUCED"] = None
        if select.sliced:
            found.reasons["LIMIT or OFFSET"] = None
        for word in ORDERED:
            if word in words:
                found.reasons[f"{word} depends on the order of evaluation"] = None
        found.fickle = bool(words & FICKLE)
        if found.fickle and inner:
            found.reasons["SUM, AVG, MIN or MAX in a sub-SELECT"] = None
        if aggregated:
            if select.values_after:
                found.reasons["VALUES after an aggregate"] = None
            keys = set(group_keys(select))
            if not keys and not inner:
                found.reasons[UNGROUPED] = None
            found.keep(keys)
            found.certain &= keys
            found.needs_quad = found.needs_quad and select.grouped
        if select.sliced:
            found.keep(set())
        if inner:
            found.inner.append(Inner(select.sliced, select.distinct, aggregated, group_keys(select)))
        return found

    # --- groups -------------------------------------------------------------------------------------------------

    def _group(self, group: Group, context: Context, given: set[str]) -> Found:
        """`given` is what is bound in all of it from outside: the variable of its GRAPH."""
        found = Found(certain=set(given))
        filters: list[Expression] = []
        for element in group.elements:
            if isinstance(element, Filter):
                filters.append(element.expression)
            else:
                self._element(element, found, context, given)
        for expression in filters:
            self._expression(expression, found, context, given)
        return found

    def _expression(self, expression: Expression, found: Found, context: Context, given: set[str]) -> None:
        found.mentioned |= expression.variables
        found.filtered |= expression.variables
        found.volatile.update({f"{word}()": None for word in sorted(expression.words & VOLATILE)})
        for group in expression.groups:
            part = self._group(group, context, given)
            part.settle(found.certain)
            found.unsafe |= part.mentioned - found.certain
            found.take(part, found.certain)

    def _element(self, element: Element, found: Found, context: Context, given: set[str]) -> None:  # noqa: C901 - a case for each kind
        match element:
            case Triples(items):
                for subject, path, object_ in items:
                    self._triple(subject, path, object_, found, context)
            case Bind(expression, variable):
                self._expression(expression, found, context, given)
                found.settle()
                found.visible.add(variable)
                found.mentioned.add(variable)
                found.unsafe.add(variable)
            case Optional(group):
                part = self._group(group, context, given)
                part.settle(found.certain)
                found.unsafe |= part.mentioned - found.certain
                found.loose |= part.mentioned - found.visible - found.certain
                found.take(part, found.certain)
                found.visible |= part.visible
            case Minus(group):
                part = self._group(group, context, given)
                part.settle()
                found.unsafe |= part.mentioned - (found.certain & part.certain)
                if not (found.certain & part.certain) - given:
                    # the store would see a key on both sides, and take away what shares nothing else
                    found.reasons["MINUS of what may share no variable"] = None
                found.take(part, found.certain)
            case Union(groups):
                self._union(groups, found, context, given)
            case InGraph():
                self._in_graph(element, found)
            case Values(variables, certain):
                found.visible |= variables
                found.mentioned |= variables
                found.certain |= certain
            case Service(variables):
                found.reasons["SERVICE"] = None
                found.volatile["another's answer"] = None
                found.visible |= variables
                found.mentioned |= variables
                found.unsafe |= variables
            case SubSelect(select):
                self._sub_select(select, found, context, given)
            case _:
                raise AssertionError("FILTER waits for the end of its group")

    def _union(self, groups: list[Group], found: Found, context: Context, given: set[str]) -> None:
        parts = [self._group(group, context, given) for group in groups]
        for part in parts:
            part.settle()
            found.take(part)
            found.visible |= part.visible
        found.certain |= set.intersection(*(part.certain for part in parts))
        found.needs_quad |= all(part.needs_quad for part in parts)

    def _in_graph(self, element: InGraph, found: Found) -> None:
        name = element.name
        if isinstance(name, Constant):
            context, given = Context("one", name), set[str]()
            part = self._group(element.group, context, given)
        else:
            context, given = Context("each", None, name), {name}
            part = self._group(element.group, context, given)
            if name in part.mentioned or part.inner:
                # Two things by one name, whose join is made at the end of the group; or a sub-SELECT, of whose rows
                # Oxigraph leaves it unbound.
                context, given = Context("each"), set()
                part = self._group(element.group, context, given)
                part.unsafe.add(name)
        part.settle()
        if not part.needs_quad:
            part.patterns.append(Pattern(None, None, None, context, set(given), existence=True))
            if isinstance(name, str):
                part.unsafe.add(
                    name
                )  # given the name of a graph, the store does not look whether there is one
        found.take(part)
        found.certain |= part.certain
        found.visible |= part.visible
        if isinstance(name, str):
            if not part.inner:
                found.certain.add(name)
            found.visible.add(name)
            found.mentioned.add(name)

    def _sub_select(self, select: Select, found: Found, context: Context, given: set[str]) -> None:
        part = self._solutions(select, context, given, inner=True)
        plain = {item.variable for item in select.items if item.expression is None}
        columns = {item.variable for item in select.items}
        if select.star is not None:
            plain = columns = {name for name in part.visible if not name.startswith("_:")}
        # What may be unbound in it would be another group, or another row among equal ones, if it were given.
        part.unsafe |= part.mentioned - (plain & part.certain)
        if select.sliced:
            part.unsafe |= columns
        found.take(part, plain)
        found.certain |= part.certain & plain
        found.visible |= columns
        found.mentioned |= columns
        found.needs_quad |= part.needs_quad

    # --- triples and paths --------------------------------------------------------------------------------------

    def _triple(self, subject: Node, path: Path, object_: Node, found: Found, context: Context) -> None:
        names = _names(subject) | _names(object_)
        if isinstance(path, Link) and isinstance(path.predicate, str):
            names.add(path.predicate)
        found.certain |= names
        found.visible |= names
        found.mentioned |= names
        found.needs_quad |= needs_quad(path)
        for end in (subject, object_):
            if isinstance(
                end, Quoted
            ):  # a literal given as its subject is an error of the store's, not no row
                found.unsafe |= end.variables
        self._path(path, subject, object_, found, context)

    def _path(self, path: Path, subject: End, object_: End, found: Found, context: Context) -> None:  # noqa: C901 - a case for each kind
        if isinstance(path, Alternative | Negated):
            # Oxigraph gives one row where both ends are known, and one for each way where they are not
            found.unsafe |= {end for end in (subject, object_) if isinstance(end, str)}
        match path:
            case Link(predicate):
                self._add(subject, predicate, object_, found, context)
            case Inverse(inner):
                self._path(inner, object_, subject, found, context)
            case Sequence(steps):
                for number, step in enumerate(steps):
                    start = subject if number == 0 else None
                    end = object_ if number == len(steps) - 1 else None
                    self._path(step, start, end, found, context)
            case Alternative(paths):
                for inner in paths:
                    self._path(inner, subject, object_, found, context)
            case Negated(forward, backward):
                if forward:
                    self._add(subject, None, object_, found, context)
                if backward:
                    self._add(object_, None, subject, found, context)
            case Closure(inner, zero):
                self._closure(inner, found, context)
                if zero:
                    self._nodes(subject, object_, found, context)

    def _closure(self, inner: Path, found: Found, context: Context) -> None:
        part = Found()
        self._path(inner, None, None, part, context)
        for pattern in part.patterns:
            pattern.keys, pattern.closure = set(), True
        found.patterns += part.patterns

    @staticmethod
    def _nodes(subject: End, object_: End, found: Found, context: Context) -> None:
        """A path of no length is at each node of the graph, and at a term only where it is a node there."""
        ends = [end for end in (subject, object_) if isinstance(end, Constant)]
        if not ends:
            found.patterns.append(Pattern(None, None, None, context, closure=True))
        for end in ends:
            found.patterns.append(Pattern(end, None, None, context, closure=True))
            found.patterns.append(Pattern(None, None, end, context, closure=True))

    @staticmethod
    def _add(subject: End, predicate: Place, object_: End, found: Found, context: Context) -> None:
        first, last = _place(subject), _place(object_)
        keys = {place for place in (first, predicate, last) if isinstance(place, str)}
        if context.variable is not None:
            keys.add(context.variable)
        found.patterns.append(Pattern(first, predicate, last, context, keys))


def group_keys(select: Select) -> tuple[str, ...]:
    """The plain variables of GROUP BY."""
    return tuple(item.variable for item in _items(select) if item.expression is None)


def _items(select: Select) -> list[Item]:
    return [condition for condition in select.group_by if isinstance(condition, Item)]


def _names(node: Node) -> set[str]:
    if isinstance(node, Quoted):
        return set(node.variables)
    return {node} if isinstance(node, str) else set()


def _place(end: End) -> Place:
    return None if isinstance(end, Quoted) or (isinstance(end, str) and end.startswith("_:")) else end
