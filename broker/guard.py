"""What stands before Oxigraph: texts that would kill or hang the process are refused by a clear error.

Measured on pyoxigraph 0.5: 2,000 nested functions or sub-SELECTs, 5,000 nested parentheses, 5,000 BINDs or 20,000
`&& 1` overflow the stack and end the process without an exception; the join planner takes time in the fourth power of
the patterns of one group (64: 0.2 s, 160: 7 s, 320: 130 s) and can't be stopped.  So nesting, the number of operators
(all that make the algebra's tree deeper) and the joins of one scope are bounded, by settings, before a text gets there.

A *scope* is what the planner reorders together: a group with the plain groups and GRAPH groups in it.  OPTIONAL,
UNION, MINUS, EXISTS and sub-SELECT begin scopes of their own.  What is counted is never less than what Oxigraph will
build: separators of triples, steps of paths, list elements, VALUES and GRAPH.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

from .errors import QueryTooComplex, RequestTooLarge, UnsupportedOperation
from .tokens import splice, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .config import LimitsConfig, SparqlConfig
    from .tokens import Token

_OPENERS = frozenset({"(", "{", "[", "<<", "<<(", "{|"})
_CLOSERS = frozenset({")", "}", "]", ">>", ")>>", "|}"})
_OPERATORS = frozenset({"&&", "||", "!", "+", "-", "*", "/", "|", "^", "=", "!=", "<", ">", "<=", ">="})
_SEPARATORS = frozenset({".", ";", ","})
_PATH = frozenset({"|", "/", "^", "!"})
_OPERATOR_WORDS = frozenset(
    {"UNION", "OPTIONAL", "MINUS", "FILTER", "BIND", "AS", "EXISTS", "NOT", "IN", "SERVICE", "SELECT"}
)
_OWN_SCOPE = frozenset({"OPTIONAL", "UNION", "MINUS", "EXISTS", "SELECT", "SERVICE"})
_CLAUSES = frozenset({"SELECT", "GROUP", "HAVING", "ORDER"})
_LIST_ELEMENT = 2  # rdf:first and rdf:rest
_REMOTE = re.compile(r"\b(?:SERVICE|LOAD)\b", re.IGNORECASE)
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def check_query(sparql: str, limits: LimitsConfig) -> None:
    """Refuse a query that is too long or too complex.

    Raises:
        RequestTooLarge: it has more characters than limits.query_chars.
        QueryTooComplex: it nests, chains or joins more than the limits allow.
    """
    if len(sparql) > limits.query_chars:
        raise RequestTooLarge(
            f"the query has {len(sparql)} characters; at most {limits.query_chars} are read (limits.query_chars)"
        )
    _check(sparql, limits)


def check_update(sparql: str, limits: LimitsConfig) -> None:
    """Refuse an update that is too complex; its length is bounded by the body's.

    Raises:
        QueryTooComplex: it nests, chains or joins more than the limits allow.
    """
    _check(sparql, limits)


def _check(sparql: str, limits: LimitsConfig) -> None:
    # Counting characters costs nothing and clears many a text: fewer brackets than the limit can't nest deeper.
    # Round brackets may be a list, whose elements need no separator.
    separators = sum(map(sparql.count, ".;,/{["))
    if separators <= limits.joins and "(" not in sparql and len(sparql) <= limits.operators:
        return
    _walk(sparql, limits) if len(sparql) > _REMEMBERED_CHARS else _remembered(sparql, limits)


def _walk(sparql: str, limits: LimitsConfig) -> None:
    _Counter(limits).count(sparql)


_REMEMBERED_CHARS = 4096
_remembered = lru_cache(maxsize=512)(_walk)  # applications send the same few texts again and again


@dataclass(slots=True)
class _Scope:
    """An open bracket: which, the scope that its joins count for, and what stands in it."""

    kind: str
    joins: list[int]
    data: bool = False  # a DATA block, a template, the rows of VALUES: nothing is joined
    expression: bool = False  # a FILTER's, BIND's or function's brackets: no triples


@dataclass(slots=True)
class _Counter:
    """One walk over a text's tokens; raises at the first limit that is passed."""

    limits: LimitsConfig
    operators: int = 0
    stack: list[_Scope] = field(default_factory=lambda: [_Scope("", [0])])
    own: bool = False  # the next group begins a scope of its own
    data: bool = False  # the next group holds data
    clause: bool = False  # in SELECT, GROUP BY, HAVING or ORDER BY: round brackets are expressions
    constraint: bool = False  # FILTER or BIND has been read: the next round bracket is an expression
    last: str = ""

    def count(self, sparql: str) -> None:
        for token in tokens(sparql):
            if token.kind == "symbol":
                self._symbol(token.text)
            elif token.kind == "word":
                self._word(token.text.upper())
            elif token.kind == "iri" and "(" in token.text:
                # Oxigraph reads `1<((2))>0` as comparisons where the standard's longest match reads an IRI
                self._hidden(token.text)
            elif self.stack[-1].kind == "(" and self.last not in _PATH:
                self._join(_LIST_ELEMENT)
            self.last = token.text

    def _symbol(self, symbol: str) -> None:
        if symbol in _OPENERS:
            self._open(symbol)
        elif symbol in _CLOSERS:
            if len(self.stack) > 1:
                self.stack.pop()
            self.clause = self.clause and symbol != "}"
        elif symbol in _SEPARATORS:
            if symbol == ";" and len(self.stack) == 1:  # the next operation of an update
                self.operators, self.stack = 0, [_Scope("", [0])]
            self._join(1)
        elif symbol in _OPERATORS and not self.stack[-1].data:
            self._operator(1)
            if symbol == "/":
                self._join(1)

    def _open(self, symbol: str) -> None:
        above = self.stack[-1]
        scope = _Scope(symbol, above.joins, above.data)
        if symbol == "{":
            scope.data = scope.data or self.data
            if self.own or self.last.upper() == "WHERE":
                scope.joins = [0]
            self.own = self.data = self.clause = False
        elif symbol == "(":
            scope.expression = above.expression or self.clause or self.constraint or _is_call(self.last)
            self.constraint = False
        if scope.joins is above.joins:
            self._join(_LIST_ELEMENT if above.kind == "(" else 1)
        self.stack.append(scope)
        if len(self.stack) > self.limits.nesting:
            self._too_deep()

    def _word(self, word: str) -> None:
        if word in _OPERATOR_WORDS:
            self._operator(1)
        if word in _OWN_SCOPE:
            self.own = True
        if word in _CLAUSES:
            self.clause = True
        if word == "SELECT":
            self.stack[-1].joins = [0]
        elif word in {"FILTER", "BIND"}:
            self.constraint = True
        elif word in {"DATA", "INSERT", "DELETE", "CONSTRUCT", "VALUES"}:
            self._join(1)
            self.data = True
        elif word == "WHERE":  # DELETE WHERE and CONSTRUCT WHERE are patterns
            self.data = self.clause = False

    def _hidden(self, iri: str) -> None:
        if iri.count("(") + len(self.stack) > self.limits.nesting:
            self._too_deep()
        self._operator(sum(map(iri.count, "&|!+*=")))

    def _too_deep(self) -> NoReturn:
        raise QueryTooComplex(f"brackets are nested more than {self.limits.nesting} deep (limits.nesting)")

    def _operator(self, count: int) -> None:
        self.operators += count
        if self.operators > self.limits.operators:
            raise QueryTooComplex(
                f"one query or operation has more than {self.limits.operators} operators (limits.operators)"
            )

    def _join(self, count: int) -> None:
        scope = self.stack[-1]
        if scope.data or scope.expression:
            return
        scope.joins[0] += count
        if scope.joins[0] > self.limits.joins:
            raise QueryTooComplex(
                f"one group joins more than about {self.limits.joins} triple patterns (limits.joins)"
            )


