"""Publishers to a stream: `StreamPublisher` blocks, `AsyncStreamPublisher` is for asyncio.

A server answers when it has taken the items, before anybody has got them.  For many small items without waiting for
each answer there is `continuous.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from triplewire.clients.exchange import AsyncHttpDriver, HttpDriver

from .addresses import published_url
from .publishing import PublishFlows
from .settings import StreamSettings

if TYPE_CHECKING:
    from typing import Self

    import httpx

    from triplewire.broker.wire.items import Item
    from triplewire.clients.authorization import Authorization


class StreamPublisher:
    """Sends items to one stream, on connections that are kept; threads may share it.

    `url` is the stream's (`http://localhost:8001/events`); `compressed` sends gzip, `as_json` JSON.
    """

    def __init__(  # noqa: PLR0913 - all but one are keywords
        self,
        url: str,
        *,
        settings: StreamSettings | None = None,
        authorization: Authorization | None = None,
        as_json: bool = False,
        compressed: bool = False,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        settings = settings or StreamSettings()
        self._url = published_url(url)
        self._flows = PublishFlows(settings, authorization, as_json=as_json, compressed=compressed)
        self._driver = HttpDriver(settings, transport=transport)

    def publish(self, *items: Item) -> None:
        """Send them in their order; returns when they have been taken.

        Items of one POST (`post_items`, `post_bytes`) are taken all or none.

        Raises:
            BrokerRefused: the server's own error; POSTs before that one were taken.
            ConnectionLost: it can't be reached, or gave no answer: they may have been taken.
                To publish the same items again is harmless as long as the server's history has their ids.
        """
        self._driver.run(self._flows.publish(self._url, items))

    def close(self) -> None:
        """Close the connections."""
        self._driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncStreamPublisher:
    """`StreamPublisher` for asyncio."""

    def __init__(  # noqa: PLR0913 - all but one are keywords
        self,
        url: str,
        *,
        settings: StreamSettings | None = None,
        authorization: Authorization | None = None,
        as_json: bool = False,
        compressed: bool = False,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        settings = settings or StreamSettings()
        self._url = published_url(url)
        self._flows = PublishFlows(settings, authorization, as_json=as_json, compressed=compressed)
        self._driver = AsyncHttpDriver(settings, transport=transport)

    async def publish(self, *items: Item) -> None:
        """As `StreamPublisher.publish`."""
        await self._driver.run(self._flows.publish(self._url, items))

    async def close(self) -> None:
        """As `StreamPublisher.close`."""
        await self._driver.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
