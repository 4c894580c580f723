"""Which items a consumer had, and where it begins when it goes on at another relay of the stream.

Two relays have the items of one publisher in the same order, and those of different ones not.  So what is new can stand
before the last item that was had, by as much as one relay has an item later than the other, and a relay that was cut off
may have given items that no other has.  It is safe to begin behind an item that was had a while before the last one, and
some seconds (`overlap_s`) before that: what was had is known here, by its id, and is not given again.

Nor must it begin before what is known here.  That reaches back to when the first connection was opened, or, where more
items came than are remembered, to the oldest of these; a margin keeps away from there.  So a stream that is too fast for
`remembered_ids` has a shorter overlap, and still nothing comes twice.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# What was had so long before the last item, other relays have by now.
SETTLED_S = 2.0
# By how much two relays may differ in when they have an item.
MARGIN_S = 1.0


class Beginning(NamedTuple):
    """Where to begin: so many seconds before the item of this id."""

    event_id: str
    overlap_s: float


class Remembered:
    """The ids of the last `most` items that were had; `clock` tells seconds that do not go back."""

    def __init__(self, most: int, clock: Callable[[], float], before: Iterable[str] = ()) -> None:
        """`before` are ids that were had before this process began."""
        self._most = most
        self._clock = clock
        self._had: OrderedDict[str, float] = OrderedDict((each, -math.inf) for each in before)
        self._markers: OrderedDict[str, None] = OrderedDict()
        self._since: float | None = None  # from then on all is known that was had
        self._last_at: float | None = None

    def __contains__(self, event_id: str) -> bool:
        return event_id in self._had or event_id in self._markers

    def opened(self) -> None:
        """A connection is open."""
        if self._since is None:
            self._since = self._clock()

    def add(self, event_id: str) -> None:
        """One more was had."""
        now = self._last_at = self._clock()
        self._had[event_id] = now
        if len(self._had) > self._most:
            _, at = self._had.popitem(last=False)
            self._since = max(at, self._since if self._since is not None else now)

    def add_marker(self, event_id: str) -> None:
        """One more that is at one relay only, and no place to go on from."""
        self._markers[event_id] = None
        if len(self._markers) > self._most:
            self._markers.popitem(last=False)

    def beginning(self, overlap_s: float) -> Beginning | None:
        """Where to begin at another relay; None where no item was had since the first connection."""
        if self._last_at is None or self._since is None or not self._had:
            return None
        known_s = self._last_at - self._since
        settled = self._last_at - min(SETTLED_S, known_s / 4)
        anchor, at = next(
            ((event_id, at) for event_id, at in reversed(self._had.items()) if at <= settled),
            next(iter(self._had.items())),
        )
        spare_s = known_s - min(MARGIN_S, known_s / 2) - (self._last_at - at)
        return Beginning(anchor, min(max(spare_s, 0.0), overlap_s))