def _is_call(word: str) -> bool:
    """Whether a round bracket after `word` opens arguments; after `a`, the verb, it opens a list."""
    return word.isidentifier() and word not in {"a", "true", "false"}


def allow_remote(sparql: str, config: SparqlConfig) -> str:
    """The text with LOAD and SERVICE allowed by host; what would reach elsewhere is refused.

    `LOAD SILENT` of a host that is not allowed is a load that failed silently: it becomes an empty operation.

    Raises:
        UnsupportedOperation: SERVICE or LOAD names a host that is not in the settings.
    """
    if _REMOTE.search(sparql) is None:
        return sparql
    found = list(tokens(sparql))
    changes: list[tuple[int, int, str]] = []
    for place, token in enumerate(found):
        if token.is_word("SERVICE"):
            target = _target(found, place)
            if not _allowed(target, config.service_hosts):
                raise UnsupportedOperation(
                    f"SERVICE {target.text if target else ''} is not allowed here (sparql.service_hosts)"
                )
        elif token.is_word("LOAD"):
            changes += _load(found, place, config.load_hosts)
    return splice(sparql, changes)


def _target(found: list[Token], place: int) -> Token | None:
    for token in found[place + 1 : place + 3]:
        if not token.is_word("SILENT"):
            return token
    return None


def _load(found: list[Token], place: int, hosts: Iterable[str]) -> list[tuple[int, int, str]]:
    target = _target(found, place)
    if _allowed(target, hosts):
        return []
    if place + 1 < len(found) and found[place + 1].is_word("SILENT"):
        end = next((token.start for token in found[place:] if token.text == ";"), found[-1].end)
        return [(found[place].start, end, "INSERT DATA {} ")]
    raise UnsupportedOperation(
        f"LOAD {target.text if target else ''} is not allowed here (sparql.load_hosts)"
    )


def _allowed(target: Token | None, hosts: Iterable[str]) -> bool:
    allowed = {host.lower() for host in hosts}
    if "*" in allowed:
        return True
    # A prefixed name or a relative IRI hides the host, and is refused with it; a variable could become any host.
    if target is None or target.kind != "iri" or _ABSOLUTE.match(target.text[1:]) is None:
        return False
    parts = urlsplit(target.text[1:-1])
    host = (parts.hostname or "").lower()
    return parts.scheme in {"http", "https"} and (host in allowed or parts.netloc.lower() in allowed)
