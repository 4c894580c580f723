"""What the place of a variable in a SPARQL text asks of a term that shall stand there instead.

Most places take a term as they take a variable.  The others are found by walking over the tokens with a small memory:
the clause we are in, the parentheses open in it, and the SELECT that it belongs to.  A brace begins a clause of its own
and its end brings back the clause before it.

    SELECT ?v (COUNT(?v) AS ?n) { ?v :p ?o FILTER BOUND(?v) } GROUP BY ?v
           |         |      |     |                     |              |
    projected     term  assigned  term                bound    condition

A *scope* is a query, a subselect, or an update: names of variables hold within it, and outside where it projects them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

from triplewire.broker.tokens import Token, tokens


class Place(Enum):
    """Where a variable stands."""

    TERM = "a term fits as it is"
    PROJECTED = "in the list after SELECT"
    CONDITION = "alone in GROUP BY or ORDER BY"
    BOUND = "the argument of BOUND"
    ASSIGNED = "the target of AS or of VALUES"
    DATA = "in the data of VALUES"


class Use(NamedTuple):
    """A variable in the text: `tokens[at]`."""

    name: str
    at: int
    place: Place
    scope: int


@dataclass(slots=True)
class Scope:
    """A query, a subselect or an update; `opening` and `closing` are the braces of its WHERE group among the tokens.

    `form` is empty for an update.
    """

    depth: int = 0
    form: str = ""
    projected: list[str] = field(default_factory=list)
    projects_all: bool = False
    projects_expressions: bool = False
    template: int | None = None
    opening: int | None = None
    closing: int | None = None


@dataclass(slots=True)
class Reading:
    """A text that was walked over: its tokens, and each use of a variable in order."""

    tokens: list[Token]
    uses: list[Use] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=lambda: [Scope()])

    def names(self) -> frozenset[str]:
        """The variables of the text."""
        return frozenset(use.name for use in self.uses)

    def word(self, index: int, *words: str) -> bool:
        """Whether the token there is one of these keywords."""
        return 0 <= index < len(self.tokens) and self.tokens[index].is_word(*words)

    def symbol(self, index: int, text: str) -> bool:
        """Whether the token there is this symbol."""
        return 0 <= index < len(self.tokens) and self.tokens[index].text == text


@lru_cache(maxsize=256)  # profiles have some hundred texts, each bound again and again
def read(text: str) -> Reading:
    """Walk over `text`; it need not be right, a variable in a place that makes no sense counts as a term.

    The reading is shared: it is not to be changed.
    """
    walk = _Walk(Reading(list(tokens(text))))
    for index, token in enumerate(walk.reading.tokens):
        walk.step(index, token)
    return walk.reading


class _Clause(Enum):
    OTHER = auto()
    SELECT = auto()
    SORT = auto()  # GROUP BY and ORDER BY
    NAMES = auto()  # VALUES before its data
    DATA = auto()


class _Memory(NamedTuple):
    """What holds again after the closing brace."""

    opening: int
    clause: _Clause
    parentheses: int
    scope: int


class _Walk:
    """One walk over the tokens; `step` is called for each in order."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self._clause = _Clause.OTHER
        self._parentheses = 0
        self._scope = 0
        self._braces: list[_Memory] = []

    def step(self, index: int, token: Token) -> None:
        if token.kind == "variable":
            self._use(index, token.text[1:])
        elif token.kind == "word":
            self._word(index, token.text.upper())
        elif token.kind == "symbol":
            self._symbol(index, token.text)

    def _use(self, index: int, name: str) -> None:
        place = self._place(index)
        if place is Place.PROJECTED:
            self._current.projected.append(name)
        self.reading.uses.append(Use(name, index, place, self._scope))

    def _place(self, index: int) -> Place:
        reading = self.reading
        if self._clause is _Clause.DATA:
            return Place.DATA
        if self._clause is _Clause.NAMES or reading.word(index - 1, "AS"):
            return Place.ASSIGNED
        if (
            reading.word(index - 2, "BOUND")
            and reading.symbol(index - 1, "(")
            and reading.symbol(index + 1, ")")
        ):
            return Place.BOUND
        if self._parentheses == 0 and self._clause is _Clause.SELECT:
            return Place.PROJECTED
        if self._parentheses == 0 and self._clause is _Clause.SORT:
            return Place.CONDITION
        return Place.TERM

    def _word(self, index: int, word: str) -> None:
        match word:
            case "SELECT":
                self._select()
            case "ASK" | "CONSTRUCT" | "DESCRIBE" if not self._braces:
                self._current.form = word
            case "FROM" | "WHERE" if self._clause is _Clause.SELECT:
                self._enter(_Clause.OTHER)
            case "GROUP" | "ORDER" if self.reading.word(index + 1, "BY"):
                self._enter(_Clause.SORT)
            case "HAVING" | "LIMIT" | "OFFSET":
                self._enter(_Clause.OTHER)
            case "VALUES":
                self._enter(_Clause.NAMES)

    def _symbol(self, index: int, symbol: str) -> None:
        match symbol:
            case "(":
                if self._clause is _Clause.SELECT and self._parentheses == 0:
                    self._current.projects_expressions = True
                self._parentheses += 1
            case ")":
                self._parentheses -= 1
            case "*" if self._clause is _Clause.SELECT and self._parentheses == 0:
                self._current.projects_all = True
            case "{":
                self._open(index)
            case "}" if self._braces:
                self._close(index)

    def _select(self) -> None:
        if self._braces:
            self._scope = len(self.reading.scopes)
            self.reading.scopes.append(Scope(depth=len(self._braces)))
        self._current.form = "SELECT"
        self._enter(_Clause.SELECT)

    def _open(self, index: int) -> None:
        scope, is_data = self._current, self._clause is _Clause.NAMES
        if len(self._braces) == scope.depth and not is_data and scope.form:
            if scope.form == "CONSTRUCT" and self.reading.word(index - 1, "CONSTRUCT"):
                scope.template = index
            elif scope.opening is None:
                scope.opening = index
        outer = self._clause if self._clause is _Clause.SORT else _Clause.OTHER
        self._braces.append(_Memory(index, outer, self._parentheses, self._scope))
        self._enter(_Clause.DATA if is_data else _Clause.OTHER)

    def _close(self, index: int) -> None:
        memory = self._braces.pop()
        self._clause, self._parentheses, self._scope = memory.clause, memory.parentheses, memory.scope
        if memory.opening == self._current.opening:
            self._current.closing = index

    def _enter(self, clause: _Clause) -> None:
        self._clause, self._parentheses = clause, 0

    @property
    def _current(self) -> Scope:
        return self.reading.scopes[self._scope]
