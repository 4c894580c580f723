"""A stream of another server, here: followed at its /priority, so that no hop adds a window to the delay.

What comes is taken with the ids that it has, so what was had already is dropped, and an item that comes back to where it
has been bears that stream's id and is dropped there: rings of relays come to rest.  Where a connection is lost, the other
server is asked for what came after the last item; a stream that is kept remembers it over a restart, too.  Where it does not
keep all of that, a marker stands in the place of what may be missing.
"""

from __future__ import annotations

import asyncio
import logging
import math
from itertools import islice
from typing import TYPE_CHECKING

from triplewire.broker.errors import ClientError, ConfigError
from triplewire.broker.wire.gap_items import ANY_CHAIN, Missing, gap_item, missing_of
from triplewire.broker.wire.item_bodies import check_body
from triplewire.broker.wire.items import ItemError
from triplewire.clients.streams.addresses import followed_url, is_at_tracker, published_url
from triplewire.clients.streams.consumer import AsyncStreamConsumer
from triplewire.clients.streams.last_seen import LastSeen
from triplewire.clients.streams.progress import published_at
from triplewire.clients.streams.remembered import MARGIN_S
from triplewire.clients.streams.settings import StreamSettings
from triplewire.gates.identity import tokens_at

from .joined_source import published
from .requests import MOST_OVERLAP_S

if TYPE_CHECKING:
    from triplewire.broker.config import PathsConfig, StreamConfig
    from triplewire.broker.wire.items import Item
    from triplewire.clients.streams.following import Gap

    from .feed import Feed

log = logging.getLogger("triplewire.gates.stream")

_AGAIN_FIRST_S = 0.2
_AGAIN_LONGEST_S = 60.0
_OVERLAP_S = 10.0


def followed(name: str, config: StreamConfig) -> str:
    """The URL to follow.

    Raises:
        ConfigError: it is none of a stream.
    """
    try:
        # Whichever of the stream's URLs was given, what is followed is /priority
        return followed_url(published_url(config.url, "priority"))
    except ValueError as error:
        raise ConfigError(f"streams.{name}.url: {error}") from error


class Relay:
    """Feeds `into` from the stream at `into.config.url`."""

    def __init__(self, into: Feed, paths: PathsConfig) -> None:
        self.tries = 0  # how often it began to follow, or a lost connection was there again
        self.gaps = 0
        self.trouble = ""
        self._into = into
        self._url = followed(into.name, into.config)
        self._markers: list[Item] = []  # of gaps, to stand before what is published next
        self._since = 0.0  # when the last was published that was taken here
        self._settings = StreamSettings(ca_file=into.config.ca or None, backoff_longest_s=5.0)
        self._tokens = tokens_at(into.config.login, into.config, paths)

    async def run(self) -> None:
        """Until the stream ends, whatever becomes of the other server."""
        wait_s = _AGAIN_FIRST_S
        while not self._into.closed:
            before = self._into.history.last
            try:
                await self._follow()
            except ClientError as error:
                self.trouble = str(error)
                log.warning("! %s can't follow %s: %.300s", self._into.name, self._url, error)
            wait_s = _AGAIN_FIRST_S if self._into.history.last > before else min(2 * wait_s, _AGAIN_LONGEST_S)
            await asyncio.sleep(wait_s)

    async def _follow(self) -> None:
        url = self._url
        if is_at_tracker(url):  # which sends us to any relay, after a restart as well
            url = f"{url}{'&' if '?' in url else '?'}overlap={self._overlap_s():g}"
        async with AsyncStreamConsumer(
            url,
            settings=self._settings,
            authorization=self._tokens,
            last_seen=self._last(),
            compressed=False,
            commands=True,
            on_gap=self._gap,
            on_reconnect=self._connects,
        ) as consumer:
            self._connects()
            async for items in consumer.batches():
                markers, self._markers = self._markers, []
                fit = [item for item in items if self._fits(item)]
                await published(self._into, markers + fit, self._url)
                self._since = _published_at(items[-1], self._into.history.clock())

    def _fits(self, item: Item) -> bool:
        """Whether it would end none of those who follow here; what another server lets through is its own affair."""
        try:
            check_body(item)
        except ItemError as error:
            log.warning("! %s passes over an item of %s: %.200s", self._into.name, self._url, error)
            return False
        return True

    def _last(self) -> LastSeen | None:
        """The last two, without markers: another relay may not have these."""
        entries = (entry for entry in reversed([*self._into.history]) if missing_of(entry.item) is None)
        newest = [*islice(entries, 2)]
        if not newest:
            return None
        self._since = _published_at(newest[0].item, newest[0].taken_at)
        last, before = newest[0].item.event_id, newest[1].item.event_id if len(newest) > 1 else None
        return LastSeen(last, before, at=self._since)

    def _overlap_s(self) -> float:
        """No more than is kept: what comes again is dropped by that.  Before the first of all there was nothing here."""
        history = self._into.history
        if history.first == 1 or not len(history):
            return _OVERLAP_S
        kept_s = history.newest(1)[0].taken_at - next(iter(history)).taken_at
        return round(max(0.0, min(_OVERLAP_S, kept_s - min(MARGIN_S, kept_s / 2))), 3)

    def _gap(self, gap: Gap) -> None:
        self.gaps += 1
        if gap.missing is not None:
            log.warning("! the relay that %s follows could not get %s", self._into.name, gap.missing)
        else:
            log.warning("! %s may have missed items after %.60s", self._into.name, gap.last_seen)
            self._markers.append(self._marker())

    def _marker(self) -> Item:
        """In the place of what was published since the last that was taken here."""
        # For so long one of several publishers may have been silent at the relay that was left
        since = self._since - (MOST_OVERLAP_S if is_at_tracker(self._url) else 0.0)
        first = max(1, math.floor(since))
        until = max(first, math.ceil(self._into.history.clock()))
        return gap_item(Missing(ANY_CHAIN, "", first, until), self._into.source_id)

    def _connects(self) -> None:
        self.tries += 1
        self.trouble = ""


def _published_at(item: Item, taken_at: float) -> float:
    """It may have waited for long, as where nothing could be kept."""
    return min(taken_at, published_at(item) or taken_at)
