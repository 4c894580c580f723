"""Terms of subscriptions as queries' answers have them: SPARQL's own notation, as in its TSV results (4.2 there)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyoxigraph import Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triplewire.broker.model import Row, Term

_XSD = "http://www.w3.org/2001/XMLSchema#"
# What needs no quotes (SPARQL 1.1 Query, 19.8: INTEGER, DECIMAL, DOUBLE with a sign, BooleanLiteral).
_BARE = {
    f"{_XSD}integer": re.compile(r"[+-]?[0-9]+"),
    f"{_XSD}decimal": re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    f"{_XSD}double": re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)[eE][+-]?[0-9]+"),
    f"{_XSD}boolean": re.compile(r"true|false"),
}


def shown(term: Term) -> str:
    """One term; what could stand in a query without quotes has none."""
    if isinstance(term, Literal):
        bare = _BARE.get(term.datatype.value)
        if bare is not None and bare.fullmatch(term.value):
            return term.value
    return str(term)


def shown_row(row: Iterable[Term | None] | Row) -> list[str | None]:
    """A row; an unbound variable is None."""
    return [None if term is None else shown(term) for term in row]
