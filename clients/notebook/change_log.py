"""The last changes of an answer, as many as were agreed on."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from .frames import of_solutions

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from triplewire.clients.solutions import Solution

INDEX = ("number", "at", "change")


@dataclass(frozen=True, slots=True)
class Change:
    """Rows that came and went at once; number 0 is the first results."""

    number: int
    at: datetime
    added: list[Solution]
    removed: list[Solution]

    @property
    def rows(self) -> int:
        """How many there are of both."""
        return len(self.added) + len(self.removed)


class ChangeLog:
    """Changes in order; the oldest go where their rows would be more than `limit` together."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rows = 0
        self._changes: deque[Change] = deque()
        self.dropped = 0  # changes that are not held any more

    def add(self, change: Change) -> None:
        """Hold it; one that is larger than the limit is dropped at once, with all before it."""
        self._changes.append(change)
        self._rows += change.rows
        while self._rows > self._limit:
            self._rows -= self._changes.popleft().rows
            self.dropped += 1

    def held(self) -> tuple[Change, ...]:
        """Those that are held."""
        return tuple(self._changes)


def changes_frame(variables: tuple[str, ...], changes: Iterable[Change]) -> pd.DataFrame:
    """A row for each row that came (`+`) or went (`-`).

    Number, moment and sign are the index, so that no variable's name can be in their way.
    """
    signed = [
        (change.number, change.at, sign, row)
        for change in changes
        for sign, rows in (("+", change.added), ("-", change.removed))
        for row in rows
    ]
    made = of_solutions(variables, [row for *_, row in signed])
    made.index = pd.MultiIndex.from_arrays(
        [
            pd.Index([number for number, *_ in signed], dtype="int64"),
            pd.DatetimeIndex([at for _, at, *_ in signed], dtype="datetime64[us, UTC]"),
            pd.Index([sign for *_, sign, _ in signed], dtype=object),
        ],
        names=INDEX,
    )
    return made
