"""A consumer follows one query of a profile: override its methods, or give it functions by keyword."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .application import Application
from .async_subscriber import AsyncSubscriber
from .callbacks import Callbacks
from .subscriber import Subscriber

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from typing import Self

    from triplewire.jsap.profile import Profile

    from .authorization import Authorization
    from .live_query import LiveQuery
    from .settings import ClientSettings


class Consumer(Callbacks):
    """Blocking, on a WebSocket and a thread of its own.

    Keywords are the callbacks (`on_added=print`), or a subclass overrides them.  With several values in turn, the last
    `subscribe` counts: it lets the one before go.
    """

    def __init__(  # noqa: PLR0913 - nearly all are keywords
        self,
        profile: Profile | str | PathLike[str],
        query_id: str,
        *,
        alias: str | None = None,
        settings: ClientSettings | None = None,
        authorization: Authorization | None = None,
        identity: str | None = None,
        **callbacks: Any,
    ) -> None:
        super().__init__(**callbacks)
        self._application = Application(profile)
        self._query_id = query_id
        self._alias = alias
        self._settings = self._application.settings(settings)
        self._authorization = self._application.authorization(authorization, identity, self._settings)
        self._subscriber: Subscriber | None = None
        self.live: LiveQuery | None = None

    def subscribe(self, values: Mapping[str, object] | None = None, /, **bindings: object) -> LiveQuery:
        """Follow the query with these values; returns when `on_first_results` has been called.

        Raises:
            ProfileError: a value is missing or wrong.
            BrokerRefused: the broker's own error.
            ConnectionLost: it can't be reached, or sent no first results in time.
        """
        to = self._application.subscription(self._query_id, {**(values or {}), **bindings})
        self.unsubscribe()
        if self._subscriber is None:
            self._subscriber = Subscriber(to.url, settings=self._settings, authorization=self._authorization)
        self.live = self._subscriber.follow(to.operation, self._alias or self._query_id, self)
        return self.live

    def unsubscribe(self) -> None:
        """Let the query go; `subscribe` can follow it again.  Raises ConnectionLost where nobody confirms it."""
        live, self.live = self.live, None
        if live is not None and self._subscriber is not None:
            self._subscriber.unsubscribe(live)

    def close(self) -> None:
        """Close the connection."""
        if self._subscriber is not None:
            self._subscriber.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncConsumer(Callbacks):
    """`Consumer` for asyncio; the callbacks may be coroutine functions."""

    def __init__(  # noqa: PLR0913 - nearly all are keywords
        self,
        profile: Profile | str | PathLike[str],
        query_id: str,
        *,
        alias: str | None = None,
        settings: ClientSettings | None = None,
        authorization: Authorization | None = None,
        identity: str | None = None,
        **callbacks: Any,
    ) -> None:
        super().__init__(**callbacks)
        self._application = Application(profile)
        self._query_id = query_id
        self._alias = alias
        self._settings = self._application.settings(settings)
        self._authorization = self._application.authorization(authorization, identity, self._settings)
        self._subscriber: AsyncSubscriber | None = None
        self.live: LiveQuery | None = None

    async def subscribe(self, values: Mapping[str, object] | None = None, /, **bindings: object) -> LiveQuery:
        """As `Consumer.subscribe`."""
        to = self._application.subscription(self._query_id, {**(values or {}), **bindings})
        await self.unsubscribe()
        if self._subscriber is None:
            self._subscriber = AsyncSubscriber(
                to.url, settings=self._settings, authorization=self._authorization
            )
        self.live = await self._subscriber.follow(to.operation, self._alias or self._query_id, self)
        return self.live

    async def unsubscribe(self) -> None:
        """As `Consumer.unsubscribe`."""
        live, self.live = self.live, None
        if live is not None and self._subscriber is not None:
            await self._subscriber.unsubscribe(live)

    async def close(self) -> None:
        """As `Consumer.close`."""
        if self._subscriber is not None:
            await self._subscriber.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
