"""How complex a SPARQL text is to parse and plan: one walk over its tokens, which stops at the first limit passed.

A *scope* is what the planner reorders together: a group with the plain groups and GRAPH groups in it.  OPTIONAL,
UNION, MINUS, EXISTS and sub-SELECT begin scopes of their own.  What is counted is never less than what Oxigraph will
build: separators of triples, steps of paths, list elements, VALUES and GRAPH.

Many scopes together take long too, so the planner's work is estimated as well, by a formula fitted to measurements:
joins ask for the size of all that is below them, again and again; a path asks twice at each of its steps; each
sub-SELECT with an aggregate plans what is in it twice; a filter is copied into every branch of a UNION.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from .errors import QueryTooComplex
from .tokens import tokens

if TYPE_CHECKING:
    from .config import LimitsConfig
    from .tokens import Token

_OPENERS = frozenset({"(", "{", "[", "<<", "<<(", "{|"})
_CLOSERS = frozenset({")", "}", "]", ">>", ")>>", "|}"})
_OPERATORS = frozenset({"&&", "||", "!", "+", "-", "*", "/", "|", "^", "=", "!=", "<", ">", "<=", ">="})
_SEPARATORS = frozenset({".", ";", ",", "~"})
_PATH = frozenset({"|", "/", "^", "!"})
_OPERATOR_WORDS = frozenset(
    {
        "UNION",
        "OPTIONAL",
        "MINUS",
        "FILTER",
        "BIND",
        "AS",
        "EXISTS",
        "NOT",
        "IN",
        "SERVICE",
        "SELECT",
        "LATERAL",
    }
)
_OWN_SCOPE = frozenset({"OPTIONAL", "UNION", "MINUS", "EXISTS", "SERVICE", "LATERAL"})
_CLAUSES = frozenset({"SELECT", "GROUP", "HAVING", "ORDER"})
_DATA_WORDS = frozenset({"DATA", "INSERT", "DELETE", "CONSTRUCT", "VALUES"})
_TERM_WORDS = frozenset({"TRUE", "FALSE", "A"})
_OPERANDS = frozenset({"variable", "number", "string", "lang", "iri", "pname", "bnode"})
_NAMES = frozenset({"iri", "pname"})
_PAIR = 2  # a list's element is rdf:first and rdf:rest; an annotation's bracket rdf:reifies and what it says
_CLOSURES = 3  # `((p*)*)*`: each takes its own number of nodes times longer than what is in it
_BUDGET = 4  # the planner's work, in groups of limits.joins patterns: about 1 s
_FEW_JOINS = 32  # a lower limit is meant for a scope, not for many small ones
_COPIES = 1_000_000  # tokens of filters, times the branches of UNION they are copied to: about 1 s


@dataclass(slots=True)
class _Scope:
    """What the planner has to do with one scope; all but `joins` are also those of the OPTIONALs in it."""

    selects: int = 0  # sub-SELECTs around it
    optional: bool = False
    joins: int = 0
    weight: int = 0  # joins, and OPTIONALs, which the planner makes joins of where it can
    nodes: int = 0  # patterns and operators, those of all scopes in it too
    terms: int = 0  # values of VALUES, and what the steps of paths come to; of all scopes in it too

    def cost(self) -> int:
        """The planner's work; for k patterns alone the fourth power of k."""
        if not self.weight:
            return 0
        joins, terms = self.weight**2 * self.nodes**2, self.weight**2 * (self.weight + 16) * self.terms // 16
        return (joins + terms + 64) << self.selects


@dataclass(slots=True)
class _Bracket:
    """An open bracket: which, the scope that its joins count for, and what stands in it."""

    kind: str
    scope: _Scope
    data: bool = False  # a DATA block, a template, the rows of VALUES: nothing is joined
    expression: bool = False  # a FILTER's, BIND's or function's brackets: no triples
    copied: bool = False  # an expression, or what is in its EXISTS
    closures: int = 0  # the deepest `*` or `+` of a path in it


