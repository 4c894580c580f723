"""A stream of another server, here: followed at its /priority, so that no hop adds a window to the delay.

What comes is taken with the ids that it has, so what was had already is dropped, and an item that comes back to where it
has been bears that stream's id and is dropped there: rings of relays come to rest.  Where a connection is lost, the other
server is asked for what came after the last item; a stream that is kept remembers it over a restart, too.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from triplewire.broker.errors import ClientError, ConfigError
from triplewire.broker.wire.gap_items import missing_of
from triplewire.broker.wire.item_bodies import check_body
from triplewire.broker.wire.items import ItemError
from triplewire.clients.streams.addresses import followed_url, is_at_tracker, published_url
from triplewire.clients.streams.consumer import AsyncStreamConsumer
from triplewire.clients.streams.settings import StreamSettings
from triplewire.gates.identity import tokens_at

from .joined_source import published

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
        url = followed_url(published_url(config.url, "priority"))
    except ValueError as error:
        raise ConfigError(f"streams.{name}.url: {error}") from error
    # A tracker sends us to any relay, after a restart as well; what is kept here already is dropped.
    return f"{url}{'&' if '?' in url else '?'}overlap={_OVERLAP_S:g}" if is_at_tracker(url) else url


class Relay:
    """Feeds `into` from the stream at `into.config.url`."""

    def __init__(self, into: Feed, paths: PathsConfig) -> None:
        self.tries = 0  # how often it began to follow, or a lost connection was there again
        self.gaps = 0
        self.trouble = ""
        self._into = into
        self._url = followed(into.name, into.config)
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
        async with AsyncStreamConsumer(
            self._url,
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
                await published(self._into, [item for item in items if self._fits(item)], self._url)

    def _fits(self, item: Item) -> bool:
        """Whether it would end none of those who follow here; what another server lets through is its own affair."""
        try:
            check_body(item)
        except ItemError as error:
            log.warning("! %s passes over an item of %s: %.200s", self._into.name, self._url, error)
            return False
        return True

    def _last(self) -> str | None:
        newest = None
        for entry in self._into.history:
            if missing_of(entry.item) is None:  # another relay may not have the marker
                newest = entry
        return newest.item.event_id if newest is not None else None

    def _gap(self, gap: Gap) -> None:
        self.gaps += 1
        if gap.missing is not None:
            log.warning("! the relay that %s follows could not get %s", self._into.name, gap.missing)
        else:
            log.warning("! %s may have missed items after %.60s", self._into.name, gap.last_seen)

    def _connects(self) -> None:
        self.tries += 1
        self.trouble = ""
