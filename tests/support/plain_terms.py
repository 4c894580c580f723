"""Terms made in plain Python, by the rules of `clients/historic/plan.py`: what Spark's expressions are compared with."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Decimal
from urllib.parse import quote

from triplewire.clients.historic.plan import Encoding, Number
from triplewire.clients.historic.reasons import Reason

XSD = "http://www.w3.org/2001/XMLSchema#"
SPACE = " \t\r\n"
_ECHARS = {
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
    '"': '\\"',
    "\\": "\\\\",
}


class Broken(Exception):
    """The row makes no quads; its argument is the reason."""


def escaped(text: str) -> str:
    """The inside of a literal in canonical N-Quads."""
    return "".join(_ECHARS.get(c) or (f"\\u{ord(c):04X}" if _is_control(c) else c) for c in text)


def _is_control(c: str) -> bool:
    return c < " " or c in "\x7f\ufffe\uffff"


def encoded(text: str, encoding: Encoding) -> str:
    """A value in a template that makes an IRI."""
    if encoding is Encoding.NONE:
        return text
    keeps = encoding is Encoding.IRI
    return "".join(c if keeps and is_ucschar(ord(c)) else quote(c, safe="-._~") for c in text)


def is_ucschar(code: int) -> bool:
    """RFC 3987 2.2."""
    if code < 0x10000:
        return 0xA0 <= code <= 0xD7FF or 0xF900 <= code <= 0xFDCF or 0xFDF0 <= code <= 0xFFEF
    return code & 0xFFFF <= 0xFFFD and code >> 16 <= 0xE and not 0xE0000 <= code < 0xE1000


def double(value: float) -> str:
    """XSD 1.1 part 2, the canonical form: `2.05E1`."""
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).lstrip("0")
    if not text:
        return "-0.0E0" if sign else "0.0E0"
    power = len(text) - 1 + exponent
    text = text.rstrip("0")
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{power}"


def natural(value: object) -> tuple[str, str | None]:
    """RML's natural mapping: a value's text and its datatype; None is a string."""
    if isinstance(value, bool):
        return ("true" if value else "false"), f"{XSD}boolean"
    if isinstance(value, int):
        return str(value), f"{XSD}integer"
    if isinstance(value, float):
        return double(value), f"{XSD}double"
    if isinstance(value, str):
        return value, None
    raise Broken(Reason.NOT_A_VALUE)


def number(value: object, reading: Number, datatype: str | None) -> tuple[str, str]:
    """A value read as a number: its canonical form, and its datatype."""
    if isinstance(value, bool):
        raise Broken(Reason.BAD_NUMBER)
    if isinstance(value, int | float):
        return _own_number(value, datatype)
    if not isinstance(value, str):
        raise Broken(Reason.NOT_A_VALUE)
    text = _plain_spelling(value.strip(SPACE), reading)
    kind = datatype or f"{XSD}{_kind(text)}"
    if kind in (f"{XSD}double", f"{XSD}float"):
        return _double_text(text), kind
    if kind == f"{XSD}decimal":
        return _decimal_text(text, r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)"), kind
    return _decimal_text(text, r"[+-]?[0-9]+(\.0*)?"), kind


def _own_number(value: float, datatype: str | None) -> tuple[str, str]:
    kind = datatype or (f"{XSD}integer" if isinstance(value, int) else f"{XSD}double")
    if kind in (f"{XSD}double", f"{XSD}float"):
        try:
            return double(float(value)), kind
        except OverflowError:
            raise Broken(Reason.BAD_NUMBER) from None
    if not math.isfinite(value):
        raise Broken(Reason.BAD_NUMBER)
    exact = Decimal(value) if isinstance(value, int) else Decimal(repr(value))
    if kind == f"{XSD}decimal":
        places = Decimal(1).scaleb(-18)
        rounded = exact if exact == exact.to_integral_value() else _quantized(exact, places)
        return _canonical(f"{rounded:f}"), kind
    if exact != exact.to_integral_value():
        raise Broken(Reason.BAD_NUMBER)
    return _canonical(f"{exact:f}"), kind


def _quantized(exact: Decimal, places: Decimal) -> Decimal:
    return exact.quantize(places, rounding=ROUND_HALF_UP)


def _plain_spelling(text: str, reading: Number) -> str:
    """The number with a point and without groups."""
    sign, rest = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    whole, point, fraction = rest.partition(reading.decimal)
    if reading.decimal != "." and "." in rest and reading.grouping != ".":
        raise Broken(Reason.BAD_NUMBER)
    if reading.grouping and reading.grouping in rest:
        groups = whole.split(reading.grouping)
        is_grouped = re.fullmatch("[0-9]{1,3}", groups[0]) and all(
            re.fullmatch("[0-9]{3}", group) for group in groups[1:]
        )
        # A group's mark after the point, or a group of another size, is a slip: 1,5 is not 15.
        exponent = re.fullmatch(r"([0-9]{3})([eE][+-]?[0-9]+)", groups[-1]) if not point else None
        if exponent is not None:
            groups[-1] = exponent[1]
            is_grouped = re.fullmatch("[0-9]{1,3}", groups[0]) and all(
                re.fullmatch("[0-9]{3}", group) for group in groups[1:]
            )
        if not is_grouped:
            raise Broken(Reason.BAD_NUMBER)
        whole = "".join(groups) + (exponent[2] if exponent is not None else "")
    return f"{sign}{whole}{'.' if point else ''}{fraction}"


def _kind(text: str) -> str:
    if re.fullmatch("[+-]?[0-9]+", text):
        return "integer"
    return "decimal" if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", text) else "double"


def _double_text(text: str) -> str:
    if text in ("INF", "+INF", "-INF", "NaN"):
        return text.removeprefix("+")
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        raise Broken(Reason.BAD_NUMBER)
    value = float(text)
    if math.isinf(value):
        raise Broken(Reason.BAD_NUMBER)
    return double(value)


def _decimal_text(text: str, pattern: str) -> str:
    if not re.fullmatch(pattern, text):
        raise Broken(Reason.BAD_NUMBER)
    return _canonical(text)


def _canonical(text: str) -> str:
    sign = "-" if text.startswith("-") else ""
    whole, _, fraction = text.lstrip("+-").partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    if whole == "0" and not fraction:
        return "0"
    return f"{sign}{whole}{'.' if fraction else ''}{fraction}"
