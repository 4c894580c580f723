"""How long the items of a stream wait for each other: as short as the load allows, never longer than the most.

What leaves together costs each consumer one write, however many items it is.  So a stream with many consumers can't
afford a batch an item, and one with few need not wait for anything.

*Where items come close behind each other, the first waits for the others* as long as the least period is.  A clock that
ticks makes items wait, too, and puts fewer of them together: with a window of 0.5 s and 4 items a second at random it has
1.7 batches a second, and this 1.4.  *Where waiting brought nothing, the next item leaves at once*: the last batch was of
one item, so the stream is quiet; what follows within the period waits for its end, and decides anew.

*The period is the least one, or twice the time that writing the last batch took*, if that is more: then a batch is out
before the next is due, and half of the time is left for publishers and for consumers that come.  What a write took is
forgotten by half each second, so that the period shrinks when the load goes, and no single report decides for long.
With a least of 0 a stream that is not busy has no window at all; with a most of 0, too, it never has one.

A batch that is large enough leaves before its time: waiting longer would make it cost more, not less.  That bounds what
waits.

No clock here: moments are given, in seconds by any clock that does not go back.
"""

from __future__ import annotations

import math

# A period is so many times as long as the writing of a batch.
REST = 2.0
# What is known of the load is worth half of it after so long.
HALF_LIFE_S = 1.0
# A batch of so much leaves at once.  At 500 consumers it is half a gigabyte on the wire.
FULL_BYTES = 1024 * 1024
FULL_ITEMS = 4096


class Window:
    """When what waits is due.  A most below the least counts as the least."""

    def __init__(self, least_s: float, most_s: float) -> None:
        self._least_s = least_s
        self._most_s = max(least_s, most_s)
        self._sent = -math.inf
        self._is_quiet = True  # the last batch was of one item
        self._period_s = least_s
        self._took_s = 0.0  # as last looked at, when a batch was sent
        self._reported_s = 0.0  # the slowest since

    @property
    def period_s(self) -> float:
        """How far apart two batches are at the moment."""
        return self._period_s

    def due(self, now: float) -> float:
        """The moment at which a batch may leave whose first item came now; in the past where that need not wait."""
        due = self._sent + self._period_s
        return due if self._is_quiet else max(due, now + self._least_s)

    def took(self, seconds: float) -> None:
        """Writing a batch to all consumers took so long; the slowest counts, where several processes write it."""
        self._reported_s = max(self._reported_s, seconds)
        self._set_period()

    def sent(self, now: float, items: int) -> None:
        """A batch of so many items leaves at this moment."""
        if self._sent > -math.inf:
            faded = self._took_s * 0.5 ** ((now - self._sent) / HALF_LIFE_S)
            self._took_s = max(faded, self._reported_s)
            self._reported_s = 0.0
        self._sent = now
        self._is_quiet = items == 1
        self._set_period()

    def _set_period(self) -> None:
        busy_s = REST * max(self._took_s, self._reported_s)
        self._period_s = min(max(self._least_s, busy_s), self._most_s)
