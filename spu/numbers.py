"""Comparing terms with numbers as Oxigraph does, without asking it where it is clear what it would say.

Integers and decimals are compared exactly; with a double (or a float) the other is made one first (SPARQL 1.1 Query,
17.3), and where rounding could decide, Oxigraph is asked.  What is no number is in no relation to one.
"""

from __future__ import annotations

import math
import operator
import re
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from pyoxigraph import Literal, QuerySolutions, Store

if TYPE_CHECKING:
    from triplewire.broker.model import Term

XSD = "http://www.w3.org/2001/XMLSchema#"
OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_DOUBLE = re.compile(r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|INF)")
# Oxigraph's decimals are 128 bits, 18 digits of them behind the point; its integers have 64 bits.
_MOST_DIGITS, _MOST_FRACTION = 18, 18
_INT64 = 1 << 63
# Nearer than this, relatively, the rounding to a double or a float could decide.
NEAR = 1e-6
_EMPTY = Store()


class Number(NamedTuple):
    """A number; `exact` is None for doubles and floats, and `near` the same as a double."""

    exact: int | Decimal | None
    near: float


def number(term: Term | None) -> Number | None:
    """The number that a term is for Oxigraph; None where it is none.

    Raises:
        ValueError: it is so long that it can't be told here.
    """
    if not isinstance(term, Literal):
        return None
    datatype = term.datatype.value
    if not datatype.startswith(XSD):
        return None
    text = term.value
    match datatype[len(XSD) :]:
        case "integer":
            if _INTEGER.fullmatch(text) is None:
                return None
            whole = int(text)
            return Number(whole, float(whole)) if -_INT64 <= whole < _INT64 else None
        case "decimal":
            if _DECIMAL.fullmatch(text) is None:
                return None
            digits, _, fraction = text.lstrip("+-").partition(".")
            if len(digits) > _MOST_DIGITS or len(fraction) > _MOST_FRACTION:
                raise ValueError(text)
            return Number(Decimal(text), float(text))
        case "double" | "float":
            if _DOUBLE.fullmatch(text) is None:
                return None
            return Number(None, float(text))
    return None


def holds(term: Term | None, comparison: str, with_: Term) -> bool:
    """Whether `term comparison with_` is true, `with_` being a number; an error is not."""
    try:
        left, right = number(term), number(with_)
    except ValueError:
        return asked(term, comparison, with_)
    if left is None:
        return False if right is not None else asked(term, comparison, with_)
    if right is None or is_near(left, right):
        return asked(term, comparison, with_)
    if left.exact is not None and right.exact is not None:
        return bool(OPERATORS[comparison](left.exact, right.exact))
    return bool(OPERATORS[comparison](left.near, right.near))


def is_near(left: Number, right: Number) -> bool:
    """Whether rounding could decide between the two."""
    if left.exact is not None and right.exact is not None:
        return False
    if left.near == right.near:
        return True
    return math.isclose(left.near, right.near, rel_tol=NEAR)


@lru_cache(maxsize=4096)
def asked(term: Term | None, comparison: str, with_: Term) -> bool:
    """What Oxigraph says of `term comparison with_`."""
    if not isinstance(term, Literal):
        return False
    found = _EMPTY.query(f"SELECT ?v {{ VALUES ?v {{ {term} }} FILTER(?v {comparison} {with_}) }}")
    assert isinstance(found, QuerySolutions), "it is a SELECT"
    return next(found, None) is not None
