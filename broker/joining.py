"""A process that joins the overlay: its node, where others find it, and what it tells whoever looks after it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from triplewire.gates.bearer import bearer_of
from triplewire.gates.identity import tokens_at
from triplewire.gates.web.metrics import Metrics

from . import meters
from .errors import BrokerError, ClientError, ConfigError
from .rights import Scope
from .security.authority import access_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.gates.tls import Certificate

    from .config import Config
    from .rights import Access
    from .security.authority import Authority

_JSON = "application/json"


class StreamPlaces(NamedTuple):
    """Where streams are reached: a host and port, "" where there is none; `links` is a URL."""

    stream: str
    stream_tls: str = ""
    links: str = ""


class Joining:
    """The node of this process; `state` tells what else there is, `status` being `ok` or what is wrong."""

    def __init__(
        self,
        config: Config,
        tls: Certificate | None,
        authority: Authority,
        state: Callable[[], dict[str, Any]],
    ) -> None:
        """Raises ConfigError where relay.ca is no file of certificates."""
        # Here, so that who has no trackers need not load it
        from triplewire.gates.relay.node import Node  # noqa: PLC0415

        self._authority = authority
        self._state = state
        self._metrics = Metrics(state, meters.ALL)
        try:
            self.node = Node(
                config.relay,
                tls=tls.context if tls is not None else None,
                tokens=tokens_at(config.relay.login, config.relay, config.paths),
                pages={"/health": self._health, "/metrics": self._figures},
            )
        except ClientError as error:
            raise ConfigError(f"relay.ca: {error}") from error

    async def begin(self, streams_at: str) -> str:
        """Open the port for links, and be known to the trackers as one whose streams are `streams_at`; where links are.

        Raises:
            OSError: the port can't be opened.
        """
        await self.node.start(streams_at)
        return self.node.links_at

    async def end(self) -> None:
        """Leave; what was published before has left."""
        await self.node.close()

    def health(self) -> dict[str, Any]:
        """What happens between this process and the others."""
        return self.node.health()

    async def _health(self, authorization: str | None) -> tuple[str, bytes]:
        """As at a broker's /health: all for administrators, else whether this is well."""
        state = self._state()
        try:
            access: Access | None = await self._access(authorization)
        except BrokerError:
            access = None
        told = state if access is not None and Scope.ADMIN in access.scopes else {"status": state["status"]}
        return _JSON, json.dumps(told).encode()

    async def _figures(self, authorization: str | None) -> tuple[str, bytes]:
        """For Prometheus.

        Raises:
            Unauthorized, Forbidden: they are an administrator's.
        """
        access = await self._access(authorization)
        access.need(Scope.ADMIN)
        body, media_type = self._metrics.page("")
        return media_type, body

    async def _access(self, authorization: str | None) -> Access:
        return await access_of(self._authority, bearer_of(authorization))
