"""A producer makes one update of a profile, with new values each time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .application import Application
from .exchange import AsyncHttpDriver, HttpDriver
from .flows import SparqlFlows

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from typing import Self

    from triplewire.jsap.profile import Profile

    from .authorization import Authorization
    from .settings import ClientSettings


class Producer:
    """Blocking; threads may share one."""

    def __init__(
        self,
        profile: Profile | str | PathLike[str],
        update_id: str,
        *,
        settings: ClientSettings | None = None,
        authorization: Authorization | None = None,
        identity: str | None = None,
    ) -> None:
        self._application = Application(profile)
        self._update_id = update_id
        settings = self._application.settings(settings)
        authorization = self._application.authorization(authorization, identity, settings)
        self._flows = SparqlFlows(settings, authorization)
        self._driver = HttpDriver(settings)

    def update(self, values: Mapping[str, object] | None = None, /, **bindings: object) -> None:
        """Make the update with these values for its forced bindings.

        Raises:
            ProfileError: a value is missing or wrong.
            BrokerRefused: the broker's own error.
            ConnectionLost: it can't be reached, or did not answer in time.
        """
        to = self._application.update(self._update_id, {**(values or {}), **bindings})
        self._driver.run(self._flows.update(to.url, to.operation, to.method))

    def close(self) -> None:
        """Close the connections."""
        self._driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncProducer:
    """`Producer` for asyncio."""

    def __init__(
        self,
        profile: Profile | str | PathLike[str],
        update_id: str,
        *,
        settings: ClientSettings | None = None,
        authorization: Authorization | None = None,
        identity: str | None = None,
    ) -> None:
        self._application = Application(profile)
        self._update_id = update_id
        settings = self._application.settings(settings)
        authorization = self._application.authorization(authorization, identity, settings)
        self._flows = SparqlFlows(settings, authorization)
        self._driver = AsyncHttpDriver(settings)

    async def update(self, values: Mapping[str, object] | None = None, /, **bindings: object) -> None:
        """As `Producer.update`."""
        to = self._application.update(self._update_id, {**(values or {}), **bindings})
        await self._driver.run(self._flows.update(to.url, to.operation, to.method))

    async def close(self) -> None:
        """As `Producer.close`."""
        await self._driver.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
