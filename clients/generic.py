"""A generic client asks, changes and follows anything in a profile, by id or as SPARQL texts."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from .application import Application
from .async_subscriber import AsyncSubscriber
from .callbacks import Callbacks, split
from .exchange import AsyncHttpDriver, HttpDriver
from .flows import SparqlFlows
from .subscriber import Subscriber

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from typing import Self

    from triplewire.jsap.profile import Profile

    from .authorization import Authorization
    from .flows import Answer
    from .live_query import LiveQuery
    from .settings import ClientSettings


class GenericClient:
    """Blocking; threads may share one.  Live queries at one URL share one WebSocket."""

    def __init__(
        self,
        profile: Profile | str | PathLike[str],
        *,
        settings: ClientSettings | None = None,
        authorization: Authorization | None = None,
        identity: str | None = None,
    ) -> None:
        self._application = Application(profile)
        self._settings = self._application.settings(settings)
        self._authorization = self._application.authorization(authorization, identity, self._settings)
        self._flows = SparqlFlows(self._settings, self._authorization)
        self._driver = HttpDriver(self._settings)
        self._lock = threading.Lock()
        self._subscribers: dict[str, Subscriber] = {}

    def query(self, query: str, values: Mapping[str, object] | None = None, /, **bindings: object) -> Answer:
        """The answer to a query, by its id or as SPARQL; raises ProfileError, BrokerRefused, ConnectionLost."""
        to = self._application.query(query, {**(values or {}), **bindings})
        return self._driver.run(self._flows.query(to.url, to.operation, to.method))

    def update(self, update: str, values: Mapping[str, object] | None = None, /, **bindings: object) -> None:
        """Make an update, by its id or as SPARQL; raises ProfileError, BrokerRefused, ConnectionLost."""
        to = self._application.update(update, {**(values or {}), **bindings})
        self._driver.run(self._flows.update(to.url, to.operation, to.method))

    def subscribe(
        self,
        query: str,
        values: Mapping[str, object] | None = None,
        /,
        alias: str | None = None,
        **named: Any,
    ) -> LiveQuery:
        """Follow a query, by its id or as SPARQL; keywords are the callbacks, and values for its variables.

        Returns when `on_first_results` has been called; raises ProfileError, BrokerRefused, ConnectionLost.
        """
        callbacks, bindings = split(named)
        to = self._application.subscription(query, {**(values or {}), **bindings})
        subscriber = self._subscriber(to.url)
        return subscriber.follow(to.operation, alias, Callbacks(**callbacks))

    def unsubscribe(self, live: LiveQuery) -> None:
        """Let a live query go; raises ConnectionLost where nobody confirms it."""
        for subscriber in self._all():
            subscriber.unsubscribe(live)  # whose it is not lets it be

    def close(self) -> None:
        """Close all connections."""
        for subscriber in self._all():
            subscriber.close()
        self._driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _all(self) -> tuple[Subscriber, ...]:
        with self._lock:
            return tuple(self._subscribers.values())

    def _subscriber(self, url: str) -> Subscriber:
        with self._lock:
            if url not in self._subscribers:
                self._subscribers[url] = Subscriber(
                    url, settings=self._settings, authorization=self._authorization
                )
            return self._subscribers[url]


class AsyncGenericClient:
    """`GenericClient` for asyncio; the callbacks may be coroutine functions."""

    def __init__(
        self,
        profile: Profile | str | PathLike[str],
        *,
        settings: ClientSettings | None = None,
        authorization: Authorization | None = None,
        identity: str | None = None,
    ) -> None:
        self._application = Application(profile)
        self._settings = self._application.settings(settings)
        self._authorization = self._application.authorization(authorization, identity, self._settings)
        self._flows = SparqlFlows(self._settings, self._authorization)
        self._driver = AsyncHttpDriver(self._settings)
        self._subscribers: dict[str, AsyncSubscriber] = {}

    async def query(
        self, query: str, values: Mapping[str, object] | None = None, /, **bindings: object
    ) -> Answer:
        """As `GenericClient.query`."""
        to = self._application.query(query, {**(values or {}), **bindings})
        return await self._driver.run(self._flows.query(to.url, to.operation, to.method))

    async def update(
        self, update: str, values: Mapping[str, object] | None = None, /, **bindings: object
    ) -> None:
        """As `GenericClient.update`."""
        to = self._application.update(update, {**(values or {}), **bindings})
        await self._driver.run(self._flows.update(to.url, to.operation, to.method))

    async def subscribe(
        self,
        query: str,
        values: Mapping[str, object] | None = None,
        /,
        alias: str | None = None,
        **named: Any,
    ) -> LiveQuery:
        """As `GenericClient.subscribe`."""
        callbacks, bindings = split(named)
        to = self._application.subscription(query, {**(values or {}), **bindings})
        subscriber = self._subscriber(to.url)
        return await subscriber.follow(to.operation, alias, Callbacks(**callbacks))

    async def unsubscribe(self, live: LiveQuery) -> None:
        """As `GenericClient.unsubscribe`."""
        for subscriber in tuple(self._subscribers.values()):
            await subscriber.unsubscribe(live)  # whose it is not lets it be

    async def close(self) -> None:
        """As `GenericClient.close`."""
        for subscriber in tuple(self._subscribers.values()):
            await subscriber.close()
        await self._driver.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _subscriber(self, url: str) -> AsyncSubscriber:
        if url not in self._subscribers:
            self._subscribers[url] = AsyncSubscriber(
                url, settings=self._settings, authorization=self._authorization
            )
        return self._subscribers[url]
