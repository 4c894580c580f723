"""Streams made of streams of the same broker: a join takes the items of several, a filter those that pass.

Items go over as they are taken, not when they leave in a batch: a second stream adds no window of its own.  The order
within each stream is kept.  An item that has been here already bears this stream's id, and is not taken again.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import math
from typing import TYPE_CHECKING, cast

from triplewire.broker.errors import BrokerError, ConfigError, Overloaded, StoreError
from triplewire.broker.wire.gap_items import ANY_CHAIN, GAP, Missing, gap_item

from .filters import filter_of
from .following import Following
from .looked import Looked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from triplewire.broker.config import LimitsConfig, StreamConfig
    from triplewire.broker.wire.items import Item

    from .entry import Entry
    from .feed import Feed
    from .filters import Filter

log = logging.getLogger("triplewire.gates.stream")

_AT_ONCE = 256
_AGAIN_S = 0.05
_AGAIN_KEEPING_S = 1.0


class Passing:
    """Which items pass: a filter as in URLs, and a function of the user's own, which may remember what it saw."""

    def __init__(self, chosen: Filter, own: Callable[[Item], object] | None) -> None:
        self.failures = 0  # of the function
        self._filter = chosen
        self._own = own

    def passes(self, item: Item) -> bool:
        """Whether it does; one that makes the function raise does not.  Markers of gaps do: some of it may have passed."""
        if item.event_type == GAP:
            return True
        if self._filter and not self._filter.passes(Looked(item)):
            return False
        if self._own is None:
            return True
        try:
            return bool(self._own(item))
        except Exception:
            self.failures += 1
            log.exception("! a filter of the user's own")
            return False


def passing_of(name: str, config: StreamConfig, limits: LimitsConfig) -> Passing:
    """What the settings of a stream say.

    Raises:
        ConfigError: they are not as they should be, or the user's own filter can't be had.
    """
    path = f"streams.{name}"
    pairs = []
    for line in config.only:
        kind, separator, value = line.partition("=")
        if not separator:
            raise ConfigError(f"{path}.only: expected kind=value, not {line!r}")
        pairs.append((kind.strip(), value.strip()))
    try:
        chosen = filter_of(pairs, limits)
    except BrokerError as error:
        raise ConfigError(f"{path}.only: {error.description}") from error
    if len(set(pairs)) > chosen.key.count("=") or (pairs and not chosen):
        raise ConfigError(f"{path}.only: {config.only!r} has what is no filter")
    return Passing(chosen, _own(config.python, f"{path}.python"))


def _own(place: str, path: str) -> Callable[[Item], object] | None:
    if not place:
        return None
    module, _, name = place.partition(":")
    try:
        made = getattr(importlib.import_module(module), name)()
    except Exception as error:  # whatever the user's module does
        raise ConfigError(f"{path} = {place!r}: {error!s:.300}") from error
    if not callable(made):
        raise ConfigError(f"{path} = {place!r}: what it makes can't be called")
    return cast("Callable[[Item], object]", made)


class JoinedSource:
    """Feeds `into` from the streams `of`, from now on."""

    def __init__(self, into: Feed, of: Sequence[Feed], passing: Passing) -> None:
        self._into = into
        self._passing = passing
        self._following = [(feed, Following(feed, feed.history.last)) for feed in of]

    @property
    def missed(self) -> int:
        """Items that were let go of before they could be taken."""
        return sum(following.missed for _, following in self._following)

    async def run(self) -> None:
        """Until all of them have ended."""
        async with asyncio.TaskGroup() as tasks:
            for feed, following in self._following:
                tasks.create_task(self._pass_on(feed, following))

    async def _pass_on(self, feed: Feed, following: Following) -> None:
        missed, since = following.missed, feed.history.clock()
        async for entries in following.batches(_AT_ONCE):
            items = [entry.item for entry in entries if self._passes(entry)]
            if following.missed > missed:
                missed = following.missed
                items.insert(0, self._marker(since, entries[0].taken_at))
            since = entries[-1].taken_at
            if items:
                await published(self._into, items, feed.name)

    def _marker(self, since: float, until: float) -> Item:
        """In the place of what was let go of."""
        first = max(1, math.floor(since))
        return gap_item(Missing(ANY_CHAIN, "", first, max(first, math.ceil(until))), self._into.source_id)

    def _passes(self, entry: Entry) -> bool:
        return self._passing.passes(entry.item)


async def published(into: Feed, items: Sequence[Item], publisher: str) -> None:
    """Have a stream take items of ours, if need be later, as when its disk is full; what it refuses is logged, and left out.

    Where it ends before, they may not have been taken.
    """
    is_told = False
    while items and not into.closed:
        try:
            await into.publish(items, publisher)
        except Overloaded:
            await asyncio.sleep(_AGAIN_S)
        except StoreError as error:
            if not is_told:
                is_told = True
                log.warning("! %s waits to take items of %s: %.200s", into.name, publisher, error.description)
            await asyncio.sleep(_AGAIN_KEEPING_S)
        except BrokerError as error:
            if len(items) == 1:
                log.warning(
                    "! %s does not take an item of %s: %.200s", into.name, publisher, error.description
                )
                return
            for item in items:
                await published(into, [item], publisher)
            return
        else:
            return