@dataclass(slots=True)
class Counter:
    """One walk over a text."""

    limits: LimitsConfig
    operators: int = 0
    copied: int = 0
    unions: int = 0
    cost: int = 0
    stack: list[_Bracket] = field(default_factory=lambda: [_Bracket("", _Scope())])
    own: str = ""  # the word by which the next group begins a scope of its own
    data: bool = False  # the next group holds data
    clause: str = ""  # in SELECT, GROUP BY, HAVING or ORDER BY: round brackets are expressions
    constraint: bool = False  # FILTER or BIND has been read: the next round bracket is an expression
    closures: int = 0  # in the bracket that was closed last
    steps: int = 0  # of the present path
    branching: bool = False  # the present path has brackets or alternatives
    last: str = ""
    last_kind: str = ""
    declaring: bool = False  # PREFIX has been read: a name and an IRI follow
    looked_into_iris: bool = False  # what was counted depends on what stands between < and >

    def count(self, sparql: str) -> None:
        """Walk over the text.

        Raises:
            QueryTooComplex: it nests, chains or joins more than the limits allow.
        """
        start: int | None = 0
        while start is not None:
            start = self._tokens(sparql, start)
        self._end_of_operation()

    def _tokens(self, sparql: str, start: int) -> int | None:
        """Walk on; the place where Oxigraph reads `<` where the standard's longest match reads an IRI, or None."""
        for token in tokens(sparql, start):
            top = self.stack[-1]
            self.copied += top.copied
            if token.kind == "symbol":
                self._symbol(token.text)
            elif token.kind == "word":
                self._word(token)
            elif token.kind == "iri" and top.expression and self._is_operand():
                self._symbol("<")  # `1<((2))&&3>0`
                self.looked_into_iris = True
                self.last, self.last_kind = "<", "symbol"
                return token.start + 1
            else:
                self._term(token.kind)
            self.last, self.last_kind = token.text, token.kind
        return None

    def _is_operand(self) -> bool:
        return self.last_kind in _OPERANDS or self.last == ")" or self.last.upper() in _TERM_WORDS

    def _symbol(self, symbol: str) -> None:
        top = self.stack[-1]
        if symbol in _OPENERS:
            self._open(symbol)
        elif symbol in _CLOSERS:
            self._close(symbol)
        elif symbol in _SEPARATORS:
            self._end_of_path()
            if symbol == ";" and len(self.stack) == 1:
                self._end_of_operation()
            else:
                self._join(1)
        elif symbol in _OPERATORS and not top.data:
            self._operator(1)
            if not top.expression:
                self._path(symbol)

    def _open(self, symbol: str) -> None:
        above = self.stack[-1]
        bracket = _Bracket(symbol, above.scope, above.data, copied=above.copied)
        if symbol == "{":
            bracket.data = above.data or self.data
            bracket.copied = above.copied or self.own == "EXISTS"
            if self.own:
                bracket.scope = _Scope(above.scope.selects, optional=self.own == "OPTIONAL")
            self.own, self.clause, self.data, self.constraint = "", "", False, False
        elif symbol == "(":
            bracket.expression = bool(
                above.expression or self.clause or self.constraint or _is_call(self.last, self.last_kind)
            )
            bracket.copied = above.copied or bracket.expression
            if self.clause not in {"", "SELECT"} and not above.expression:
                self._operator(1)
            self.branching = self.branching or not bracket.expression
            self.constraint = False
        if symbol != "(":
            self._end_of_path()
        self.stack.append(bracket)
        if not bracket.expression and not above.expression:
            self._join(_PAIR if above.kind == "(" or symbol in {"{|", "<<"} else 1)
        if len(self.stack) > self.limits.nesting:
            self._refuse(f"brackets are nested more than {self.limits.nesting} deep (limits.nesting)")

    def _close(self, symbol: str) -> None:
        if symbol != ")":
            self._end_of_path()
        if symbol == "}":
            self.clause = ""
        if len(self.stack) == 1:
            return
        closed, below = self.stack.pop(), self.stack[-1]
        self.closures = closed.closures
        below.closures = max(below.closures, closed.closures)
        if closed.scope is not below.scope:
            self._end_of_scope(closed.scope, below.scope)

    def _end_of_scope(self, scope: _Scope, above: _Scope) -> None:
        above.nodes += scope.nodes
        above.terms += scope.terms
        if scope.optional:
            above.weight += scope.weight + 1
        else:
            self._settle(scope)

    def _word(self, token: Token) -> None:
        word = token.text.upper()
        self.declaring = word == "PREFIX"
        if word in _OPERATOR_WORDS:
            self._operator(1)
            self.stack[-1].scope.nodes += 1
        if word in _OWN_SCOPE:
            self.own = word
        if word in _CLAUSES:
            self.clause = word
        if word == "SELECT" and len(self.stack) > 1:
            self.stack[-1].scope = _Scope(self.stack[-1].scope.selects + 1)
        elif word in {"FILTER", "BIND"}:
            self.constraint = True
        elif word in _DATA_WORDS:
            self.data = True
        elif word == "WHERE":  # DELETE WHERE and CONSTRUCT WHERE are patterns
            self.data, self.clause = False, ""
        elif word in _TERM_WORDS:
            self._term(token.kind)
        if word in {"VALUES", "SERVICE"}:
            self._join(1)
        self.unions += word == "UNION"

    def _term(self, kind: str) -> None:
        top = self.stack[-1]
        if top.data:
            top.scope.terms += 1
        elif top.kind == "(":
            if self.last not in _PATH:
                self._join(_PAIR)
        elif top.kind == "{":
            if self.last in {"}", ")"}:  # triples after a FILTER or an OPTIONAL need no dot before them
                self._join(1)
        elif kind in _NAMES and self.last_kind in _NAMES and len(self.stack) == 1:
            if not self.declaring:
                self._operator(1)  # DESCRIBE <a> <b>: one join each
            self.declaring = False

    def _path(self, symbol: str) -> None:
        if symbol == "/":
            self.steps += 1
            self._join(1)
        elif symbol == "|":
            self.branching = True
        elif symbol in {"*", "+"}:
            top = self.stack[-1]
            level = self.closures + 1 if self.last == ")" else 1
            top.closures = max(top.closures, level)
            if level > _CLOSURES:
                self._refuse(f"the * and + of a path are nested more than {_CLOSURES} deep")

    def _end_of_path(self) -> None:
        if self.branching and self.steps:
            self.stack[-1].scope.terms += 8 << min(self.steps, 64)
        self.steps, self.branching = 0, False

    def _end_of_operation(self) -> None:
        self._end_of_path()
        if self.copied * (self.unions + 1) > _COPIES:
            self._refuse("a filter is too large to be copied into every branch of UNION")
        self._settle(self.stack[0].scope)
        self.operators, self.copied, self.unions, self.stack = 0, 0, 0, [_Bracket("", _Scope())]

    def _settle(self, scope: _Scope) -> None:
        self.cost += scope.cost()
        if self.cost > _BUDGET * max(self.limits.joins, _FEW_JOINS) ** 4:
            self._refuse(
                "planning it would take too long: too many joins in or around each other (limits.joins)"
            )

    def _operator(self, count: int) -> None:
        self.operators += count
        if self.operators > self.limits.operators:
            self._refuse(
                f"one query or operation has more than {self.limits.operators} operators (limits.operators)"
            )

    def _join(self, count: int) -> None:
        top = self.stack[-1]
        if top.data or top.expression:
            return
        top.scope.joins += count
        top.scope.weight += count
        top.scope.nodes += count
        if top.scope.joins > self.limits.joins:
            self._refuse(
                f"one group joins more than about {self.limits.joins} triple patterns (limits.joins)"
            )

    def _refuse(self, description: str) -> NoReturn:
        raise QueryTooComplex(description)


def _is_call(word: str, kind: str) -> bool:
    """Whether a round bracket after `word` opens arguments; after `a`, the verb, it opens a list."""
    return kind == "word" and word.upper() not in _TERM_WORDS
