"""The streams of a broker: made by the settings, or at run time by an administrator, with what feeds them.

`feeds` is a live mapping: the servers of connections look streams up in it, and are told by `when_changed`.  A stream
that was made at run time is kept in memory only: after a restart it is not there, as the settings do not have it.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplewire.broker.errors import (
    ConfigError,
    MalformedRequest,
    NotFound,
    RequestError,
    ShuttingDown,
)
from triplewire.broker.stream_checks import check_among, check_stream
from triplewire.gates.relay.carrying import OverlayFeed
from triplewire.gates.relay.places import Places

from .feed_of import DerivedFeed
from .feeding import StoredFeed
from .joined_source import JoinedSource, passing_of
from .listeners import Listeners
from .relay import Relay, followed
from .sparql_source import SparqlSource, query_of
from .stored_mark import StoredMark
from .stream import FOLDER, open_stream, silence_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.broker.config import Config, StreamConfig
    from triplewire.broker.scheduler import Scheduler
    from triplewire.gates.relay.carrying import Carrier

    from .feed import Feed
    from .feeding import Writes
    from .stream import Stream

log = logging.getLogger("triplewire.gates.stream")

_AGAIN_S = 1.0
_LAST_S = 5.0  # for what is still to be passed on or stored at the end
# What reaches into the broker's machine, or would have to outlive the process.
_SETTINGS_ONLY = ("keep", "jsap", "python", "credentials", "ca")


@dataclass(slots=True)
class _Held:
    stream: Stream
    feed: Feed  # as consumers and publishers see it
    source: JoinedSource | SparqlSource | Relay | None = None
    stored: StoredFeed | None = None
    overlay: OverlayFeed | None = None
    feeding: asyncio.Task[None] | None = None
    storing: asyncio.Task[None] | None = None
    is_ending: bool = False


class Hub:
    """Makes the streams of `config.streams`; on the running event loop."""

    def __init__(self, config: Config, scheduler: Scheduler, writes: Writes) -> None:
        self.feeds: dict[str, Feed] = {}
        self._config = config
        self._scheduler = scheduler
        self._writes = writes
        self._carrier: Carrier | None = None
        self._held: dict[str, _Held] = {}
        self._changed: Listeners[None] = Listeners()
        self._closed = False

    def open(self, carrier: Carrier | None = None) -> None:
        """Make them, each after those that it is made of, and begin to feed them.

        `carrier` takes to other processes what is published into streams with `overlay`.

        Raises:
            ConfigError: a query, a filter or a URL in the settings can't be used.
            StoreError: what a stream keeps can't be read.
        """
        self._carrier = carrier
        ahead = {name: stream for name, stream in self._config.streams.items() if stream.kind != "none"}
        while ahead:  # the settings were checked: there are no circles
            for name, stream in tuple(ahead.items()):
                if all(other in self._held for other in stream.of):
                    self._make(name, stream)
                    del ahead[name]

    def when_changed(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` when a stream has come or gone; returns what ends that."""
        return self._changed.add(lambda _: changed())

    def add(self, name: str, config: StreamConfig) -> None:
        """A stream more, until the broker ends.

        Raises:
            RequestError: there is one of that name, or it can't be as it should be.
            BrokerError: what it keeps can't be read.
        """
        if self._closed:
            raise ShuttingDown("the broker is shutting down")
        if name in self._held:
            raise RequestError(f"there is a stream {name:.100} already", code="stream_exists")
        try:
            self._check_added(name, config)
            self._make(name, config)
        except ConfigError as error:
            raise MalformedRequest(str(error)) from error
        self._changed.tell(None)

    async def remove(self, name: str) -> None:
        """End a stream; what it kept in a file stays there.

        Raises:
            NotFound: there is none.
            RequestError: others are made of it.
        """
        held = self._held.get(name)
        if held is None or held.is_ending:
            raise NotFound(f"there is no stream {name:.100}")
        users = sorted(
            other
            for other, each in self._held.items()
            if name in each.stream.config.of and not each.is_ending
        )
        if users:
            raise RequestError(f"{', '.join(users)} is made of {name}", code="stream_in_use")
        held.is_ending = True  # the name is not free yet: others may have something of it still
        del self.feeds[name]
        try:
            await _end(held)
        finally:
            self._held.pop(name, None)
        self._changed.tell(None)

    async def leave(self) -> None:
        """Go on without the others: what is published from now on is refused in streams with `overlay`."""
        overlays = [held.overlay for held in self._held.values() if held.overlay is not None]
        await asyncio.gather(*(overlay.close() for overlay in overlays))

    async def close(self) -> None:
        """End all: what waits leaves, what is to be stored is stored, then consumers are told."""
        self._closed = True
        held, self._held = self._held, {}
        for each in held.values():  # those that are made of others come behind them, and get the rest
            if isinstance(each.source, JoinedSource) and each.feeding is not None:
                await asyncio.wait([each.feeding], timeout=_LAST_S)
            await _end(each)
        self.feeds.clear()

    def health(self) -> dict[str, Any]:
        """What happens, in all and by stream."""
        told = {name: _told(held) for name, held in self._held.items()}
        counts = [held.stream.counts for held in self._held.values()]
        return {
            "count": len(told),
            "taken": sum(count.taken for count in counts),
            "duplicates": sum(count.duplicates for count in counts),
            "conflicts": sum(count.conflicts for count in counts),
            "loops": sum(count.loops for count in counts),
            "batches": sum(count.batches for count in counts),
            "kept": sum(len(held.stream.history) for held in self._held.values()),
            "stored": sum(held.stored.stored for held in self._held.values() if held.stored),
            "store_failed": sum(held.stored.failed for held in self._held.values() if held.stored),
            "store_missed": sum(held.stored.missed for held in self._held.values() if held.stored),
            "store_behind": sum(held.stored.behind for held in self._held.values() if held.stored),
            "not_kept": sum(bool(held.stream.history.trouble) for held in self._held.values()),
            "of": told,
        }

    def _check_added(self, name: str, config: StreamConfig) -> None:
        check_stream(name, config)
        check_among(name, config, self._config, self.feeds)
        for setting in _SETTINGS_ONLY:
            if getattr(config, setting):
                raise ConfigError(f"streams.{name}.{setting} can be set in the settings only")
        if config.url and not self._config.security.enabled:
            raise ConfigError(
                f"streams.{name}.url: nobody has to say who they are here, so none is followed for them"
            )
        if config.kind == "none" or len(self._held) >= self._config.stream.streams:
            raise ConfigError(f"streams.{name}: there are {len(self._held)} streams (stream.streams)")

    def _make(self, name: str, config: StreamConfig) -> None:
        begin = self._source(name, config)
        folder = None
        if config.keep and self._config.store.data:
            folder = Path(self._config.store.data) / FOLDER
            folder.mkdir(parents=True, exist_ok=True)
        loop = asyncio.get_running_loop()
        stream = open_stream(name, config, loop, folder=folder, silence_s=silence_of(self._config, config))
        held = _Held(stream, stream if config.kind == "publish" else DerivedFeed(stream))
        into: Feed = stream
        if config.store_graph:
            nesting = self._config.limits.nesting
            mark = None
            if folder is not None:
                whose = f"{stream.source_id} {config.store_graph}"
                mark = StoredMark(folder / f"{name}.stored", whose, stream.history.last)
            elif config.overlay and self._config.store.query_endpoint:
                log.warning("! %s: after a restart items of others may be stored again, or never", name)
            into = held.stored = StoredFeed(stream, config.store_graph, self._writes, nesting, mark)
            held.storing = asyncio.create_task(_kept_up(held.stored.run, name))
            if config.kind == "publish":
                held.feed = held.stored
        if config.overlay:
            assert self._carrier is not None  # checked: there are trackers
            places = None
            if folder is not None:
                file, most = folder / f"{name}.places", self._config.relay.chains
                places = Places(file, stream.source_id, stream.history.last, most)
            dial_s = self._config.relay.dial_s
            held.feed = held.overlay = OverlayFeed(held.feed, self._carrier, places=places, taken_in_s=dial_s)
            stream.is_there = held.overlay.is_there
            if held.stored is not None:
                held.overlay.followed(1)  # by the store, as long as it is there
        held.source = begin(into)
        if held.source is not None:
            held.feeding = asyncio.create_task(_kept_up(held.source.run, name))
        self._held[name] = held
        self.feeds[name] = held.feed
        log.info("= the stream %s: %s", name, config.kind)

    def _source(
        self, name: str, config: StreamConfig
    ) -> Callable[[Feed], JoinedSource | SparqlSource | Relay | None]:
        """What will feed it; all that can be wrong with that is found before anything is made."""
        limits = self._config.limits
        if config.kind == "subscription":
            query = query_of(name, config)
            return lambda into: SparqlSource(into, query, self._scheduler, limits)
        if config.kind in {"join", "filter"}:
            passing = passing_of(name, config, limits)
            others = [self._held[other].feed for other in config.of]
            return lambda into: JoinedSource(into, others, passing)
        if config.kind == "relay":
            followed(name, config)
            return lambda into: Relay(into, self._config.paths)
        return lambda _: None


