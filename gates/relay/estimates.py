"""How long items take through a stream's overlay, by what the tracker knows of it: worked out beside the event loop, and kept.

An overlay is copied on the loop, which takes some ms for thousands of nodes; the fastest ways are found by a thread.  One
stream at a time, so that no crowd of questions takes the processor.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .paths import Figures, fastest, figures

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.broker.overlay_config import TrackerConfig

    from .overlays import Overlays
    from .paths import Route

_MOST_ROUTES: Final = 16  # sources whose ways are kept, of all streams
# Nodes wait for what they miss by it: one that says that its links take a minute must not have all wait so long
_MOST_P99_MS: Final = 1000.0
_WHOLE: Final = 64  # nodes: the figures of so few are from all of them
_OLD: Final = 12  # figures_s: delays change without links changing


@dataclass(slots=True)
class _Kept:
    version: int
    made: float
    figures: Figures


class Estimates:
    """Of all streams of a tracker; `clock` gives seconds."""

    def __init__(self, overlays: Overlays, config: TrackerConfig, clock: Callable[[], float]) -> None:
        self._overlays = overlays
        self._config = config
        self._clock = clock
        self._figures: dict[str, _Kept] = {}
        self._routes: OrderedDict[tuple[str, str], tuple[float, dict[str, Route]]] = OrderedDict()
        self._one = asyncio.Lock()

    async def figures(self, stream: str) -> Figures:
        """Of all pairs of nodes, from some sources; at most figures_s old, where something has changed.

        Raises:
            NotFound: there is no such stream.
        """
        async with self._one:
            overlay = self._overlays.there(stream)
            kept = self._figures.get(stream)
            if kept is None or self._is_old(kept, overlay.version):
                version = overlay.version
                found = await asyncio.to_thread(self._worked_out, overlay.links())
                kept = self._figures[stream] = _Kept(version, self._clock(), found)
                overlay.p99_ms = min(round(found.p99_ms, 3), _MOST_P99_MS)
        return kept.figures

    async def routes(self, stream: str, source: str) -> dict[str, Route] | None:
        """The fastest ways from a node to all others; None where it is not in the stream.

        Raises:
            NotFound: there is no such stream.
        """
        async with self._one:
            self._overlays.there(stream)
            now = self._clock()
            known = self._routes.get((stream, source))
            if known is not None and now - known[0] < self._config.figures_s:
                return known[1]
            links = self._overlays.there(stream).links()
            if source not in links:
                return None
            hop_ms = self._config.hop_ms
            found = await asyncio.to_thread(
                fastest, links.__getitem__, lambda a, b: links[a][b], source, hop_ms
            )
            self._routes[stream, source] = (now, found)
            self._routes.move_to_end((stream, source))
            if len(self._routes) > _MOST_ROUTES:
                self._routes.popitem(last=False)
            return found

    async def refresh(self) -> None:
        """Work out anew what has changed, and let go of streams that are no more."""
        streams = self._overlays.names()
        for stream in self._figures.keys() - set(streams):
            del self._figures[stream]
        for stream in streams:
            if self._overlays.get(stream) is not None:
                await self.figures(stream)

    def _is_old(self, kept: _Kept, version: int) -> bool:
        age_s = self._clock() - kept.made
        most_s = self._config.figures_s * (_OLD if kept.version == version else 1)
        return age_s >= most_s

    def _worked_out(self, links: dict[str, dict[str, float]]) -> Figures:
        return figures(
            list(links),
            links.__getitem__,
            lambda a, b: links[a][b],
            self._config.hop_ms,
            None if len(links) <= _WHOLE else self._config.figures_sources,
        )
