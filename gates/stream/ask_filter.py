"""`ask=`: a SPARQL ASK on the graph of one item, from anybody who may follow, and evaluated on the event loop.

Nothing can stop a query once Oxigraph has it, so only those are taken of which it is known beforehand what they cost at
most: groups of triple patterns, OPTIONAL, UNION, MINUS, FILTER with EXISTS and with functions that do not make texts
longer, and paths without brackets.  Left out is what makes values out of values (BIND, VALUES, sub-SELECT, REPLACE...:
forty CONCATs of a text with itself fill any memory), and what reaches beyond the item (SERVICE, GRAPH).

What is left tries each pattern with each triple, at most: n triples and k patterns are n**k steps of about 0.3 us each.
An item for which that is more than MOST_STEPS does not pass.  Steps of paths and what * and + repeat count as patterns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyoxigraph import QueryBoolean, Store

from triplewire.broker.errors import MalformedRequest
from triplewire.broker.guard import check_query
from triplewire.broker.tokens import tokens

if TYPE_CHECKING:
    from triplewire.broker.config import LimitsConfig
    from triplewire.broker.tokens import Token

    from .looked import Looked

MOST_STEPS = 1_000_000
_WORDS = """
    A ABS AND ASK BASE BOUND CEIL COALESCE CONTAINS DATATYPE DAY EXISTS FALSE FILTER FLOOR HOURS IF IN ISBLANK ISIRI
    ISLITERAL ISNUMERIC ISURI LANG LANGMATCHES LCASE MINUS MINUTES MONTH NOT NOW OPTIONAL PREFIX REGEX ROUND SAMETERM
    SECONDS STR STRAFTER STRBEFORE STRENDS STRLEN STRSTARTS SUBSTR TRUE TZ UCASE UNION WHERE YEAR
"""
_ALLOWED = frozenset(_WORDS.split())
_OPENERS = frozenset({"(", "{", "["})
_CLOSERS = frozenset({")", "}", "]"})
_TRIPLE_TERMS = frozenset({"<<", "<<(", ">>", ")>>", "{|", "|}", "~"})
_TERMS = frozenset({"variable", "iri", "pname", "bnode", "string", "number"})
_PATH = frozenset({"/", "|", "*", "+", "?", "^"})


@dataclass(frozen=True, slots=True)
class Ask:
    """The query, and of how many patterns it is."""

    text: str
    patterns: int

    def passes(self, looked: Looked) -> bool:
        """Whether the item's graph answers it by true; of an item without RDF, or with too much of it, false."""
        size = len(looked.quads)
        if not size or size**self.patterns > MOST_STEPS:
            return False
        try:
            return bool(looked.store.query(self.text))
        except (ValueError, RuntimeError, OSError):  # as of a regular expression that is too large
            return False


def ask_of(text: str, limits: LimitsConfig) -> Ask:
    """An ASK as a filter.

    Raises:
        RequestError: it is no ASK, has something that is left out here, or is too complex.
    """
    check_query(text, limits)
    patterns = _Patterns()
    for token in tokens(text):
        patterns.take(token)
    try:
        answer = Store().query(text)
    except SyntaxError as error:
        raise MalformedRequest(f"ask is not SPARQL: {error.msg:.300}") from error
    except (ValueError, RuntimeError) as error:
        raise MalformedRequest(f"ask can't be evaluated: {error!s:.300}") from error
    if not isinstance(answer, QueryBoolean):
        raise MalformedRequest("ask must be a query of the form ASK")
    return Ask(text, max(1, patterns.count))


class _Patterns:
    """Counts triple patterns: never less than there are."""

    def __init__(self) -> None:
        self.count = 0
        self._open: list[str] = [""]
        self._last = ""
        self._last_kind = ""

    def take(self, token: Token) -> None:
        """The next token."""
        text = token.text
        if token.kind == "word":
            self._word(text.upper())
        elif text in _TRIPLE_TERMS:
            raise MalformedRequest(f"ask: {text} is not read here")
        if token.kind in _TERMS or (token.kind == "word" and text.upper() in {"TRUE", "FALSE"}):
            self._term()
        elif token.kind == "symbol":
            self._symbol(text)
        self._last, self._last_kind = text.upper(), token.kind

    def _word(self, word: str) -> None:
        if word not in _ALLOWED:
            raise MalformedRequest(f"ask: {word:.40} is not allowed here: what it costs could not be bounded")

    def _term(self) -> None:
        # Triples after a FILTER or an OPTIONAL need no dot before them
        self.count += self._open[-1] == "{" and self._last in {"{", ".", "}", ")"}

    def _symbol(self, symbol: str) -> None:
        top = self._open[-1]
        if symbol in _OPENERS:
            if symbol == "(" and top in {"{", "["} and (self._last_kind != "word" or self._last == "A"):
                raise MalformedRequest("ask: lists, and brackets in paths, are not read here")
            if symbol == "[":
                self._term()  # it may be what a triple is about
                self.count += 1
            self._open.append(symbol)
        elif symbol in _CLOSERS:
            if len(self._open) > 1:
                self._open.pop()
        elif (symbol in {";", ","} or symbol in _PATH) and top != "(":
            self.count += 1
