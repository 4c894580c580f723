"""`triplewire relay`: streams that other processes have as well, for consumers near here; no store, no queries.

What is published here goes to the others, and theirs comes here while somebody follows.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplewire.gates.quotas import Quotas
from triplewire.gates.relay.carrying import OverlayFeed
from triplewire.gates.relay.places import Places
from triplewire.gates.relay.tracker_access import judging
from triplewire.gates.stream.stream import FOLDER, open_stream, silence_of
from triplewire.gates.tls import Certificate

from . import programs
from .errors import ConfigError
from .heap import give_back, settle
from .joining import Joining, StreamPlaces
from .stream_port import StreamPort

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from triplewire.gates.stream.stream import Stream

    from .config import Config
    from .security.authority import Authority

log = logging.getLogger("triplewire.broker.relaying")

_STREAMS_TOLD = 8


class Relay:
    """The streams with `overlay`, their node and their port; on the running event loop."""

    def __init__(self, config: Config, tls: Certificate | None, authority: Authority) -> None:
        """Raises ConfigError where the settings can't be followed."""
        check(config)
        self._config = config
        self._tls = tls
        self._started = time.time()
        self._streams: dict[str, Stream] = {}
        self._feeds: dict[str, OverlayFeed] = {}
        self._joining = Joining(config, tls, authority, self.health)
        self._port = StreamPort(config, self._feeds, authority, Quotas(config.limits))

    @property
    def names(self) -> list[str]:
        """Of its streams."""
        return [name for name, stream in self._config.streams.items() if stream.overlay]

    @property
    def node(self) -> str:
        """Its name among the others."""
        return self._joining.node.node

    @contextlib.asynccontextmanager
    async def served(self) -> AsyncIterator[StreamPlaces]:
        """Its ports, until the block ends; then what was published leaves, and consumers go to others.

        Raises:
            StoreError: what a stream keeps can't be read.
            OSError: a port can't be opened.
            EngineError: a worker ended as it began.
        """
        try:
            self._open()
            async with self._port.served(self._tls) as (plain, secure):
                links = await self._joining.begin(self._port.reached)
                yield StreamPlaces(plain, secure, links)
                self._port.refuse()
                await self._end()
        finally:
            await self._end()

    def health(self) -> dict[str, Any]:
        """What it holds, and what happens."""
        counts = [stream.counts for stream in self._streams.values()]
        streams = {
            "count": len(self._feeds),
            "taken": sum(count.taken for count in counts),
            "duplicates": sum(count.duplicates for count in counts),
            "conflicts": sum(count.conflicts for count in counts),
            "loops": sum(count.loops for count in counts),
            "batches": sum(count.batches for count in counts),
            "kept": sum(len(stream.history) for stream in self._streams.values()),
            "not_kept": sum(bool(stream.history.trouble) for stream in self._streams.values()),
            "of": {
                name: {"followers": feed.followers, "not_carried": feed.behind, **asdict(feed.counts)}
                | ({"not_kept": trouble} if (trouble := feed.history.trouble) else {})
                for name, feed in self._feeds.items()
            },
        }
        return {
            "status": "ok",
            "uptime_s": round(time.time() - self._started, 1),
            "streams": streams | self._port.health(),
            "relay": self._joining.health(),
        }

    def _open(self) -> None:
        loop = asyncio.get_running_loop()
        folder = None
        if any(self._config.streams[name].keep for name in self.names):  # checked: store.data is set
            folder = Path(self._config.store.data) / FOLDER
            folder.mkdir(parents=True, exist_ok=True)
        for name in self.names:
            config = self._config.streams[name]
            silence_s = silence_of(self._config, config)
            stream = open_stream(name, config, loop, folder=folder, silence_s=silence_s)
            self._streams[name] = stream
            places = None
            if config.keep and folder is not None:
                file, most = folder / f"{name}.places", self._config.relay.chains
                places = Places(file, stream.source_id, stream.history.last, most)
            feed = self._feeds[name] = OverlayFeed(
                stream, self._joining.node, places=places, taken_in_s=self._config.relay.dial_s
            )
            stream.is_there = feed.is_there

    async def _end(self) -> None:
        await asyncio.gather(*(feed.close() for feed in self._feeds.values()))
        await self._joining.end()
        for stream in self._streams.values():
            stream.close()


def check(config: Config) -> None:
    """Raises ConfigError where there is nothing to relay, or a stream would need a store."""
    if not config.relay.trackers:
        raise ConfigError("relay.trackers: somebody has to know the others (--tracker URL)")
    names = [name for name, stream in config.streams.items() if stream.overlay]
    if not names:
        raise ConfigError("streams: none has overlay = true (--stream NAME)")
    for name in names:
        if config.streams[name].store_graph:
            raise ConfigError(f"streams.{name}.store_graph needs a store: `triplewire serve` has one")


@dataclass(frozen=True, slots=True)
class Running:
    """A relay that answers: where, its name, its streams, and how its certificate and permissions are read again."""

    places: StreamPlaces
    node: str
    streams: list[str]
    reread: Callable[[], None]


@contextlib.asynccontextmanager
async def running(config: Config) -> AsyncIterator[Running]:
    """A relay that answers until the block ends.

    Raises:
        ConfigError: the certificate, something of security, or of the relay itself can't be used.
        StoreError: what a stream keeps can't be read.
        OSError: a port can't be opened.
        EngineError: a worker ended as it began.
    """
    tls = Certificate(config.tls) if config.tls.certificate else None
    judged = judging(config.security)

    def reread() -> None:
        if tls is not None:
            tls.reread()
        judged.reread()

    relay = Relay(config, tls, judged.authority)
    async with relay.served() as places:
        yield Running(places, relay.node, relay.names, reread)


async def serve(config: Config) -> None:
    """Run until SIGTERM or SIGINT; says where it listens, then `ready`, on standard output."""
    give_back()
    stop = programs.told_to_stop()
    async with running(config) as relay:
        settle()
        programs.announce(announcement(config, relay), relay.reread)
        await stop.wait()
        log.info("= draining")
    log.info("= ended")


def announcement(config: Config, relay: Running) -> list[str]:
    """One line for each URL, then `ready`."""
    names = relay.streams[:_STREAMS_TOLD]
    if len(relay.streams) > _STREAMS_TOLD:
        names.append(f"and {len(relay.streams) - _STREAMS_TOLD} more")
    places = relay.places
    secure = f" and https://{places.stream_tls}/" if places.stream_tls else ""
    return [
        f"streams    http://{places.stream}/{secure}   ({', '.join(names)})",
        f"links      {places.links}   (the node {relay.node})",
        f"trackers   {', '.join(config.relay.trackers)}",
        "ready",
    ]


def run(config: Config) -> None:
    """Serve until told to stop; raises as `running`."""
    programs.prepare(config.log)
    programs.run(serve(config))
