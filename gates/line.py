"""One subscription in an outbox: the numbers of its notifications, what waits of it, and what its client may have missed."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from triplewire.broker.composition import Composition
from triplewire.broker.model import Notification

if TYPE_CHECKING:
    from triplewire.broker.model import BindingsDelta

# A rough size of a row in memory, or of what stands around the rows of a message.
ROW_BYTES = 200


def rows_of(delta: BindingsDelta) -> int:
    """How many different rows came or went."""
    return len(delta.added) + len(delta.removed)


class Pending:
    """Changes that will leave as one notification; while it is only one change, that is shared with all others."""

    __slots__ = ("_change", "alias")

    def __init__(self, told: Notification) -> None:
        self.alias = told.alias
        self._change: BindingsDelta | Composition = told.delta

    @property
    def vars(self) -> tuple[str, ...]:
        """The variables of the rows."""
        return self._change.vars

    @property
    def size(self) -> int:
        """Roughly, in bytes."""
        change = self._change
        return ROW_BYTES * (1 + (len(change) if isinstance(change, Composition) else rows_of(change)))

    def add(self, delta: BindingsDelta) -> None:
        """Take in one more change over the same variables."""
        if not isinstance(self._change, Composition):
            first, self._change = self._change, Composition(delta.vars)
            self._change.add(first)
        self._change.add(delta)

    def seal(self) -> BindingsDelta:
        """All of it up to now as one change, which stays the same object until more is added."""
        self._change = self.delta()
        return self._change

    def delta(self) -> BindingsDelta:
        """All of it as one change."""
        change = self._change
        return change.delta() if isinstance(change, Composition) else change


class Line:
    """`sequence` is that of the last notification that left; `log` are the last changes that did, up to that one.

    `pending` still takes changes in; `missed` are those that found no connection.  Until it has `begun`, the next to
    leave is an answer that the client waits for, though it may be empty.
    """

    __slots__ = ("begun", "log", "missed", "pending", "resumable", "sequence", "spuid", "vars")

    def __init__(self, first: Notification, *, resumable: bool) -> None:
        """`first` will be the next to leave."""
        self.spuid = first.spuid
        self.sequence = first.sequence - 1
        self.vars = first.delta.vars
        self.resumable = resumable
        self.begun = first.sequence > 0 and not resumable
        self.pending: Pending | None = None
        self.log: deque[BindingsDelta] = deque()
        self.missed: Composition | None = None

    def numbered(self, told: Notification) -> Notification:
        """A notification with the number that is its on the wire: always one more than the last."""
        self.sequence += 1
        self.begun = True
        if told.sequence == self.sequence:
            return told
        return Notification(told.spuid, told.alias, self.sequence, told.delta)

    def precede(self, told: Notification) -> None:
        """This has not left yet, either, and comes before what the line was made for."""
        if told.sequence <= self.sequence:
            self.sequence = told.sequence - 1
            self.begun = told.sequence > 0

    def miss(self, delta: BindingsDelta) -> int:
        """Take in a change that found no connection; by how many rows more is held now."""
        if self.missed is None:
            self.missed = Composition(self.vars)
        before = len(self.missed)
        self.missed.add(delta)
        return len(self.missed) - before

    def reaches(self, sequence: int) -> bool:
        """Whether all is known that came after the notification of this number."""
        return self.sequence - len(self.log) <= sequence <= self.sequence

    def after(self, sequence: int) -> BindingsDelta:
        """All that came after it as one change; it must be reached."""
        composition = Composition(self.vars)
        for place in range(len(self.log) - (self.sequence - sequence), len(self.log)):
            composition.add(self.log[place])
        if self.missed is not None:
            composition.add(self.missed.delta())
        return composition.delta()
