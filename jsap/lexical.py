"""Python's values as XSD writes them: each with its natural datatype, or written for the datatype that is asked for."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

# XSD 1.1, 3: the datatypes that literals may have
_NAMES = (
    "string boolean decimal float double duration dateTime time date gYearMonth gYear gMonthDay gDay gMonth hexBinary "
    "base64Binary anyURI QName NOTATION normalizedString token language NMTOKEN Name NCName integer "
    "nonPositiveInteger negativeInteger long int short byte nonNegativeInteger unsignedLong unsignedInt unsignedShort "
    "unsignedByte positiveInteger yearMonthDuration dayTimeDuration dateTimeStamp"
)
XSD_NAMES = frozenset(_NAMES.split())
INTEGERS = frozenset(
    XSD + name
    for name in (
        *("integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger"),
        *(
            "unsignedLong",
            "unsignedInt",
            "unsignedShort",
            "unsignedByte",
            "nonPositiveInteger",
            "negativeInteger",
        ),
    )
)
_FLOATS = frozenset({XSD + "double", XSD + "float"})
_NUMBERS = INTEGERS | _FLOATS | {XSD + "decimal"}


def lexical(value: object, datatype: str | None) -> tuple[str, str]:
    """The lexical form of a Python value, and its datatype: `datatype`, or the natural one where that is None.

    Raises:
        ValueError: no datatype is natural to it, or `datatype` can't hold it.
    """
    # bool is an int and datetime is a date: the order matters
    for kind, name, write in _NATURAL:
        if isinstance(value, kind):
            if datatype in _NUMBERS:
                return _number(value, datatype), datatype
            if datatype == XSD + "date" and isinstance(value, datetime):
                return value.date().isoformat(), datatype
            return write(value), datatype or XSD + name
    raise ValueError(f"a {type(value).__name__} is no value for a variable")


def _number(value: Any, datatype: str) -> str:
    """A number for a numeric datatype, exactly or not at all."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError(f"{value!r} is not a number, as {datatype} is")  # noqa: TRY004 - the kind is data here
    if datatype in _FLOATS:
        return _float(float(value))
    if not math.isfinite(value) or (datatype in INTEGERS and value != int(value)):
        raise ValueError(f"{value!r} can't be written as {datatype}")
    if datatype in INTEGERS:
        return str(int(value))
    return _decimal(Decimal(repr(float(value))) if isinstance(value, float) else Decimal(value))


def _float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    return repr(float(value))


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise ValueError(f"{value} can't be written as {XSD}decimal")
    return format(value, "f")  # XSD's decimals have no exponent


def _instant(value: datetime | time) -> str:
    return value.isoformat().replace("+00:00", "Z")


def _duration(value: timedelta) -> str:
    """Days and seconds; Python keeps the sign in the days, XSD before the whole."""
    size = abs(value)
    seconds = Decimal(size.seconds) + Decimal(size.microseconds) / 1_000_000
    return f"{'-' if value < timedelta(0) else ''}P{size.days}DT{_decimal(seconds)}S"


_NATURAL: tuple[tuple[type, str, Callable[[Any], str]], ...] = (
    (bool, "boolean", lambda value: str(value).lower()),
    (int, "integer", lambda value: str(int(value))),
    (float, "double", _float),
    (Decimal, "decimal", _decimal),
    (datetime, "dateTime", _instant),
    (date, "date", date.isoformat),
    (time, "time", _instant),
    (timedelta, "dayTimeDuration", _duration),
)
