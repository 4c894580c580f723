"""An outbox for those whose tokens run out.

Of a subscription whose token has run out nothing leaves: what happens to it is withheld, as one change, until it is
released by another token, or ends.  Its client is told of that when there is something to withhold, or when whoever
withholds it says so.  What is withheld counts against the same bounds as what waits.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from triplewire.broker.model import Notification

from .line import Line, Pending
from .outbox import Outbox
from .withheld import Withheld

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from triplewire.broker.config import LimitsConfig
    from triplewire.broker.model import Failure, Message
    from triplewire.broker.wire.subscribe import Renewed


class WithholdingOutbox(Outbox):
    """See `Outbox`."""

    def __init__(self, limits: LimitsConfig) -> None:
        super().__init__(limits)
        self._withheld: dict[str, Withheld] = {}
        self._unsaid: dict[str, Failure] = {}  # of what is withheld, and nobody knows
        self.said: Callable[[str], None] = lambda _: None  # is told of each whose client is told
        self._dropped: set[str] = set()  # subscriptions that the core does not yet know to have ended

    def put(self, message: Message) -> None:
        """Take a message, as `Outbox` does; it may stay here for a while, or for ever."""
        if self._dropped and message.spuid in self._dropped:
            if not isinstance(message, Notification):
                self._dropped.discard(message.spuid)
        elif isinstance(message, Notification) and message.spuid in self._withheld:
            self._withhold(message.spuid, message)
        else:
            super().put(message)

    def lose(self) -> frozenset[str]:
        """The connection is gone: what was withheld is what its client must be told when it is back."""
        withheld, self._withheld = self._withheld, {}
        self._unsaid.clear()
        for spuid in super().lose() & withheld.keys():
            for change in withheld[spuid].changes:
                if (line := self._lines.get(spuid)) is not None:
                    self._missed(line, change.delta())
        return self.resumable

    def withhold(self, told: Mapping[str, Failure]) -> None:
        """Let nothing more of these subscriptions leave, by spuid, but what their client is told of it, in time."""
        if self._lost or self._slow:
            return
        for spuid, failure in told.items():
            if spuid not in self._withheld:
                self._withheld[spuid] = Withheld(self._lines.get(spuid))
                self._unsaid[spuid] = failure
        for spuid, item in self._withdrawn(told):
            self._withhold(spuid, item)

    def say(self, spuids: Iterable[str]) -> None:
        """Tell the client that these are withheld, where it has not been told."""
        for spuid in spuids:
            failure = self._unsaid.pop(spuid, None)
            if failure is not None:
                self.said(spuid)
                self.tell(failure)

    def release(self, spuids: Collection[str]) -> None:
        """What was withheld of these leaves, as the next notification of each."""
        for spuid in spuids:
            withheld = self._withheld.pop(spuid, None)
            self._unsaid.pop(spuid, None)
            if withheld is None or withheld.line is None:
                continue
            self._bytes -= withheld.size
            for change in withheld.changes:
                self._append(change, withheld.line, change.size)
                # Where changes are not put together, the next ones come after it
                withheld.line.pending = change if self._composing else None
        self._arrived.set()

    def drop(self, told: Mapping[str, Failure | None]) -> None:
        """These have ended here, by spuid; what the core still says of them is passed over, up to its last word."""
        self._withdrawn(told)
        for spuid, failure in told.items():
            self._end(spuid)
            self._dropped.add(spuid)
            if failure is not None:
                self.tell(failure)

    def _withhold(self, spuid: str, change: Notification | Pending) -> None:
        withheld = self._withheld.get(spuid)
        if withheld is None:
            return  # there was too much
        if withheld.line is None:
            assert isinstance(change, Notification)  # where changes are put together, there is a line
            withheld.line = self._lines[spuid] = Line(change, resumable=False)
        self._bytes += withheld.take(change)
        if self._bytes > self._limits.outbox_composed_bytes:
            self._give_up()
            self._arrived.set()
            return
        self.say([spuid])

    def _withdrawn(self, spuids: Collection[str]) -> list[tuple[str, Notification | Pending]]:
        """What waits of these subscriptions, and waits no longer."""
        waiting, self._queue = self._queue, deque()
        found: list[tuple[str, Notification | Pending]] = []
        for item, line, size in waiting:
            spuid = _spuid(item, line)
            if spuid is None or spuid not in spuids:
                self._queue.append((item, line, size))
                continue
            assert isinstance(item, Notification | Pending)
            found.append((spuid, item))
            self._bytes -= item.size if isinstance(item, Pending) else size
            if line is not None:
                line.pending = None
            elif isinstance(item, Notification) and (late := self._lines.get(spuid)) is not None:
                late.precede(item)
        return found

    def _end(self, spuid: str | None) -> None:
        withheld = self._withheld.pop(spuid, None) if spuid is not None else None
        if spuid is not None:
            self._unsaid.pop(spuid, None)
        if withheld is not None:
            self._bytes -= withheld.size
        super()._end(spuid)

    def _give_up(self) -> None:
        super()._give_up()
        self._withheld.clear()
        self._unsaid.clear()


def _spuid(item: Message | Renewed | Pending, line: Line | None) -> str | None:
    """Whose notification it is."""
    if isinstance(item, Notification):
        return item.spuid
    return line.spuid if isinstance(item, Pending) and line is not None else None
