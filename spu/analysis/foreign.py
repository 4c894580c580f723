"""What is known of a query that another engine answers: less, as only what the standard fixes is sure.

DESCRIBE is what each engine likes, functions by name and quoted triples too.  Whether the default graph shows what is in the
named graphs is the engine's affair, unless graphs are said to be apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from triplewire.broker.model import QueryForm
from triplewire.broker.tokens import tokens

from .analysis import analyse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triplewire.broker.model import Query
    from triplewire.broker.tokens import Token

    from .analysis import Analysis

_CASTS = ("xsd:", "<http://www.w3.org/2001/XMLSchema#")


def analyse_foreign(
    query: Query,
    base_iri: str | None = None,
    prefixes: Mapping[str, str] | None = None,
    *,
    graphs_apart: bool = False,
) -> Analysis:
    """What is known of a query, whichever engine answers it; it never raises."""
    found = analyse(query, base_iri, prefixes, union_default_graph=not graphs_apart)
    if found.anything:
        return found
    reasons = tuple(_reasons(query.sparql, found.form))
    return replace(found, volatile=reasons, wellness=(*found.wellness, *reasons)) if reasons else found


def _reasons(sparql: str, form: QueryForm | None) -> list[str]:
    reasons = []
    if form is QueryForm.DESCRIBE:
        reasons.append("DESCRIBE by another engine")
    if "<<" in sparql or "{|" in sparql:
        reasons.append("triple terms in another engine")
    if "(" in sparql and _calls(sparql):
        reasons.append("a function of another engine")
    return reasons


def _calls(sparql: str) -> bool:
    """Whether there is a function by its name, or what looks like one."""
    before = None
    for token in tokens(sparql):
        if token.text == "(" and before is not None and _is_function(before):
            return True
        before = token
    return False


def _is_function(token: Token) -> bool:
    return token.kind in {"iri", "pname"} and not token.text.startswith(_CASTS)
