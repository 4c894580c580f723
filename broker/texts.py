"""Changes to SPARQL texts that need no grammar: the order of `SELECT *`, and what a text is.

Each function leaves a text that it does not understand as it is: Oxigraph will say what is wrong with it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode, RdfFormat, Store, parse

from .model import QueryForm
from .prologues import Prologue
from .tokens import Token, splice, tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

_UPDATE_WORDS = frozenset(
    {"INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "COPY", "MOVE", "ADD", "WITH"}
)
_EMPTY = Store()
_REMEMBERED_CHARS = 4096


def first_word(sparql: str) -> str:
    """The first keyword after the prologue, in upper case; empty where there is none."""
    skip = 0
    for token in tokens(sparql):
        if skip:
            skip -= 1
        elif token.is_word("BASE", "VERSION"):
            skip = 1
        elif token.is_word("PREFIX"):
            skip = 2
        else:
            return token.text.upper() if token.kind == "word" else ""
    return ""


def is_update(sparql: str) -> bool:
    """Whether the text begins as an update."""
    return first_word(sparql) in _UPDATE_WORDS


def query_form(sparql: str) -> QueryForm | None:
    """The form of the query by its first keyword; None where it is none of the four."""
    try:
        return QueryForm(first_word(sparql))
    except ValueError:
        return None


def own_dataset(
    sparql: str, base_iri: str, prefixes: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The graphs of FROM and of FROM NAMED, absolute; what is not an IRI is left out (SPARQL 1.1 Query, 13.2)."""
    default: list[str] = []
    named: list[str] = []
    if "FROM" not in sparql.upper():
        return (), ()
    found = list(tokens(sparql))
    prologue = _prologue(found, base_iri, prefixes)
    depth = 0
    for token, *after in zip(found, found[1:], found[2:], strict=False):
        depth += {"{": 1, "}": -1}.get(token.text, 0)
        if depth or not token.is_word("FROM"):
            continue
        into, name = (named, after[1]) if after[0].is_word("NAMED") else (default, after[0])
        graph = resolved(name, prologue.used_by([name]), base_iri)
        if graph is not None:
            into.append(graph)
    return tuple(default), tuple(named)


def _prologue(found: list[Token], base_iri: str, prefixes: Mapping[str, str]) -> Prologue:
    prologue = Prologue(prefixes, base_iri)
    for token, after, last in zip(found, [*found[1:], None], [*found[2:], None, None], strict=False):
        if token.text == "{":
            break
        if token.is_word("BASE") and after is not None:
            prologue.base(after.text)
        elif token.is_word("PREFIX") and after is not None and last is not None:
            prologue.prefix(after.text, last.text)
    return prologue


def resolved(token: Token, prologue: str, base_iri: str) -> str | None:
    """The IRI that a terminal stands for; None where it is none."""
    triple = f"{prologue}\n<urn:s> <urn:p> {token.text} ."
    try:
        (quad,) = parse(triple, format=RdfFormat.TURTLE, base_iri=base_iri)
    except (SyntaxError, ValueError):
        return None
    return quad.object.value if isinstance(quad.object, NamedNode) else None


def with_ordered_star(sparql: str, base_iri: str, prefixes: tuple[tuple[str, str], ...]) -> str:
    """The query with the outermost `SELECT *` spelled out in order of first appearance.

    Oxigraph gives the columns of `SELECT *` in alphabetical order; the W3C tests, and SEPA's users, expect them as
    they appear in the text.

    Raises:
        SyntaxError: the text is not a SPARQL query (Oxigraph's own error, with its position).
    """
    star = _outermost_star(sparql) if "*" in sparql else None
    if star is None:
        return sparql
    ordered = _ordered if len(sparql) <= _REMEMBERED_CHARS else _ordered.__wrapped__
    return ordered(sparql, star, base_iri, prefixes)


@lru_cache(maxsize=1024)
def _ordered(sparql: str, star: Token, base_iri: str, prefixes: tuple[tuple[str, str], ...]) -> str:
    answer = _EMPTY.query(_without_services(sparql), base_iri=base_iri, prefixes=dict(prefixes))
    visible = {variable.value for variable in getattr(answer, "variables", ())}
    order = dict.fromkeys(
        token.text[1:]
        for token in tokens(sparql)
        if token.kind == "variable" and token.start > star.start and token.text[1:] in visible
    )
    if not order:
        return sparql
    names = " ".join(f"?{name}" for name in order)
    return splice(sparql, [(star.start, star.end, f" {names} ")])


def _without_services(sparql: str) -> str:
    """The text with the same variables in the same places, that calls nobody: SERVICE has become GRAPH."""
    if "SERVICE" not in sparql.upper():
        return sparql
    changes: list[tuple[int, int, str]] = []
    found = list(tokens(sparql))
    for token, *after in zip(found, found[1:], found[2:], strict=False):
        if token.is_word("SERVICE"):
            changes.append((token.start, token.end, "GRAPH  "))
            if after[0].is_word("SILENT"):
                silent = after.pop(0)
                changes.append((silent.start, silent.end, "      "))
            if after[0].kind == "variable":  # Oxigraph does not count it among those that `*` stands for
                name = after[0]
                changes.append((name.start, name.end, "<>".ljust(name.end - name.start)))
    return splice(sparql, changes)


def _outermost_star(sparql: str) -> Token | None:
    seen_select = False
    for token in tokens(sparql):
        if not seen_select:
            if token.text == "{":
                return None
            seen_select = token.is_word("SELECT")
        elif not token.is_word("DISTINCT", "REDUCED"):
            return token if token.text == "*" else None
    return None
