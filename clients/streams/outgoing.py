"""What a continuous publisher still owes: items that wait, and those of the POST under way.  No I/O."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .settings import StreamSettings


class Outgoing:
    """Items as bytes, in the order in which they were published.

    They wait, go into a POST, and are forgotten when it has been answered; numbers count all items since the beginning.
    """

    def __init__(self, settings: StreamSettings) -> None:
        self._most_waiting = settings.waiting_items
        self._most_items = settings.post_items
        self._most_bytes = settings.post_bytes
        self._waiting: deque[bytes] = deque()
        self._posted: list[bytes] = []
        self._posted_bytes = 0
        self.published = 0
        self.taken = 0
        self.wanted = 0  # up to which item somebody waits for an answer

    @property
    def is_crowded(self) -> bool:
        """Whether no more can wait."""
        return len(self._waiting) >= self._most_waiting

    @property
    def is_idle(self) -> bool:
        """Whether nothing is owed."""
        return self.published == self.taken

    @property
    def is_hungry(self) -> bool:
        """Whether nothing waits for a POST."""
        return not self._waiting

    @property
    def is_full(self) -> bool:
        """Whether the POST has to end, and be answered, before there can be more."""
        return len(self._posted) >= self._most_items or self._posted_bytes >= self._most_bytes

    @property
    def is_asked(self) -> bool:
        """Whether somebody waits for the answer to the POST, and all that this is about is in it."""
        return self.taken < self.wanted <= self.taken + len(self._posted)

    def put(self, wire: bytes) -> None:
        """One more that waits."""
        self._waiting.append(wire)
        self.published += 1

    def take(self) -> bytes:
        """What waits goes into the POST, as far as there is room: the bytes to be sent."""
        begin = len(self._posted)
        while self._waiting and not self.is_full:
            wire = self._waiting.popleft()
            self._posted.append(wire)
            self._posted_bytes += len(wire)
        return b"".join(self._posted[begin:])

    def again(self) -> bytes:
        """All of the POST, to be sent once more."""
        return b"".join(self._posted)

    def answered(self) -> None:
        """The POST has been taken."""
        self.taken += len(self._posted)
        self._posted.clear()
        self._posted_bytes = 0
