"""Where a stream can be followed: the URLs that a user gave, trackers or relays, and the relay that was followed last.

Each time the first URL is asked first, as a tracker knows which relay is best; where it does not answer, the relay that we
had, which may be well; then the other URLs.  No I/O.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from .addresses import is_at_tracker
from .redirects import Trail, Trust

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .settings import StreamSettings


# Of relays that failed one after the other; a tracker learns of them within seconds.
_MOST_AVOIDED = 8


class Places:
    """The places of one consumer; `relay` is the URL of the one that it follows or followed last, None before that."""

    def __init__(self, urls: Sequence[str], settings: StreamSettings, relay: str | None = None) -> None:
        """`relay` is where a process before this one was.

        Raises:
            ValueError: one of settings.trusted_redirects is no server's URL.
        """
        self._urls = tuple(dict.fromkeys(urls))
        self._region = settings.region
        self._tracker_s = settings.tracker_s
        self._trust = Trust(self._urls, settings.trusted_redirects)
        self._last: Trail | None = None
        self._avoided: dict[str, None] = {}
        self.relay = relay

    @property
    def are_several(self) -> bool:
        """Whether it can be followed at more than one place, as far as is known."""
        return len(self._urls) > 1 or self._last is not None or self.relay not in {None, self._urls[0]}

    @property
    def is_named(self) -> bool:
        """Whether a tracker named the relay that is followed: it knows others."""
        return self._last is not None and self._last.url == self.relay and bool(self._last.node)

    def trails(self) -> Iterator[Trail]:
        """Where to try, in this order."""
        first, *others = self._urls
        yield Trail(first, self._trust)
        last = self._last
        if last is not None and last.url not in self._urls:
            yield Trail(last.url, self._trust, shares_token=last.shares_token, node=last.node)
        for url in others:
            yield Trail(url, self._trust)

    def is_last(self, trail: Trail) -> bool:
        """Whether it is the last of the user's URLs that it began at."""
        return trail.start == self._urls[-1]

    def patience_s(self, trail: Trail) -> float | None:
        """How long an answer is waited for; None where it may take its time.

        Trackers and their relays answer at once.  Of other servers there are some that don't, before there is an item.
        """
        is_tracked = is_at_tracker(trail.url) or trail.url not in self._urls
        return self._tracker_s if is_tracked else None

    def wishes(self, trail: Trail) -> tuple[tuple[str, str], ...]:
        """What a tracker is told beside where we go on; nothing to other servers."""
        if not is_at_tracker(trail.url):
            return ()
        region = (("region", self._region),) if self._region else ()
        return (*region, *(("avoid", relay) for relay in self._avoided))

    def reached(self, trail: Trail) -> None:
        """It is followed there."""
        self.relay = trail.url
        self._avoided.clear()
        if trail.is_moved:
            self._last = trail

    def failed(self, trail: Trail) -> None:
        """It does not answer as it should: a tracker had better send us elsewhere."""
        if trail.is_moved:
            self._avoided[trail.node or _base(trail.url)] = None
            if len(self._avoided) > _MOST_AVOIDED:
                del self._avoided[next(iter(self._avoided))]

    def avoid_none(self) -> None:
        """Nobody knows of a relay that is not avoided: what failed once may be well by now."""
        self._avoided.clear()

    def lost(self) -> None:
        """The relay that it is followed at has gone."""
        if self._last is not None and self._last.url == self.relay:
            self.failed(self._last)


def _base(url: str) -> str:
    """What trackers call a relay's streams: what stands before /NAME/compressed."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rsplit("/", 2)[0], "", ""))
