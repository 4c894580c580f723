"""Rows of an archive on standard output: for people, as CSV, or as one JSON object a line."""

from __future__ import annotations

import csv
import json
import math
from datetime import UTC, datetime
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any

import pyoxigraph
from pyoxigraph import Literal, NamedNode, RdfFormat

from .prefixes import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

FORMATS = ("table", "csv", "json")
_MEASURED = 500  # so many rows say how wide a table is


def write_rows(rows: Iterable[Sequence[Any]], columns: Sequence[str], format_: str, out: IO[str]) -> None:
    """Write them as they come; `value`, `sensor`, `property` and `observation` are terms of N-Triples."""
    writers: dict[str, Callable[..., None]] = {"table": _table, "csv": _csv, "json": _json}
    numbers = format_ == "json"
    cells = ([_cell(value, numbers=numbers) for value in row] for row in rows)
    writers[format_](cells, columns, out)


def _cell(value: Any, *, numbers: bool) -> Any:
    if isinstance(value, datetime):
        text = value.astimezone(UTC).isoformat(timespec="microseconds")[:-6]
        return f"{text.rstrip('0').rstrip('.')}Z" if "." in text else f"{text}Z"
    return _term(value, numbers=numbers) if isinstance(value, str) else value


def _term(text: str, *, numbers: bool) -> Any:
    """A term without its marks."""
    if text.startswith("<") and not text.startswith("<<"):
        return text[1:-1]
    if not text.startswith('"'):
        return text
    (triple,) = pyoxigraph.parse(f"<a:a> <a:a> {text} .", format=RdfFormat.N_TRIPLES, lenient=True)
    literal = triple.object
    assert isinstance(literal, Literal)
    return _number(literal) if numbers and literal.datatype in _NUMBERS else literal.value


_XSD = "http://www.w3.org/2001/XMLSchema#"
_NUMBERS = {NamedNode(f"{_XSD}{name}") for name in ("integer", "decimal", "double", "float")}


def _number(literal: Literal) -> Any:
    """JSON has no number for what is not finite, and a decimal of many digits stays a text."""
    try:
        if literal.datatype.value.endswith("integer"):
            return int(literal.value)
        number = float(literal.value)
    except ValueError:
        return literal.value
    is_exact = len(literal.value) <= 15  # a double has as many digits for certain
    return number if math.isfinite(number) and is_exact else literal.value


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell)


def _csv(rows: Iterator[list[Any]], columns: Sequence[str], out: IO[str]) -> None:
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows(map(_text, row) for row in rows)


def _json(rows: Iterator[list[Any]], columns: Sequence[str], out: IO[str]) -> None:
    for row in rows:
        there = {name: cell for name, cell in zip(columns, row, strict=True) if cell is not None}
        out.write(json.dumps(there, ensure_ascii=False) + "\n")


def _table(rows: Iterator[list[Any]], columns: Sequence[str], out: IO[str]) -> None:
    texts = ([escaped(_text(cell)) for cell in row] for row in rows)
    first = list(islice(texts, _MEASURED))
    widths = [max(map(len, column)) for column in zip(columns, *first, strict=True)]
    for row in chain([columns], first, texts):
        cells = [text.ljust(width) for text, width in zip(row, widths, strict=True)]
        out.write("  ".join(cells).rstrip() + "\n")
