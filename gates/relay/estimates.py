"""How long items take through a stream's overlay, by what the tracker knows of it: worked out beside the event loop, and kept.

An overlay is copied on the loop, which takes some ms for thousands of nodes, and kept for a while; the fastest ways are found
by a thread.  One stream at a time, so that no crowd of questions takes the processor.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from triplewire.broker.errors import NotFound, Overloaded

from .paths import Figures, fastest, figures

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from triplewire.broker.overlay_config import TrackerConfig

    from .overlays import Overlays
    from .paths import Route

_MOST_ROUTES: Final = 16  # sources whose ways are kept, of all streams
_MOST_COPIES: Final = 4  # streams whose links are kept for the next source
_MOST_WAITING: Final = 64  # questions, until they have their turn
# Nodes wait for what they miss by it: one that says that its links take a minute must not have all wait so long
_MOST_P99_MS: Final = 1000.0
_WHOLE: Final = 64  # nodes: the figures of so few are from all of them
_OLD: Final = 12  # figures_s: delays change without links changing


Links = dict[str, dict[str, float]]


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
        self._copies: OrderedDict[str, tuple[float, Links]] = OrderedDict()
        self._one = asyncio.Lock()
        self._waiting = 0

    async def figures(self, stream: str) -> Figures:
        """Of all pairs of nodes, from some sources; at most figures_s old, where something has changed.

        Raises:
            NotFound: there is no such stream.
            Overloaded: too many ask at once.
        """
        kept = self._figures.get(stream)
        if kept is not None and not self._is_old(kept, self._overlays.there(stream).version):
            return kept.figures
        async with self._turn():
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
            Overloaded: too many ask at once.
        """
        async with self._turn():
            overlay = self._overlays.there(stream)
            now = self._clock()
            known = self._routes.get((stream, source))
            if known is not None and now - known[0] < self._config.figures_s:
                return known[1]
            if source not in overlay.members:
                return None
            links = self._links(stream, source, now)
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
            # It may have ended meanwhile; where too many ask, the next time comes
            with contextlib.suppress(NotFound, Overloaded):
                await self.figures(stream)
        self._let_go(self._clock())

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        if self._waiting >= _MOST_WAITING:
            raise Overloaded("too many ask how long items take: try again later")
        self._waiting += 1
        try:
            async with self._one:
                yield
        finally:
            self._waiting -= 1

    def _links(self, stream: str, source: str, now: float) -> Links:
        """The links of a stream, as they were some seconds ago, if the source was there."""
        self._let_go(now)
        if source not in self._copies.get(stream, (now, {}))[1]:
            self._copies[stream] = (now, self._overlays.there(stream).links())
            self._copies.move_to_end(stream)
            if len(self._copies) > _MOST_COPIES:
                self._copies.popitem(last=False)
        return self._copies[stream][1]

    def _let_go(self, now: float) -> None:
        for old in (self._copies, self._routes):
            while old and now - next(iter(old.values()))[0] >= self._config.figures_s:
                old.popitem(last=False)

    def _is_old(self, kept: _Kept, version: int) -> bool:
        age_s = self._clock() - kept.made
        most_s = self._config.figures_s * (_OLD if kept.version == version else 1)
        return age_s >= most_s

    def _worked_out(self, links: Links) -> Figures:
        return figures(
            list(links),
            links.__getitem__,
            lambda a, b: links[a][b],
            self._config.hop_ms,
            None if len(links) <= _WHOLE else self._config.figures_sources,
        )
