"""Forced bindings: terms in the place of a text's variables.

The text is cut into tokens, so strings, comments, IRIs and longer names are never touched, and what stands in the place
of a variable is one term, whatever the value.  Where SPARQL wants a variable, the term comes in another way:

    SELECT ?v             SELECT (term AS ?v)      the column stays; a subselect drops it, being the same in each row
    GROUP BY ?v           GROUP BY (term)          ORDER BY alike
    BOUND(?v)             (true)
    expr AS ?v, VALUES ?v                          refused: the text itself gives ?v its values

Several values for a variable of a query leave the variable, and begin its WHERE group with `VALUES ?v { ... }`.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from triplewire.broker.errors import ProfileError
from triplewire.broker.tokens import splice

from .places import Place, read
from .several import Several
from .shape import at
from .terms import ForcedBinding, term

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .places import Reading, Scope, Use

    Change = tuple[int, int, str]

_MOST_NAMED = 10


def bind(
    sparql: str,
    forced_bindings: Mapping[str, ForcedBinding],
    values: Mapping[str, object],
    namespaces: Mapping[str, str],
    *,
    path: str = "",
) -> str:
    """`sparql` with a term in the place of each variable in `forced_bindings`.

    Where `values` has none for a variable, or None, its default stands.  A list or tuple is several values.

    Raises:
        ProfileError: a value is missing, is none of its type, or is for a variable that is not one of these; or the
            text assigns the variable itself.  It starts with `path`.
    """
    return splice(sparql, changes(sparql, forced_bindings, values, namespaces, path=path))


def changes(
    sparql: str,
    forced_bindings: Mapping[str, ForcedBinding],
    values: Mapping[str, object],
    namespaces: Mapping[str, str],
    *,
    path: str = "",
) -> list[Change]:
    """What `bind` does to the text, as changes for `splice`."""
    given = _values(forced_bindings, values, path)
    if not given:
        return []
    single: dict[str, str] = {}
    several: dict[str, list[str]] = {}
    for name, value in given.items():
        declared, place = forced_bindings[name], at(path, name)
        if isinstance(value, list | tuple):
            several[name] = [term(item, declared, namespaces, place) for item in value]
        else:
            single[name] = term(value, declared, namespaces, place)
    reading = read(sparql)
    found = [*_Single(reading, single, path).changes(), *Several(reading, several, path).changes()]
    return sorted(found, key=lambda change: change[:2])


def near(name: str, known: Iterable[str]) -> str:
    """The end of a sentence: which of the known names was probably meant, or which there are."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return f"; did you mean {' or '.join(close)}?"
    if len(names) > _MOST_NAMED:
        return f"; there are {', '.join(sorted(names)[:_MOST_NAMED])} and {len(names) - _MOST_NAMED} more"
    return f"; there are {', '.join(sorted(names))}" if names else "; there are none"


def _values(
    forced_bindings: Mapping[str, ForcedBinding], values: Mapping[str, object], path: str
) -> dict[str, object]:
    """A value for each forced variable: the caller's, or the default."""
    for name in values:
        if name not in forced_bindings:
            raise ProfileError(
                at(path, name), f"no forced binding is called {name!r}{near(name, forced_bindings)}"
            )
    given: dict[str, object] = {}
    for name, declared in forced_bindings.items():
        value = values.get(name)
        if value is None:
            if declared.is_required:
                raise ProfileError(at(path, name), f"?{name} needs a value; it has no default")
            value = declared.value
        given[name] = value
    return given


class _Single:
    """The changes that one value for each variable makes."""

    def __init__(self, reading: Reading, terms: Mapping[str, str], path: str) -> None:
        self._reading = reading
        self._terms = terms
        self._path = path

    def changes(self) -> Iterable[Change]:
        """In the order of the text."""
        for use in self._reading.uses:
            written = self._terms.get(use.name)
            if written == "UNDEF" and use.place is not Place.DATA:
                continue
            if written is not None:
                yield self._change(use, written)

    def _change(self, use: Use, written: str) -> Change:
        if use.place is Place.ASSIGNED:
            raise ProfileError(
                at(self._path, use.name), f"?{use.name} can't be forced: the text assigns it by AS or VALUES"
            )
        if written.startswith("_:") and use.place in {Place.PROJECTED, Place.CONDITION}:
            raise ProfileError(
                at(self._path, use.name),
                f"a blank node can't stand {use.place.value} ({written} for ?{use.name})",
            )
        if use.place is Place.BOUND:
            return self._over(use.at - 2, use.at + 1, "(true)")  # FILTER wants the parentheses
        if use.place is Place.CONDITION:
            return self._over(use.at, use.at, f"({written})")
        if use.place is Place.PROJECTED:
            return self._over(use.at, use.at, self._column(use, written))
        return self._over(use.at, use.at, written)

    def _column(self, use: Use, written: str) -> str:
        if use.scope == 0:
            return f"({written} AS ?{use.name})"
        # Outside of the subselect the term stands for the variable too, and its name there may be taken by a column.
        scope = self._reading.scopes[use.scope]
        if self._keeps_a_column(scope) or use.name != scope.projected[0]:
            return ""
        return f"({written} AS ?{self._fresh(use.name)})"

    def _keeps_a_column(self, scope: Scope) -> bool:
        return scope.projects_expressions or any(
            self._terms.get(name, "UNDEF") == "UNDEF" for name in scope.projected
        )

    def _fresh(self, name: str) -> str:
        while name in self._reading.names():
            name += "_"
        return name

    def _over(self, first: int, last: int, replacement: str) -> Change:
        """The tokens from `first` to `last` replaced; spaces keep the neighbors from growing into the term."""
        tokens = self._reading.tokens
        start, end = tokens[first].start, tokens[last].end
        touches_before = first > 0 and tokens[first - 1].end == start and tokens[first - 1].text not in "({,"
        touches_after = (
            last + 1 < len(tokens) and tokens[last + 1].start == end and tokens[last + 1].text not in ")},"
        )
        return start, end, " " * touches_before + replacement + " " * touches_after