async def _kept_up(run: Callable[[], Any], name: str) -> None:
    """Whatever happens to what feeds a stream, or is fed by it: it is begun again."""
    while True:
        try:
            await run()
        except Exception:
            log.exception("! what feeds the stream %s", name)
            await asyncio.sleep(_AGAIN_S)
        else:
            return


async def _end(held: _Held) -> None:
    held.stream.close()
    if held.storing is not None:  # it ends by itself when it is done
        await asyncio.wait([held.storing], timeout=_LAST_S)
    if held.overlay is not None:
        await held.overlay.close()
    tasks = [task for task in (held.feeding, held.storing) if task is not None]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _told(held: _Held) -> dict[str, Any]:
    stream, counts = held.stream, held.stream.counts
    told: dict[str, Any] = {
        "kind": stream.config.kind,
        "taken": counts.taken,
        "kept": len(stream.history),
        "kept_bytes": stream.history.bytes,
        "window_s": round(stream.window.period_s, 4),
    }
    if stream.history.trouble:
        told["not_kept"] = stream.history.trouble
    if held.stored is not None:
        told |= {
            "stored": held.stored.stored,
            "store_failed": held.stored.failed,
            "store_missed": held.stored.missed,
            "store_behind": held.stored.behind,
        }
    if held.overlay is not None:
        told |= {"followers": held.overlay.followers, **asdict(held.overlay.counts)}
        told["not_carried"] = held.overlay.behind
    if isinstance(held.source, JoinedSource):
        told["missed"] = held.source.missed
    elif held.source is not None:
        told["trouble"] = held.source.trouble
    if isinstance(held.source, Relay):
        told |= {"tries": held.source.tries, "gaps": held.source.gaps}
    return told
