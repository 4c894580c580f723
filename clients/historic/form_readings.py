"""How the form for observations reads texts: when something was measured, and what."""

from __future__ import annotations

import re
import zoneinfo
from typing import TYPE_CHECKING

from .form_names import XSD
from .plan import Moment, Number

if TYPE_CHECKING:
    from .form_table import Table

DATATYPES = ("double", "decimal", "integer", "boolean", "string")
_ISO = "iso"
_NUMBERS = DATATYPES[:3]
# Spark's letters that say something of a moment; the rest, quoted, is text.
_PATTERN = re.compile(r"(?:'(?:[^']|'')*'|[yuMLdHhkKmsSaEXxZzVO]|[^A-Za-z'])+")


def read_moment(table: Table) -> Moment:
    """`formats` (or one), and the `zone` of texts without an offset."""
    formats = table.texts("formats")
    zone = table.text("zone", "UTC")
    if formats == (_ISO,):
        formats = ()
    if _ISO in formats:
        table.problem("formats", f'"{_ISO}" stands alone: it is what is read where there are no formats')
    for format_ in formats:
        if format_ not in ("epoch_s", "epoch_ms", _ISO) and not _PATTERN.fullmatch(format_):
            table.problem("formats", f"{format_!r} is no pattern: letters that are text stand in '..'")
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        table.problem("zone", f"{zone!r} is no time zone: write it as Europe/Berlin, or UTC")
    return Moment(formats, zone)


def read_value(table: Table) -> tuple[str | None, Number | None]:
    """The datatype of values and how they are read: numbers are, other texts are taken as they are."""
    name = table.choice("datatype", DATATYPES, "double")
    decimal = table.text("decimal", ".")
    grouping = table.text("grouping")
    for key, text in (("decimal", decimal), ("grouping", grouping or " ")):
        if len(text) != 1 or text.isalnum() or text in "+-":
            table.problem(key, f"must be one mark, and is {text!r}")
    if decimal == grouping:
        table.problem("grouping", f"can't be {grouping!r}, as the decimal mark is")
    if name in _NUMBERS:
        return XSD + name, Number(decimal, grouping)
    return (XSD + name if name != "string" else None), None
