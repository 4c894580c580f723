"""Changes to SPARQL texts that need no grammar: the order of `SELECT *`, the dataset of an update, what a text is.

Each function leaves a text that it does not understand as it is: Oxigraph will say what is wrong with it.
"""

from __future__ import annotations

from functools import lru_cache

from pyoxigraph import Store

from .errors import MalformedRequest
from .model import QueryForm, Update
from .tokens import Token, splice, tokens

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
    answer = _EMPTY.query(sparql, base_iri=base_iri, prefixes=dict(prefixes))
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


def with_dataset(update: Update) -> str:
    """The update's text with its protocol dataset as USING and USING NAMED in every operation that has a WHERE.

    Raises:
        MalformedRequest: the text names a dataset itself (SPARQL 1.1 Protocol, 2.2.3).
    """
    if not update.using_graphs and not update.using_named_graphs:
        return update.sparql
    clause = "".join(f" USING <{graph}>" for graph in update.using_graphs)
    clause += "".join(f" USING NAMED <{graph}>" for graph in update.using_named_graphs)
    return splice(update.sparql, _UsingWriter(update.sparql, clause).changes())


class _UsingWriter:
    """Finds, at the top level of an update, each WHERE that a dataset belongs to."""

    def __init__(self, sparql: str, clause: str) -> None:
        self._sparql = sparql
        self._clause = clause
        self._tokens = list(tokens(sparql))

    def changes(self) -> list[tuple[int, int, str]]:
        changes: list[tuple[int, int, str]] = []
        depth = 0
        for place, token in enumerate(self._tokens):
            if token.text == "{":
                depth += 1
            elif token.text == "}":
                depth -= 1
            elif depth == 0 and token.is_word("USING", "WITH"):
                raise MalformedRequest(
                    f"the update has {token.text.upper()} and the request has using-graph-uri: "
                    "the dataset must be given in one place (SPARQL 1.1 Protocol 2.2.3)"
                )
            elif depth == 0 and token.is_word("WHERE"):
                changes.append(self._where(place))
        return changes

    def _where(self, place: int) -> tuple[int, int, str]:
        token = self._tokens[place]
        if place and self._tokens[place - 1].is_word("DELETE"):
            # DELETE WHERE has no place for USING: its pattern is its template
            return (token.start, token.start, f"{self._group(place + 1)}{self._clause} ")
        return (token.start, token.start, f"{self._clause} ")

    def _group(self, place: int) -> str:
        depth = 0
        for token in self._tokens[place:]:
            depth += {"{": 1, "}": -1}.get(token.text, 0)
            if depth == 0:
                return self._sparql[self._tokens[place].start : token.end]
        return "{}"
