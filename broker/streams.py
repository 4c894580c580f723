"""The streams of a broker and all that serves them, put together as the settings have it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from triplewire.gates.quotas import Quotas
from triplewire.gates.stream.accounts import OwnAccounts
from triplewire.gates.stream.administration import StreamAdministration, stream_routes
from triplewire.gates.stream.directory import PATH, Directory
from triplewire.gates.stream.hub import Hub
from triplewire.gates.stream.selection import Selections
from triplewire.gates.stream.server import StreamServer
from triplewire.gates.stream.workers import Workers

from .ports import stream_ports
from .rights import Scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fastapi import APIRouter

    from triplewire.gates.stream.feeding import Writes
    from triplewire.gates.stream.requests import StreamRequest
    from triplewire.gates.tls import Certificate

    from .config import Config
    from .rights import Access
    from .scheduler import Scheduler
    from .security.authority import Authority


_ANY = frozenset({"0.0.0.0", "[::]", ""})  # noqa: S104 - nothing is bound here


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
        self._hub = Hub(config, scheduler, writes)
        self._directory = Directory(self._hub.feeds)
        self._selections = Selections(config.stream, config.limits)
        self._at = ""
        feeds, limits, settings = self._hub.feeds, config.limits, config.stream
        quotas = quotas or Quotas(limits)
        self._server = StreamServer(
            feeds,
            authority,
            limits,
            settings,
            select=self._selections.of,
            directory=self._listed,
            accounts=OwnAccounts(quotas, limits),
        )
        self._workers: Workers | None = None
        if settings.workers:
            log = config.log
            self._workers = Workers(feeds, authority, limits, settings, log.level, quotas, log.format)
            self._hub.when_changed(self._workers.refresh)

    @contextlib.asynccontextmanager
    async def served(self, tls: Certificate | None) -> AsyncIterator[tuple[str, str]]:
        """The streams, and their ports, until the block ends; where those are.

        Raises:
            ConfigError: a stream's query, filter or URL can't be used.
            StoreError: what a stream keeps can't be read.
            OSError: a port can't be opened.
            EngineError: a worker ended as it began.
        """
        try:
            self._hub.open()
            async with stream_ports(self._config, self._server, self._workers, tls) as places:
                self._at = places[0]
                yield places
        finally:
            await self._hub.close()

    async def close(self) -> None:
        """End all streams: what waits leaves, and what is to be stored is stored."""
        self._server.refuse()
        if self._workers is not None:
            self._workers.refuse()
        await self._hub.close()

    def routes(self) -> APIRouter:
        """What is on the HTTP port: the directory, and streams made and ended by administrators."""
        return stream_routes(StreamAdministration(self._hub, self._directory, self._place))

    def health(self) -> dict[str, Any]:
        """What happens to streams, and who follows; of workers, as of a second ago."""
        workers = self._workers
        serving = [each for each in (self._server, workers) if each is not None]
        return self._hub.health() | {
            "consumers": sum(each.consumers for each in serving),
            "shed": sum(each.shed for each in serving),
            "skipped": sum(each.skipped for each in serving),
            "lanes": sum(each.lanes for each in serving),
            "selections": len(self._selections),
            "workers": len(workers.pids) if workers is not None else 0,
            "replaced": workers.replaced if workers is not None else 0,
        }

    def _listed(self, access: Access, request: StreamRequest) -> tuple[str, bytes]:
        """The directory, as the stream port shows it."""
        access.need(Scope.SUBSCRIBE)
        hostname = urlsplit(f"//{request.headers.get('host', '')}").hostname
        body, media_type = self._directory.page(
            self._place(hostname), request.headers.get("accept", ""), access
        )
        return media_type, body

    def _place(self, hostname: str | None) -> str:
        """Where the stream port is, for one who calls this machine by that name."""
        host, _, port = self._at.rpartition(":")
        if host in _ANY and hostname:
            host = f"[{hostname}]" if ":" in hostname else hostname
        return f"http://{host}:{port}"
