"""Answers that are cut where they are long, with a note that says so: for a reader whose context is small.

The broker's answer comes as TSV (SPARQL 1.1 Query Results CSV and TSV, 4) or N-Triples, where a line is a row or triple
and no line has an end of line in it: what is over the limit is counted without being kept.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .limits import Limits

Row = list[str | None]


def size(value: object) -> int:
    """The bytes of `value` as JSON."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def fitting(rows: Iterable[Any], most_rows: int, most_bytes: int) -> tuple[list[Any], int]:
    """The first rows that are within both limits, and the bytes they have as JSON."""
    taken: list[Any] = []
    used = 0
    for row in rows:
        length = size(row) + 1
        if len(taken) >= most_rows or used + length > most_bytes:
            break
        taken.append(row)
        used += length
    return taken, used


def cut(given: int, there_are: int, *, at_least: bool = False) -> str:
    """The note where an answer is not whole."""
    many = f"at least {there_are}" if at_least else f"{there_are}"
    return (
        f"Cut: {given} of {many} rows are given. Select fewer columns, filter, aggregate, or use ORDER BY with "
        "LIMIT and OFFSET to see the rest."
    )


class CutAnswer:
    """Takes the bytes of an answer and keeps what is within the limits."""

    def __init__(self, limits: Limits, rows: int, *, triples: bool) -> None:
        self._limits = limits
        self._rows = min(rows, limits.rows)
        self._triples = triples
        self._vars: list[str] | None = None
        self._boolean: bool | None = None
        self._kept: list[Any] = []
        self._used = 0
        self._lines = 0
        self._full = False
        self._rest = bytearray()
        self._scanned = 0

    def feed(self, chunk: bytes) -> bool:
        """Take some bytes in; False where no more are wanted."""
        self._scanned += len(chunk)
        self._rest += chunk
        *lines, rest = self._rest.split(b"\n")
        self._rest = bytearray(rest)
        for line in lines:
            self._take(bytes(line))
        return self._scanned <= self._limits.scanned_bytes

    def document(self, *, whole: bool) -> dict[str, Any]:
        """The answer; `whole` tells that all of its bytes have been taken in."""
        if self._rest and whole:
            self._take(bytes(self._rest))
        if self._boolean is not None:
            return {"boolean": self._boolean}
        document: dict[str, Any] = (
            {"triples": self._kept} if self._triples else {"vars": self._vars or [], "rows": self._kept}
        )
        document["count"] = self._lines
        if not whole or len(self._kept) < self._lines:
            document["count_is_exact"] = whole
            document["note"] = cut(len(self._kept), self._lines, at_least=not whole)
        return document

    def _take(self, line: bytes) -> None:
        if self._vars is None and not self._triples:
            if line in {b"true", b"false"}:  # no variable: those have their question marks
                self._boolean = line == b"true"
            names = line.decode("utf-8", "replace").split("\t") if line else []
            self._vars = [name.removeprefix("?") for name in names]
            return
        if self._triples and not line:
            return
        self._lines += 1
        if self._full or len(self._kept) >= self._rows:
            return
        row = self._row(line.decode("utf-8", "replace"))
        self._used += size(row) + 1
        if self._used > self._limits.answer_bytes:
            self._full = True
        else:
            self._kept.append(row)

    def _row(self, line: str) -> str | Row:
        if self._triples:
            return line
        return [cell or None for cell in line.split("\t")] if self._vars else []
