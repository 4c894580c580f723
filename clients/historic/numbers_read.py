"""Texts as numbers in the canonical forms of their datatypes (XSD 1.1 part 2, E.1), in Spark's own expressions.

All of it works on digits, not on binary numbers, so that a number may be of any length.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

    from .plan import Number

XSD: Final = "http://www.w3.org/2001/XMLSchema#"
DOUBLES: Final = frozenset((f"{XSD}double", f"{XSD}float"))
DECIMAL: Final = f"{XSD}decimal"
_INTEGER: Final = r"^[+-]?[0-9]+(?:\.0*)?\z"
_DECIMAL: Final = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)\z"
_DOUBLE: Final = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\z"
SPACE: Final = " \t\r\n"
_LARGEST: Final = 1.7976931348623157e308
_SMALLEST: Final = 2.2250738585072014e-308  # below it doubles have fewer digits
_OWN_DIGITS: Final = 15  # so many and fewer survive the way into a double and back
_COMMON: Final = r"^-?[0-9]{1,15}(?:\.[0-9]*)?\z"


def plain(text: Column, number: Number) -> Column:
    """The text with a point, and without white space and groups; null where its groups are none."""
    text = F.btrim(text, F.lit(SPACE))
    bad: Column | None = None
    if number.grouping:
        group, point = re.escape(number.grouping), re.escape(number.decimal)
        fits = rf"^[+-]?[0-9]{{1,3}}(?:{group}[0-9]{{3}})+(?:{point}[0-9]*)?(?:[eE][+-]?[0-9]+)?\z"
        bad = text.contains(number.grouping) & ~text.rlike(fits)
    if number.decimal != ".":
        dotted = text.contains(".") if number.grouping != "." else F.lit(False)
        bad = dotted if bad is None else bad | dotted
    text_without = F.replace(text, F.lit(number.grouping), F.lit("")) if number.grouping else text
    if number.decimal != ".":
        text_without = F.replace(text_without, F.lit(number.decimal), F.lit("."))
    return text_without if bad is None else F.when(~bad, text_without)


def canonical(text: Column, datatype: str) -> Column:
    """A plain number in the canonical form of xsd:decimal, or of integers for any other; null where it is none."""
    return decimal(text) if datatype == DECIMAL else integer(text)


def kind(text: Column, as_double: Column) -> Column:
    """Of integer, decimal and double the first that a plain number is, as an IRI; null where it is none."""
    return (
        F.when(text.rlike(r"^[+-]?[0-9]+\z"), F.lit(f"{XSD}integer"))
        .when(text.rlike(_DECIMAL), F.lit(DECIMAL))
        .when(as_double.isNotNull(), F.lit(f"{XSD}double"))
    )


def integer(text: Column) -> Column:
    """`-007.0` is `-7`."""
    whole = F.substring_index(text, ".", 1)
    return F.when(text.rlike(r"^-?[1-9][0-9]*\z"), text).when(
        text.rlike(_INTEGER), _signed(whole, _unled(_unsigned(whole)))
    )


def decimal(text: Column) -> Column:
    """`020.50` is `20.5`, `20.0` is `20`."""
    digits = _unsigned(text)
    fraction = F.rtrim(
        F.when(digits.contains("."), F.substring_index(digits, ".", -1)).otherwise(""), F.lit("0")
    )
    whole = _unled(F.substring_index(digits, ".", 1))
    written = F.concat(whole, F.when(fraction == "", "").otherwise(F.concat(F.lit("."), fraction)))
    return F.when(text.rlike(r"^-?[1-9][0-9]*(?:\.[0-9]*[1-9])?\z"), text).when(
        text.rlike(_DECIMAL), _signed(text, written)
    )


def double(text: Column, keep: Callable[[Column], Column]) -> Column:
    """`20.50` is `2.05E1`; XSD's INF and NaN stay, and what is beyond the largest is null.

    The digits come from the text where it has few of them, else from the double: the fewest that mean the same, where Java
    before 19 sometimes tells one too many (JDK-4511638).  `keep` makes a column of what is looked at often.  Nearly all that
    is measured is short and has no exponent: that is written by few operations, and the long way is only gone for the rest.
    """
    common = (F.length(text) <= _OWN_DIGITS + 1) & text.rlike(_COMMON)
    shown = keep(F.when(~common, _shown(text)))
    sign = F.when(text.startswith("-"), "-").otherwise("")
    special = F.when(text.isin("INF", "-INF", "NaN"), text).when(text == "+INF", "INF")
    rare = F.when(shown.isNotNull(), F.concat(sign, _scientific(shown))).otherwise(special)
    return F.when(common, F.concat(sign, _pointed(_unsigned(text), F.lit(0)))).otherwise(rare)


def _shown(text: Column) -> Column:
    """A number's digits, without its sign; null where it is none, or beyond the largest double."""
    value = F.abs(F.when(text.rlike(_DOUBLE), text).try_cast("double"))
    digits = F.length(_significant(_mantissa(_unsigned(text))))
    shown = F.when((digits <= _OWN_DIGITS) & (value > _SMALLEST), _unsigned(text))
    for count in (1, _OWN_DIGITS, _OWN_DIGITS + 1):
        fewer = F.printf(F.lit(f"%.{count - 1}e"), value)
        shown = shown.when(fewer.try_cast("double") == value, fewer)
    return F.when(value <= _LARGEST, shown.otherwise(value.cast("string")))


