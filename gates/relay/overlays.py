"""The overlays of all streams: made with a stream's first node, let go of with its last one.

Methods return the nodes that have to be told something; one may be named more than once.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from triplewire.broker.errors import NotFound

from .delays import Delays
from .improving import Improving
from .issuing import Issuing
from .overlay import Collecting, Overlay, Pairs, comes_over

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Collection

    from triplewire.broker.overlay_config import TrackerConfig

    from .statuses import StreamStatus
    from .tickets import TrackerKey
    from .tracker_counts import Counts

_SEED_BITS = 64


class Overlays:
    """By their streams' names; what nodes measure is known to all of them."""

    def __init__(  # noqa: PLR0913 - what it is given, by keyword
        self,
        config: TrackerConfig,
        key: TrackerKey,
        *,
        counts: Counts,
        rng: random.Random,
        degree: Callable[[str], int],
        wall: Callable[[], float],
        now: float,
    ) -> None:
        self.epoch = f"{rng.getrandbits(_SEED_BITS):016x}"
        self.delays = Delays(same_region_ms=config.same_region_ms, other_region_ms=config.other_region_ms)
        self._config = config
        self._key = key
        self._counts = counts
        self._rng = rng
        self._degree = degree
        self._wall = wall
        self._start = now
        self._pairs = Pairs(self.delays)
        self._counters = itertools.count(1)
        self._improving = Improving(config)
        self._overlays: dict[str, Overlay] = {}

    @property
    def is_full(self) -> bool:
        """Whether there are as many as there may be."""
        return len(self._overlays) >= self._config.streams

    @property
    def is_busy(self) -> bool:
        """Whether time should be passed again soon."""
        return self._improving.is_busy

    def number(self) -> int:
        """The next of the sequence that numbers all instructions."""
        return next(self._counters)

    def names(self) -> list[str]:
        """Of the streams in which there is a node."""
        return sorted(self._overlays)

    def get(self, stream: str) -> Overlay | None:
        """None where there is no node in the stream."""
        return self._overlays.get(stream)

    def there(self, stream: str) -> Overlay:
        """The same; raises NotFound."""
        overlay = self._overlays.get(stream)
        if overlay is None:
            raise NotFound(f"there is no node in a stream {stream!r:.200}")
        return overlay

    def members(self, stream: str) -> list[str]:
        """The nodes in a stream."""
        overlay = self._overlays.get(stream)
        return [*overlay.members] if overlay is not None else []

    def heard(self, node: str, stream: str, status: StreamStatus, now: float) -> Collection[str]:
        """What a node says of a stream; it comes in where it was not there."""
        overlay = self._overlays.get(stream)
        if overlay is None:
            overlay = self._overlays[stream] = self._new(stream, status, now)
        return overlay.heard(node, status, self.epoch, now)

    def leave(self, node: str, stream: str, now: float) -> Collection[str]:
        """A node is in a stream no more."""
        overlay = self._overlays[stream]
        told = overlay.leave(node, now)
        if not overlay.members:
            del self._overlays[stream]
        return told

    def pass_time(self, now: float) -> list[str]:
        """What is due by now."""
        told = [node for overlay in self._overlays.values() for node in overlay.pass_time(now)]
        if (overlay := self._improving.turn(self._overlays, now)) is not None:
            improved = overlay.improve(self._improving.most(overlay), now)
            self._improving.tried(overlay, improved, now)
            self._counts.improvements += bool(improved.changed)
            told.extend(improved.changed)
        return told

    def wait(self, now: float) -> None:
        """What decides over streams is not known yet: it is as if the tracker started now."""
        self._start = now
        for overlay in self._overlays.values():
            overlay.collecting = self._at_start()

    def spread(self, now: float) -> list[str]:
        """Streams may have another degree now, by what is registered."""
        told: list[str] = []
        for stream, overlay in self._overlays.items():
            degree = self._degree(stream) or self._config.degree
            if degree != overlay.degree:
                told.extend(overlay.spread(degree, now))
        return told

    def state(self) -> dict[str, Any]:
        """Figures."""
        overlays = self._overlays.values()
        return {
            "streams": len(overlays),
            "members": sum(len(overlay.members) for overlay in overlays),
            "links": len(self._pairs),
            "collecting": sum(overlay.collecting is not None for overlay in overlays),
        }

    def _new(self, stream: str, first: StreamStatus, now: float) -> Overlay:
        config = self._config
        issuing = Issuing(self._key, stream, self.epoch, config.ticket_s, self._wall, self._counts)
        return Overlay(
            config=config,
            delays=self.delays,
            pairs=self._pairs,
            issuing=issuing,
            counts=self._counts,
            counters=self._counters,
            degree=self._degree(stream) or config.degree,
            seed=self._rng.getrandbits(_SEED_BITS),
            collecting=self._collecting(first, now),
        )

    def _collecting(self, first: StreamStatus, now: float) -> Collecting | None:
        if now < self._start + self._config.collect_s:
            return self._at_start()
        return Collecting.over(self._config, now) if comes_over(first) else None

    def _at_start(self) -> Collecting:
        return Collecting(self._start + self._config.collect_s, self._start + self._config.return_s)
