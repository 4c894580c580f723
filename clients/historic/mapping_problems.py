"""What is wrong with a mapping: all of it at once, each with the part of the document that it is about."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from .errors import HistoryError

if TYPE_CHECKING:
    from collections.abc import Iterable


class MappingError(HistoryError):
    """A mapping can't be used; the message names the file, and for each problem the part and what is wrong with it."""


class Problem(Exception):
    """One thing that is wrong, on its way to the list of them; never leaves the readers of mappings."""


class Problems:
    """What has been found in the document at `place` so far."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._found: list[str] = []

    def add(self, part: str, problem: object) -> None:
        """Keep what is wrong with this part of the document; the same is kept once."""
        line = f"{part}: {problem}" if part else str(problem)
        if line not in self._found:
            self._found.append(line)

    def raise_if_any(self) -> None:
        """Raise all that was found as one MappingError."""
        if len(self._found) == 1:
            raise MappingError(f"{self._place}: {self._found[0]}")
        if self._found:
            lines = "".join(f"\n  {line}" for line in self._found)
            raise MappingError(f"{self._place}: {len(self._found)} problems{lines}")


def near(name: str, known: Iterable[str]) -> str:
    """What may have been meant, as the end of a sentence: `; did you mean b, c?`."""
    close = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.6)
    return f"; did you mean {', '.join(close)}?" if close else ""
