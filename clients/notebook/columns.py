"""The terms of one variable as a column of pandas: typed where all of them are of one kind, text where they are not.

| terms | column |
|---|---|
| xsd:integer and the types derived from it | `Int64`; where one has no place in 64 bits, Python's int as `object` |
| other numbers | `Float64`; where a double would lose digits of one, int, Decimal and float as `object` |
| xsd:boolean | `boolean` |
| xsd:dateTime with a zone | timestamps of UTC, to the microsecond, or the nanosecond where one has them |
| xsd:dateTime without, xsd:date | timestamps without a zone |
| anything else, or kinds mixed, or a literal that its type does not have | `string`: the IRI, the literal's text, `_:label` |

An unbound variable is `pd.NA` (`NaT` among timestamps).  What a type can't hold is kept as text or object, never rounded.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pandas as pd
from pyoxigraph import Literal, NamedNode

from .moments import Moment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from triplewire.broker.model import Term

Terms: TypeAlias = "Sequence[Term | None]"
Number: TypeAlias = int | Decimal | float
# A term's datatype, "" where it is text whatever it says, and its text; None is unbound.
Cell: TypeAlias = tuple[str, str] | None

_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_INTEGERS: Final = frozenset(
    f"{_XSD}{name}"
    for name in (
        "integer",
        "long",
        "int",
        "short",
        "byte",
        "nonNegativeInteger",
        "positiveInteger",
        "nonPositiveInteger",
        "negativeInteger",
        "unsignedLong",
        "unsignedInt",
        "unsignedShort",
        "unsignedByte",
    )
)
_DECIMALS: Final = f"{_XSD}decimal"
_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)", re.ASCII)
_DOUBLE: Final = re.compile(r"[+-]?((\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|INF)|NaN", re.ASCII)
_TRUTHS: Final = {"true": True, "1": True, "false": False, "0": False}
_LARGEST: Final = 2**63
_EXACT_INTEGERS: Final = 2**53
_EXACT_DIGITS: Final = 15  # a double has as many decimal digits for certain
_EXACT_POWERS: Final = 300
_NOT_A_TIME: Final = np.iinfo(np.int64).min  # how NumPy writes NaT


def column(terms: Terms) -> Any:
    """One column, an array of pandas or NumPy, with a cell for each term."""
    cells = [None if term is None else _cell(term) for term in terms]
    kinds = {_KINDS.get(type_) for type_ in {cell[0] for cell in cells if cell is not None}}
    if len(kinds) == 1:
        (made,) = kinds
        typed = made(cells) if made is not None else None
        if typed is not None:
            return typed
    return pd.array([pd.NA if cell is None else cell[1] for cell in cells], dtype="string")


def _cell(term: Term) -> Cell:
    """The text is as a person writes it: without marks, language and type."""
    if isinstance(term, Literal):
        return term.datatype.value, term.value
    return "", term.value if isinstance(term, NamedNode) else str(term)


def _numbers(cells: Sequence[Cell]) -> Any:
    values = [None if cell is None else _number(*cell) for cell in cells]
    if any(value is None and cell is not None for value, cell in zip(values, cells, strict=True)):
        return None
    there = [value for value in values if value is not None]
    absent = np.array([value is None for value in values], dtype=np.bool_)
    if all(isinstance(value, int) for value in there):
        if all(-_LARGEST <= value < _LARGEST for value in there):
            return pd.arrays.IntegerArray(np.array([value or 0 for value in values], dtype=np.int64), absent)
    elif all(map(_is_exact, there)):
        return pd.arrays.FloatingArray(np.array([float(value or 0) for value in values]), absent)
    return _objects(values)


def _number(type_: str, text: str) -> Number | None:
    """Its value; None where it has none."""
    try:
        if type_ in _INTEGERS:
            return int(text) if _INTEGER.fullmatch(text) else None
        if type_ == _DECIMALS:
            return Decimal(text) if _DECIMAL.fullmatch(text) else None
        return float(text) if _DOUBLE.fullmatch(text) else None
    except ValueError:  # Python reads no integers of thousands of digits
        return None


def _is_exact(value: Number) -> bool:
    """Whether a double holds it."""
    if isinstance(value, float):
        return True
    if isinstance(value, int):
        return abs(value) <= _EXACT_INTEGERS
    _, digits, exponent = value.as_tuple()
    if len(digits) <= _EXACT_DIGITS:
        return int(exponent) >= -_EXACT_POWERS
    significant = "".join(map(str, digits)).strip("0")  # `normalize` would round
    return len(significant) <= _EXACT_DIGITS and abs(value.adjusted()) <= _EXACT_POWERS


def _objects(values: Sequence[Any]) -> Any:
    made = np.empty(len(values), dtype=object)
    made[:] = [pd.NA if value is None else value for value in values]
    return made


def _booleans(cells: Sequence[Cell]) -> Any:
    if any(cell is not None and cell[1] not in _TRUTHS for cell in cells):
        return None
    truths: np.ndarray[Any, np.dtype[np.bool_]] = np.array(
        [cell is not None and _TRUTHS[cell[1]] for cell in cells], dtype=np.bool_
    )
    return pd.arrays.BooleanArray(truths, np.array([cell is None for cell in cells], dtype=np.bool_))


def _moments(cells: Sequence[Cell]) -> Any:
    moments = [None if cell is None else Moment.of(cell[1]) for cell in cells]
    there = [moment for moment in moments if moment is not None]
    unread = any(moment is None and cell is not None for moment, cell in zip(moments, cells, strict=True))
    if unread or len({moment.has_zone for moment in there}) != 1:
        return None
    unit, step = ("us", 1000) if all(moment.nanoseconds % 1000 == 0 for moment in there) else ("ns", 1)
    counts = [_NOT_A_TIME if moment is None else moment.nanoseconds // step for moment in moments]
    if any(not -_LARGEST < moment.nanoseconds // step < _LARGEST for moment in there):
        return None  # nanoseconds reach from 1677 to 2262 only
    index = pd.DatetimeIndex(np.array(counts, dtype=np.int64).view(f"datetime64[{unit}]"))
    return (index.tz_localize("UTC") if there[0].has_zone else index).array


_KINDS: Final[dict[str, Callable[[Sequence[Cell]], Any]]] = {
    **dict.fromkeys((*_INTEGERS, _DECIMALS, f"{_XSD}double", f"{_XSD}float"), _numbers),
    f"{_XSD}boolean": _booleans,
    **dict.fromkeys((f"{_XSD}dateTime", f"{_XSD}dateTimeStamp", f"{_XSD}date"), _moments),
}
