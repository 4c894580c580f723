"""What has changed in the answer to a subscription since somebody read it, bounded; what is not kept is said.

Changes are numbered from 1; 0 is the first answer.  A reader says behind which number it wants to begin.  Where changes
were dropped, or the connection was lost meanwhile, the reading has a marker: the present answer is right all the same.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Change:
    """Rows that came into the answer and rows that left it, as they are shown; `at` is a time as text."""

    number: int
    at: str
    added: list[list[str | None]]
    removed: list[list[str | None]]
    after_loss: bool = False  # what changed while the connection was lost, told as one

    @property
    def rows(self) -> int:
        """How many there are in it."""
        return len(self.added) + len(self.removed)


class History:
    """The last changes: no more than `most_changes`, and no more than `most_rows` in all of them."""

    def __init__(self, most_changes: int, most_rows: int) -> None:
        self._most_changes = most_changes
        self._most_rows = most_rows
        self._changes: deque[Change] = deque()
        self._rows = 0
        self.number = 0  # of the last change

    def add(self, change: Change) -> None:
        """Keep a change, whose number is the next one, and let the oldest go where there are too many."""
        assert change.number == self.number + 1
        self.number = change.number
        self._changes.append(change)
        self._rows += change.rows
        while self._changes and (len(self._changes) > self._most_changes or self._rows > self._most_rows):
            self._rows -= self._changes.popleft().rows

    def lost(self) -> None:
        """What changes next can't be told: it takes a number, and is a gap for who reads."""
        self._changes.clear()
        self._rows = 0
        self.number += 1

    def since(self, number: int) -> Iterator[Change]:
        """The changes behind that number that are kept, in their order."""
        return (change for change in self._changes if change.number > number)

    def gap(self, number: int) -> dict[str, Any] | None:
        """Which changes behind that number are not kept; None where all are."""
        first = next((change.number for change in self.since(number)), self.number + 1)
        if first <= number + 1:
            return None
        return {
            "from": number + 1,
            "to": first - 1,
            "note": "These changes are no longer kept. The present answer has their outcome.",
        }
