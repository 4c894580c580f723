"""The row as users of the clients see it: a mapping from the names of the bound variables to their terms.

A row of the wire is a tuple in the order of `head.vars`, with None for an unbound variable.  Here an unbound variable
is simply not in the mapping, and duplicates stay: answers are bags, so they are lists of mappings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from triplewire.broker.model import Term

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triplewire.broker.model import Bindings, Row

Solution: TypeAlias = Mapping[str, Term]


def solution(variables: tuple[str, ...], row: Row) -> Solution:
    """One row as a mapping, in the order of `variables`."""
    return {name: term for name, term in zip(variables, row, strict=True) if term is not None}


def solutions(variables: tuple[str, ...], rows: Iterable[Row]) -> list[Solution]:
    """Rows as mappings, in their order, duplicates included."""
    return [solution(variables, row) for row in rows]


def solutions_of(bindings: Bindings) -> list[Solution]:
    """The rows of an answer as mappings."""
    return solutions(bindings.vars, bindings.rows)
