"""Which items a consumer had, and where it begins when it goes on at another relay of the stream.

Two relays have the items of one publisher in the same order, and those of different ones not.  So what is new can stand
before the last item that was had, by as much as one relay has an item later than the other, and a relay that was cut off
may have given items that no other has.  It is safe to begin behind an item that was had a while before the last one, and
some seconds (`overlap_s`) before that: what was had is known here, by its id, and is not given again.  Where the relay
that was left had nothing of one publisher's any more, while others' items came, it begins as much earlier: the next relay
may have had that publisher's items all the time.

Nor must it begin before what is known here.  That reaches back to when the first connection was opened, or, where more
items came than are remembered, to the oldest of these; a margin keeps away from there.  What came late, as a connection had
been lost, others had as much earlier.  So a stream that is too fast for `remembered_ids` has a shorter overlap, and still
nothing comes twice.

**How old an item may be** is told, too, as a relay that does not know it can begin there, and not with all that it keeps.
It must not be too little, or what came since is lost.  When an item came says nothing of it: who reads slowly, or goes on
after a while, is given what the server has kept for minutes.  So it counts from when that was published which the connection
goes on behind, or from when the first one was opened, and never from before what is known here.  Only where an item's own
time says that it is younger, it is.
"""

from __future__ import annotations

import math
import sys
import time
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# What was had so long before the last item, other relays have by now.
SETTLED_S = 2.0
# By how much two relays may differ in when they have an item.
MARGIN_S = 1.0
# Who publishes nothing for longer is taken to be silent; so far back servers begin at most (`overlap_s`).
_SILENT_S = 60.0
# In such steps it begins earlier for the sake of one of them: who asks for the same is given what was encoded once.
_STEP_S = 10.0
# By then a server has sent what it kept.
_REPLAY_S = 60.0
_CONNECTIONS = 32  # of which that is known: between two that give something there may be some that don't
# Items name their origin, and what they name can be anything.
_MOST_ORIGINS = 1024
# Ids of items are as long as publishers like: on average no longer ones are remembered.
_ID_CHARS = 256
_MOST_MARKERS = 2048


def elapsed_s() -> float:
    """Seconds that do not go back, and go on while the machine sleeps, where the system can tell."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


class Beginning(NamedTuple):
    """Where to begin: so many seconds before the item of this id, which came `at` this moment."""

    event_id: str
    overlap_s: float
    at: float


class Remembered:
    """The ids of the last `most` items that were had; `clock` tells seconds that do not go back."""

    def __init__(
        self, most: int, clock: Callable[[], float], before: Iterable[str] = (), age_s: float = math.inf
    ) -> None:
        """`before` are ids that were had before this process began, `age_s` how long ago, if that is known."""
        self._most = most
        self._clock = clock
        self._before_at = clock() - age_s
        # When each came, and when it was published at the earliest, as far as its own time says that
        self._had: OrderedDict[str, tuple[float, float]] = OrderedDict(
            (each, (self._before_at, -math.inf)) for each in before
        )
        self._chars = sum(map(len, self._had))
        self._markers: OrderedDict[str, None] = OrderedDict()
        self._since: float | None = None  # from then on all is known that was had
        self._last_at: float | None = None
        self._last_published = -math.inf
        self._came_at = self._behind_at = math.inf
        self._unknown = -math.inf  # what came up to then was forgotten, or was before all
        # The last connections: when each was opened, and how old what comes first of it can be.
        self._connections: deque[tuple[float, float]] = deque(maxlen=_CONNECTIONS)
        self._origins: OrderedDict[str, float] = OrderedDict()  # when something came of each; the newest last

    def __contains__(self, event_id: str) -> bool:
        return event_id in self._had or event_id in self._markers

    def opened(self, age_s: float | None = None) -> None:
        """A connection is open, which goes on behind what was had so long ago, None: behind nothing."""
        now = self._came_at = self._clock()
        self._behind_at = now - (age_s or 0.0)
        if age_s is None:
            self._unknown = now
        if self._last_at is not None:
            late_s = now - self._last_at + self._late_s(self._last_at)
        else:
            late_s = age_s if age_s is not None and math.isfinite(age_s) else 0.0
        self._connections.append((now, late_s))
        if self._since is None:
            self._since = now - late_s

    def came(self) -> None:
        """Something comes: what is added from now on came at this moment, whenever it has been dealt with."""
        self._came_at = self._clock()

    def add(self, event_id: str, origin: str = "", late_s: float = math.inf) -> None:
        """One more was had, which was published at `origin`, at most so long before it came; infinite: nobody knows."""
        now = self._last_at = self._came_at
        self._last_published = now - late_s
        if event_id not in self._had:
            self._chars += len(event_id)
        self._had[event_id] = (now, self._last_published)
        self._origins[origin] = now
        self._origins.move_to_end(origin)
        if len(self._origins) > _MOST_ORIGINS:
            self._origins.popitem(last=False)
        while len(self._had) > self._most or self._chars > self._most * _ID_CHARS:
            forgotten, (at, _) = self._had.popitem(last=False)
            self._chars -= len(forgotten)
            self._since = max(at, self._since if self._since is not None else now)
            self._unknown = max(at, self._unknown)

    def add_marker(self, event_id: str) -> None:
        """One more that is at one relay only, and no place to go on from."""
        self._markers[event_id] = None
        if len(self._markers) > _MOST_MARKERS:
            self._markers.popitem(last=False)

    def beginning(self, overlap_s: float) -> Beginning | None:
        """Where to begin at another relay; None where no item was had since the first connection."""
        if self._last_at is None or self._since is None or not self._had:
            return None
        known_s = self._last_at - self._since
        settled = self._last_at - min(SETTLED_S, known_s / 4)
        anchor = next(
            (event_id for event_id, (at, _) in reversed(self._had.items()) if at <= settled),
            next(iter(self._had)),
        )
        at, _ = self._had[anchor]
        spare_s = at - self._late_s(at) - self._since - min(MARGIN_S, known_s / 2)
        steps = math.ceil(max(at - self._heard_at(), 0.0) / _STEP_S)
        wanted_s = max(overlap_s, min(overlap_s + steps * _STEP_S, _SILENT_S))
        return Beginning(anchor, min(max(spare_s, 0.0), wanted_s), at)

    def age_s(self, beginning: Beginning | None = None) -> float:
        """How long ago it was published at most where to begin, else what came last; infinite: nobody knows.

        With the overlap it does not reach back to what is not known here.
        """
        at, published, overlap_s = self._last_at, self._last_published, 0.0
        if beginning is not None:
            at, published = self._had[beginning.event_id]
            overlap_s = beginning.overlap_s
        if at is None:
            at = self._before_at
        return self._clock() - max(published, min(at, max(self._behind_at, self._unknown + overlap_s)))

    def _late_s(self, at: float) -> float:
        """How much earlier than `at` others can have had what came then, as the server had kept it for us."""
        for opened_at, late_s in reversed(self._connections):
            if opened_at <= at:
                return late_s if at - opened_at < _REPLAY_S else 0.0
        return 0.0

    def silent(self, since: float) -> set[str]:
        """The origins of which something came of late, and nothing since that moment."""
        return {origin for origin, at in self._origins.items() if at < since}

    def _heard_at(self) -> float:
        """When something came of the origin that is silent for longest, of those that are not silent for good."""
        assert self._last_at is not None  # by the caller
        while (at := next(iter(self._origins.values()), self._last_at)) < self._last_at - _SILENT_S:
            self._origins.popitem(last=False)
        return at
