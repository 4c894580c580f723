"""How far a stream was followed: what was had, where a connection goes on, and whether items may be missing between.

What is had is remembered by `Remembered`, and the last of it kept in the state's file.  `following.py` has the rules.
"""

from __future__ import annotations

import math
import re
import time
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from triplewire.broker.wire.gap_items import missing_of

from .last_seen import LastSeen
from .remembered import Remembered, elapsed_s

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.broker.wire.items import Item
    from triplewire.clients.flows import Reply

    from .connecting import Parameters
    from .last_seen import LastSeenFile
    from .places import Places
    from .remembered import Beginning
    from .settings import StreamSettings

# A server that has the item that we go on behind says how many seconds before it it begins.
_COVERED = "triplewire-overlap"
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_ROUNDING_S = 0.001  # it is said to the millisecond
_MOST_AWAY_S = 999_999_999  # more digits are none of the protocol


class Progress:
    """Of one consumer at `places`; `seen` is the last item of a process before this one, and `state` where it is kept.

    `clock` gives seconds that do not go back, `wall_clock` seconds since 1970.
    """

    def __init__(  # noqa: PLR0913 - all but three are keywords
        self,
        settings: StreamSettings,
        places: Places,
        seen: LastSeen | None,
        *,
        state: LastSeenFile | None = None,
        clock: Callable[[], float] = elapsed_s,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._overlap_s = settings.overlap_s
        self._places = places
        self._state = state
        self._wall_clock = wall_clock
        self._seen = self._kept = seen
        before = filter(None, (seen.before, seen.last)) if seen is not None else ()
        self._had = Remembered(settings.remembered_ids, clock, before, self._age_s())
        self._came_at = math.inf  # what comes now, in seconds since 1970,
        self._ahead_s = 0.0  # and by how much a publisher's clock was ahead of ours at least
        self._asked: str | None = None  # the item that this connection goes on behind,
        self._beginning: Beginning | None = None  # and what is known of that place
        self._doubtful = False  # whether the first item of this connection tells of a gap,
        self._uncovered: set[str] = set()  # or the first one of such an origin

    def __contains__(self, event_id: str) -> bool:
        """Whether it was had, as far as is remembered."""
        return event_id in self._had

    @property
    def last_seen(self) -> str | None:
        """The id of the last item that was had."""
        return self._seen.last if self._seen is not None else None

    def begins(self, url: str) -> Parameters:
        """Where to begin at this URL: behind what was had, and earlier where the items may have another order."""
        seen, places = self._seen, self._places
        self._asked = self._beginning = None
        if seen is None:
            return ()
        elsewhere = places.relay is not None and url != places.relay
        beginning = self._had.beginning(self._overlap_s) if places.are_several else None
        self._beginning = beginning
        self._asked = beginning.event_id if beginning is not None else seen.before or seen.last
        if beginning is None and not elsewhere:
            return (("last-seen", self._asked),)
        overlap_s = self._overlap_s if beginning is None else beginning.overlap_s
        age_s = self._had.age_s(beginning)
        # The relay that we had has let go of what it does not know: all that it keeps came later.
        is_away = elsewhere and age_s <= _MOST_AWAY_S
        return (
            ("last-seen", self._asked),
            ("overlap", f"{overlap_s:.3f}".rstrip("0").rstrip(".")),
            *([("away", str(math.ceil(age_s)))] if is_away else []),
        )

    def opened(self, reply: Reply) -> None:
        """A connection is open, which begins where was asked last."""
        seen, beginning = self._seen, self._beginning
        covered = reply.headers.get(_COVERED)
        # Where the one that we went on behind is known, what came after it is there.
        self._doubtful = seen is not None and self._asked != seen.last and covered is None
        self._uncovered.clear()
        if beginning is not None and covered is not None and _SECONDS.fullmatch(covered):
            covered_s = float(covered) + _ROUNDING_S
            if covered_s < beginning.overlap_s:
                self._uncovered = self._had.silent(beginning.at - covered_s)
        self._had.opened(self._had.age_s(beginning) if seen is not None else None)

    def came(self) -> None:
        """Something comes: see `Remembered.came`."""
        self._had.came()
        self._came_at = self._wall_clock()

    def shows_gap(self, item: Item, *, had: bool) -> bool:
        """Whether items may be missing before this one; asked of each that comes and is no marker."""
        doubtful, self._doubtful = self._doubtful, False
        origin = _origin(item)
        silent = origin in self._uncovered
        self._uncovered.discard(origin)
        return not had and (doubtful or silent)

    def add(self, item: Item) -> None:
        """One more was had."""
        if missing_of(item) is not None:
            self._had.add_marker(item.event_id)  # another relay may have had them
            return
        self._had.add(item.event_id, _origin(item), self._late_s(item))
        if item.command is None and self.last_seen != item.event_id:
            relay = self._places.relay if self._places.are_several else None
            self._seen = LastSeen(item.event_id, self.last_seen, relay)

    def keep(self) -> None:
        """Put it into the state's file, where that is not there already."""
        seen = self._seen
        if self._state is not None and seen is not None and seen != self._kept:
            age_s = self._had.age_s() if seen.relay is not None else math.inf
            at = round(self._wall_clock() - age_s, 3) if math.isfinite(age_s) else None
            self._state.keep(replace(seen, at=at))
            self._kept = seen

    def _late_s(self, item: Item) -> float:
        """How long before it came it was published, as it says; infinite: it does not say."""
        published = published_at(item)
        if published is None:
            return math.inf
        late_s = self._came_at - published
        self._ahead_s = max(self._ahead_s, -late_s)
        return late_s + self._ahead_s

    def _age_s(self) -> float:
        """How long ago a process before this one had what it had last; infinite: nobody knows."""
        at = self._seen.at if self._seen is not None else None
        age_s = self._wall_clock() - at if at is not None else math.inf
        return age_s if age_s >= 0 else math.inf  # a clock was set


def published_at(item: Item) -> float | None:
    """Its own time in seconds since 1970, which is by the clock of its publisher; None where it has none."""
    try:
        moment = datetime.fromisoformat(item.timestamp or "")
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo is not None else None


def _origin(item: Item) -> str:
    """Where it was published: of one origin all relays have the items in the same order."""
    return item.aggregator_ids[0] if item.aggregator_ids else item.source_id
