"""The stream port and all that is behind it but the streams themselves: who serves, filters and lists them."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from triplewire.gates.stream.accounts import OwnAccounts
from triplewire.gates.stream.directory import Directory
from triplewire.gates.stream.selection import Selections
from triplewire.gates.stream.server import StreamServer
from triplewire.gates.stream.workers import Workers

from .ports import stream_ports
from .rights import Scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from triplewire.gates.quotas import Quotas
    from triplewire.gates.stream.feed import Feed
    from triplewire.gates.stream.requests import StreamRequest
    from triplewire.gates.tls import Certificate

    from .config import Config
    from .rights import Access
    from .security.authority import Authority

_ANY = frozenset({"0.0.0.0", "[::]", ""})  # noqa: S104 - nothing is bound here


class StreamPort:
    """Serves `feeds`, which may come and go; made on the running event loop."""

    def __init__(
        self, config: Config, feeds: Mapping[str, Feed], authority: Authority, quotas: Quotas
    ) -> None:
        self._config = config
        self.directory = Directory(feeds, trackers=config.relay.trackers)
        self._selections = Selections(config.stream, config.limits)
        self._at = self._at_tls = ""
        limits, settings = config.limits, config.stream
        self._server = StreamServer(
            feeds,
            authority,
            limits,
            settings,
            select=self._selections.of,
            prepare=self._selections.prepare,
            directory=self._listed,
            accounts=OwnAccounts(quotas, limits),
        )
        self._workers: Workers | None = None
        if settings.workers:
            log = config.log
            self._workers = Workers(
                feeds, authority, limits, settings, log.level, quotas, log.format, config.relay.trackers
            )

    @contextlib.asynccontextmanager
    async def served(self, tls: Certificate | None) -> AsyncIterator[tuple[str, str]]:
        """The port and, with `tls`, the one over it, until the block ends; where they are.

        Raises:
            OSError: a port can't be opened.
            EngineError: a worker ended as it began.
        """
        async with stream_ports(self._config, self._server, self._workers, tls) as places:
            self._at, self._at_tls = places
            yield places

    def refresh(self) -> None:
        """Feeds have come or gone."""
        if self._workers is not None:
            self._workers.refresh()

    def refuse(self) -> None:
        """Take nobody in any more."""
        self._server.refuse()
        if self._workers is not None:
            self._workers.refuse()

    @property
    def reached(self) -> str:
        """Where other machines find it, as far as it can be known here: the port over TLS, where there is one.

        All addresses of this machine are told by its name.
        """
        return self.origin(socket.gethostname(), "https" if self._at_tls else "http")

    def origin(self, hostname: str | None, scheme: str) -> str:
        """Where the stream port is, as `http://localhost:8001`, for one who calls this machine by that name.

        Who has come by `https` is sent to the port over TLS: browsers let a page from there go to no other.
        """
        secure = scheme == "https" and self._at_tls != ""
        host, _, port = (self._at_tls if secure else self._at).rpartition(":")
        if host in _ANY and hostname:
            host = f"[{hostname}]" if ":" in hostname else hostname
        return f"{'https' if secure else 'http'}://{host}:{port}"

    def health(self) -> dict[str, Any]:
        """Who follows; of workers, as of a second ago."""
        workers = self._workers
        serving = [each for each in (self._server, workers) if each is not None]
        return {
            "consumers": sum(each.consumers for each in serving),
            "shed": sum(each.shed for each in serving),
            "skipped": sum(each.skipped for each in serving),
            "lanes": sum(each.lanes for each in serving),
            "selections": len(self._selections),
            "workers": len(workers.pids) if workers is not None else 0,
            "replaced": workers.replaced if workers is not None else 0,
        }

    def _listed(self, access: Access, request: StreamRequest, scheme: str) -> tuple[str, bytes]:
        """The directory, as the stream port shows it."""
        access.need(Scope.SUBSCRIBE)
        hostname = urlsplit(f"//{request.headers.get('host', '')}").hostname
        body, media_type = self.directory.page(
            self.origin(hostname, scheme), request.headers.get("accept", ""), access
        )
        return media_type, body
