"""A problem of a profile, as `check` reports it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong at `path` of the document; with an error, something of the profile can't be used.

    Line and column count from 1, in the text at `path`, or in the file where the path is empty.
    """

    path: str
    severity: Severity
    message: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = "" if self.line is None else f"line {self.line}, column {self.column}"
        where = ", ".join(part for part in (self.path, place) if part)
        return f"{self.severity}: {where}: {self.message}" if where else f"{self.severity}: {self.message}"


def error(path: str, message: str, line: int | None = None, column: int | None = None) -> Problem:
    """A problem that makes something unusable."""
    return Problem(path, "error", message, line, column)


def warning(path: str, message: str, line: int | None = None, column: int | None = None) -> Problem:
    """A problem that may be meant."""
    return Problem(path, "warning", message, line, column)
