"""Expressions are scanned, not read: only their variables, keywords and groups matter; see `parser`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .syntax import Comparison, Expression, NotUnderstood
from .terminals import BOOLEANS, Terminals

if TYPE_CHECKING:
    from .syntax import Group

# Each as it is from the other side.
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_OPERANDS = frozenset({"variable", "number", "string", "lang", "iri", "pname", "bnode"})
_FUNCTIONS = frozenset(
    [
        "ABS",
        "AVG",
        "BNODE",
        "BOUND",
        "CEIL",
        "COALESCE",
        "CONCAT",
        "CONTAINS",
        "COUNT",
        "DATATYPE",
        "DAY",
        "DISTINCT",
        "ENCODE_FOR_URI",
        "FALSE",
        "FLOOR",
        "GROUP_CONCAT",
        "HASLANG",
        "HASLANGDIR",
        "HOURS",
        "IF",
        "IN",
        "IRI",
        "ISBLANK",
        "ISIRI",
        "ISLITERAL",
        "ISNUMERIC",
        "ISTRIPLE",
        "ISURI",
        "LANG",
        "LANGDIR",
        "LANGMATCHES",
        "LCASE",
        "MAX",
        "MD5",
        "MIN",
        "MINUTES",
        "MONTH",
        "NOT",
        "NOW",
        "OBJECT",
        "PREDICATE",
        "RAND",
        "REGEX",
        "REPLACE",
        "ROUND",
        "SAMETERM",
        "SAMPLE",
        "SECONDS",
        "SEPARATOR",
        "SHA1",
        "SHA256",
        "SHA384",
        "SHA512",
        "STR",
        "STRAFTER",
        "STRBEFORE",
        "STRDT",
        "STRENDS",
        "STRLANG",
        "STRLANGDIR",
        "STRLEN",
        "STRSTARTS",
        "STRUUID",
        "SUBJECT",
        "SUBSTR",
        "SUM",
        "TIMEZONE",
        "TRIPLE",
        "TRUE",
        "TZ",
        "UCASE",
        "URI",
        "UUID",
        "YEAR",
    ]
)


class Expressions(Terminals):
    """Expressions are scanned, not read: only their variables, keywords and groups matter."""

    def bracketed(self, *, until: str = ")") -> Expression:
        """From `(` to its `)`, or to AS."""
        self.expect("(")
        found = Expression()
        first, depth = self.place, 1
        while True:
            if depth == 1 and until == "AS" and self.sees("AS"):
                break
            if self.sees(")"):
                depth -= 1
                if depth == 0:
                    break
            elif self.sees("("):
                depth += 1
            self._scan(found)
        self._only(found, first)
        if until == ")" and not found.groups and not found.words:
            found.comparisons = self._comparisons(first)
        if until == ")":
            self.expect(")")
        return found

    def _scan(self, found: Expression) -> None:
        if self.takes("EXISTS"):
            found.groups.append(self.group())
            return
        last, token = self.before, self.take()
        if token.kind == "variable":
            found.variables.add(token.text[1:])
        elif token.kind == "word":
            word = token.text.upper()
            if word not in _FUNCTIONS:
                self.fail("no expression")
            found.words.add(word)
        elif token.kind == "iri":
            if last.kind in _OPERANDS or last.text == ")" or last.is_word(*BOOLEANS):
                self.fail("a comparison or an IRI")
        elif token.kind == "pname":
            self.check_name(token)
        elif token.text in {"{", "}", "{|", "|}", "<<", ">>", "~"} or token.kind in {"other", "bnode"}:
            self.fail("no expression")

    def _only(self, found: Expression, first: int) -> None:
        end = self.place
        if found.groups or found.words - set(BOOLEANS):
            return
        if end - first == 1 and self.found[first].kind == "variable":
            found.only = self.found[first].text[1:]
            return
        self.place = first
        try:
            constant = self.iri() if self.here.kind in {"iri", "pname"} else self.literal()
        except NotUnderstood:
            constant = None
        if constant is not None and self.place == end:
            found.only = constant
        self.place = end

    def _comparisons(self, first: int) -> tuple[Comparison, ...]:
        """Those between `first` and here, where there is nothing else."""
        end, self.place = self.place, first
        try:
            found = self._conjunction()
        except NotUnderstood:
            found = []
        whole, self.place = self.place == end, end
        return tuple(found) if whole else ()

    def _conjunction(self) -> list[Comparison]:
        found: list[Comparison] = []
        while True:
            if self.takes("("):
                found += self._conjunction()
                self.expect(")")
            else:
                found.append(self._comparison())
            if not self.takes("&&"):
                return found

    def _comparison(self) -> Comparison:
        if self.here.kind == "variable":
            name, operator, constant = self.variable(), self.take().text, self.literal()
        else:
            constant, operator, name = self.literal(), self.take().text, self.variable()
            operator = _TURNED.get(operator, operator)
        if operator not in _TURNED or constant.text[0] not in "+-.0123456789":
            self.fail("no comparison with a number")
        return Comparison(name, operator, constant)

    def call(self) -> Expression:
        """A bracketed expression, a function's call, or EXISTS: what FILTER and HAVING take."""
        found = Expression()
        if self.takes("NOT"):
            self.expect("EXISTS")
            found.groups.append(self.group())
        elif self.takes("EXISTS"):
            found.groups.append(self.group())
        elif self.sees("("):
            return self.bracketed()
        else:
            token = self.take()
            if token.kind == "pname":
                self.check_name(token)
            elif token.kind not in {"iri", "word"}:
                self.fail("no constraint")
            found = self.bracketed()
            found.only = None
            if token.kind == "word":
                found.words.add(token.text.upper())
        return found

    def group(self) -> Group:
        """See `Parser`."""
        raise NotImplementedError
