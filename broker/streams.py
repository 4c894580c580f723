"""The streams of a broker and all that serves them, put together as the settings have it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from triplewire.gates.quotas import Quotas
from triplewire.gates.stream.administration import StreamAdministration, stream_routes
from triplewire.gates.stream.directory import PATH
from triplewire.gates.stream.hub import Hub

from .joining import Joining, StreamPlaces
from .stream_port import StreamPort

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fastapi import APIRouter

    from triplewire.gates.stream.feeding import Writes
    from triplewire.gates.tls import Certificate

    from .config import Config
    from .scheduler import Scheduler
    from .security.authority import Authority


class Streams:
    """Made on the running event loop; `writes` takes what is to be stored."""

    PATH: Final = PATH  # of the directory, which looks for itself at who asks

    def __init__(
        self,
        config: Config,
        scheduler: Scheduler,
        writes: Writes,
        authority: Authority,
        quotas: Quotas | None = None,
    ) -> None:
        """`quotas`: those of all ports together; without any, those of the settings for the stream port alone."""
        self._config = config
        self._authority = authority
        self._hub = Hub(config, scheduler, writes)
        self._port = StreamPort(config, self._hub.feeds, authority, quotas or Quotas(config.limits))
        self._hub.when_changed(self._port.refresh)
        self._joining: Joining | None = None

    @contextlib.asynccontextmanager
    async def served(self, tls: Certificate | None) -> AsyncIterator[StreamPlaces]:
        """The streams, and their ports, until the block ends; where those are.

        Raises:
            ConfigError: a stream's query, filter or URL can't be used, or what is told to trackers.
            StoreError: what a stream keeps can't be read.
            OSError: a port can't be opened.
            EngineError: a worker ended as it began.
        """
        if self._config.relay.trackers:
            self._joining = Joining(self._config, tls, self._authority, self._state)
        try:
            self._hub.open(self._joining.node if self._joining is not None else None)
            async with self._port.served(tls) as (plain, secure):
                links = "" if self._joining is None else await self._joining.begin(self._port.reached)
                yield StreamPlaces(plain, secure, links)
        finally:
            await self._end()

    async def close(self) -> None:
        """End all streams: what waits leaves, and what is to be stored is stored."""
        self._port.refuse()
        await self._end()

    async def _end(self) -> None:
        if self._joining is not None:
            # Nobody is sent here any more before those who are here have to look for another.
            await self._hub.leave()
            await self._joining.end()
        await self._hub.close()

    def routes(self) -> APIRouter:
        """What is on the HTTP port: the directory, and streams made and ended by administrators."""
        return stream_routes(StreamAdministration(self._hub, self._port.directory, self._port.origin))

    def origin(self, hostname: str | None, scheme: str) -> str:
        """Where the stream port is; see `StreamPort`."""
        return self._port.origin(hostname, scheme)

    def health(self) -> dict[str, Any]:
        """What happens to streams, and who follows; of workers, as of a second ago."""
        return self._hub.health() | self._port.health()

    def _state(self) -> dict[str, Any]:
        """For the port of links; the HTTP port tells of the broker as well."""
        return {"status": "ok", "streams": self.health(), "relay": self.relaying()}

    def relaying(self) -> dict[str, Any] | None:
        """What happens between this process and the others that have its streams; None where there are no others."""
        return self._joining.health() if self._joining is not None else None
