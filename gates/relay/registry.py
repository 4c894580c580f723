"""The stream registry: which streams there are, who publishes into them, and which trackers keep their overlays.

It is RDF in a named graph of a broker, so that whoever may write that graph there, and nobody else, changes it, with the
tools that change everything else.  A tracker follows the graph by a subscription as any client has: a change holds at once.
While the broker is away, what was read last stays in force, over restarts as well where `tracker.data` keeps it; what
changed meanwhile is told when it is back.

Until it was read for the first time nothing is known, and nobody is let publish: a registry that says who may publish must
not be got round by a tracker that starts while the broker is down.  Nor is anybody turned away, as whoever was let in
before would lose its links and its publishers: nodes go on by what they were told last, and are told nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pyoxigraph import NamedNode

from triplewire.broker.errors import ClientError, ConfigError
from triplewire.broker.model import Query
from triplewire.broker.security.audience import Audience
from triplewire.clients.addresses import Addresses
from triplewire.clients.async_subscriber import AsyncSubscriber
from triplewire.clients.settings import ClientSettings
from triplewire.gates.identity import tokens_at

from .registered import PREDICATES, read, triples_of
from .registry_file import RegistryFile

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from triplewire.broker.config import PathsConfig
    from triplewire.broker.overlay_config import TrackerConfig

    from .registered import Registered, Triples

log = logging.getLogger("triplewire.gates.relay")

OPEN = "open"
_FIRST_S = 5.0  # how long a start waits for the first reading
_AGAIN_FIRST_S = 0.2
_AGAIN_LONGEST_S = 30.0
_TRIPLES = 200_000
_MESSAGE_BYTES = 64 * 1024 * 1024


class Registry:
    """What is known of each stream; on the event loop only."""

    def __init__(self, config: TrackerConfig, paths: PathsConfig) -> None:
        """Raises ConfigError where `tracker.registry` is no URL to follow.  Without one nothing is registered."""
        self.trouble = ""  # why it can't be read just now
        self.problems: list[str] = []  # what in it can't be read
        self.readings = 0
        self._config = config
        self._streams: Mapping[str, Registered] = MappingProxyType({})
        self._audience = Audience("the registry")
        self._file = RegistryFile(Path(config.data)) if config.data and config.registry else None
        self._known = not config.registry
        self._read = asyncio.Event()
        self._changed = asyncio.Event()
        if not config.registry:
            return
        try:
            self._at = Addresses.of(config.registry.rstrip("/") + "/")
            self._query = _query(config.registry_graph)
        except ValueError as error:
            raise ConfigError(f"tracker.registry: {error}") from error
        self._settings = ClientSettings(
            ca_file=config.ca or None, backoff_longest_s=5.0, max_message_bytes=_MESSAGE_BYTES
        )
        self._subscribe = self._at.subscribe.removesuffix("/subscribe") + paths.subscribe
        self._tokens = tokens_at(config.login or config.registry, config, paths, self._settings)

    @property
    def known(self) -> bool:
        """Whether what there is to know is known: there is no registry, or it was read, if only before a restart."""
        return self._known

    def of(self, stream: str) -> Registered | None:
        """What it says of a stream."""
        return self._streams.get(stream)

    def takes(self, stream: str) -> bool:
        """Whether the stream may be there at all; nobody is turned away by what has not been read yet."""
        if not self._config.registry or self._config.unregistered == OPEN:
            return True
        return not self._known or stream in self._streams

    def may_publish(self, stream: str, client: str) -> bool:
        """Whether a client's items are taken, as far as the registry goes."""
        if not self._config.registry:
            return True
        found = self._streams.get(stream)
        if found is None:
            return self.known and self._config.unregistered == OPEN
        return found.publishers is None or client in found.publishers

    def trackers(self, stream: str) -> tuple[str, ...]:
        """The base URLs of a stream's trackers, the first first; none where nothing is said."""
        found = self._streams.get(stream)
        return found.trackers if found is not None else ()

    def degree(self, stream: str) -> int:
        """How many neighbours a node has in a stream; 0 where nothing is said."""
        found = self._streams.get(stream)
        return found.degree if found is not None else 0

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Have `changed` called when something else holds; what is returned ends that."""
        return self._audience.listen(changed)

    def health(self) -> dict[str, Any]:
        """How it stands with it, for administrators."""
        return {
            "url": self._config.registry,
            "known": self.known,
            "streams": len(self._streams),
            "readings": self.readings,
            "trouble": self.trouble,
            "problems": [*self.problems],
        }

    @contextlib.asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Follow it until the block ends; the start waits a moment for what is in it, and not for a broker that is away."""
        if not self._config.registry:
            yield
            return
        if self._file is not None and (kept := await asyncio.to_thread(self._file.load)) is not None:
            await self._take(kept)
        task = asyncio.create_task(self._run(), name="triplewire-registry")
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_FIRST_S):
                    await self._read.wait()
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        wait_s = _AGAIN_FIRST_S
        while True:
            before = self.readings
            try:
                await self._follow()
            except ClientError as error:
                self.trouble = str(error)
                log.warning("! the registry at %s can't be followed: %.300s", self._config.registry, error)
            except (
                Exception
            ) as error:  # it must not be followed no more, without a word, for an error of ours
                self.trouble = repr(error)
                log.exception("! the registry at %s can't be followed", self._config.registry)
            wait_s = _AGAIN_FIRST_S if self.readings > before else min(2 * wait_s, _AGAIN_LONGEST_S)
            await asyncio.sleep(wait_s)

    async def _follow(self) -> None:
        """Until the subscription has ended; lost connections it survives by itself."""
        ended: list[Exception] = []

        def over(error: Exception) -> None:
            ended.append(error)
            self._changed.set()

        async with AsyncSubscriber(
            self._subscribe,
            settings=self._settings,
            authorization=self._tokens,
            on_disconnect=self._away,
            on_reconnect=self._back,
        ) as subscriber:
            live = await subscriber.subscribe(
                self._query, alias="registry", on_notification=self._notified, on_error=over
            )
            self._changed.set()
            while not ended:
                await self._changed.wait()
                self._changed.clear()
                if not ended:
                    await self._heard(triples_of(live.answer))
            raise ended[0] if isinstance(ended[0], ClientError) else ClientError(str(ended[0]))

    def _notified(self, _: object) -> None:
        self._changed.set()

    def _away(self, error: Exception) -> None:
        self.trouble = str(error)
        log.warning("= the registry is away: what was read last stays in force")

    def _back(self, _: None) -> None:
        self.trouble = ""

    async def _heard(self, triples: Triples) -> None:
        """Raises ClientError where it is larger than a registry can be; what was read last stays in force then."""
        if len(triples) > _TRIPLES:
            raise ClientError(f"the registry has more than {_TRIPLES} triples")
        is_other = await self._take(triples) or not self.readings
        self.readings += 1
        self.trouble = ""
        self._read.set()
        if is_other and self._file is not None:
            await asyncio.to_thread(self._file.keep, triples)

    async def _take(self, triples: Triples) -> bool:
        """From now on this holds; whether that is something else, of which those who listen are told."""
        # Beside the loop: there may be many thousands
        streams, problems = await asyncio.to_thread(read, triples)
        if problems != self.problems:
            for problem in problems:
                log.warning("! the registry: %s", problem)
        is_other = not self._known or streams != self._streams
        self._streams, self.problems, self._known = MappingProxyType(streams), problems, True
        if is_other:
            log.info("= the registry tells of %d streams", len(streams))
            self._audience.tell()
        return is_other


def _query(graph: str) -> Query:
    """All triples of the graph that mean something here, so that others may stand beside them.

    Raises:
        ValueError: the graph is no IRI.
    """
    predicates = " ".join(str(predicate) for predicate in PREDICATES)
    return Query(
        f"SELECT ?s ?p ?o WHERE {{ GRAPH {NamedNode(graph)} {{ ?s ?p ?o }} VALUES ?p {{ {predicates} }} }}"
    )