def let(value: Column, body: Callable[[Column], Column]) -> Column:
    """A body that uses a value often: Spark would make it anew at each place, and the text of it all grow without end."""
    return F.get(F.transform(F.array(value), body), F.lit(0))


def inline_double(text: Column) -> Column:
    """`double` where no columns can be made: within lambdas."""
    return double(text, lambda shown: shown)


def _scientific(text: Column) -> Column:
    """A number without sign, with or without exponent, with its point behind the first digit."""
    power = F.when(_capital(text).contains("E"), F.substring_index(_capital(text), "E", -1)).otherwise("0")
    return _pointed(_mantissa(text), power.try_cast("int"))


def _pointed(mantissa: Column, power: Column) -> Column:
    """Digits with or without a point, times so many tens: `0250.0` is `2.5E2`."""
    digits = F.replace(mantissa, F.lit("."), F.lit(""))
    unled = F.ltrim(digits, F.lit("0"))
    shown = F.rtrim(unled, F.lit("0"))
    rest = F.substring(shown, 2, 800)
    exponent = F.length(F.substring_index(mantissa, ".", 1)) - 1 - F.length(digits) + F.length(unled) + power
    written = F.concat(
        F.substring(shown, 1, 1),
        F.lit("."),
        F.when(rest == "", "0").otherwise(rest),
        F.lit("E"),
        exponent.cast("string"),
    )
    return F.when(shown == "", "0.0E0").otherwise(written)


def _mantissa(text: Column) -> Column:
    return F.substring_index(_capital(text), "E", 1)


def _capital(text: Column) -> Column:
    """Spark's `upper` knows all scripts, and takes seconds to learn them."""
    return F.replace(text, F.lit("e"), F.lit("E"))


def _significant(mantissa: Column) -> Column:
    return F.btrim(F.replace(mantissa, F.lit("."), F.lit("")), F.lit("0"))


def _unsigned(text: Column) -> Column:
    return F.ltrim(text, F.lit("+-"))


def _unled(digits: Column) -> Column:
    """Without zeros at its start, but one where nothing is left."""
    short = F.ltrim(digits, F.lit("0"))
    return F.when(short == "", "0").otherwise(short)


def _signed(text: Column, written: Column) -> Column:
    return F.when(text.startswith("-") & (written != "0"), F.concat(F.lit("-"), written)).otherwise(written)
