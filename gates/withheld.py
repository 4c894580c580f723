"""What the client of a subscription may not hear for now: put together, until it may."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .line import Pending

if TYPE_CHECKING:
    from triplewire.broker.model import Notification

    from .line import Line


class Withheld:
    """The changes of one subscription, as few as there can be, in their order; without any it has no `line`."""

    __slots__ = ("changes", "line")

    def __init__(self, line: Line | None) -> None:
        self.line = line
        self.changes: list[Pending] = []

    @property
    def size(self) -> int:
        """Roughly, in bytes."""
        return sum(change.size for change in self.changes)

    def take(self, change: Notification | Pending) -> int:
        """Take in what comes after the rest; by how many bytes more is held now."""
        before = self.size
        last = self.changes[-1] if self.changes else None
        delta = change.delta() if isinstance(change, Pending) else change.delta
        # Other variables: an endpoint of other people's may do that
        if last is not None and last.vars == delta.vars:
            last.add(delta)
        else:
            self.changes.append(change if isinstance(change, Pending) else Pending(change))
        return self.size - before
