"""Consumers of a stream: `StreamConsumer` blocks, `AsyncStreamConsumer` is for asyncio."""

from __future__ import annotations

from random import SystemRandom
from typing import TYPE_CHECKING, Any

from .addresses import followed_url
from .driver import AsyncFollowDriver, FollowDriver
from .following import Following, Told
from .last_seen import LastSeen, LastSeenFile
from .settings import StreamSettings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Iterable
    from os import PathLike
    from typing import Self

    import httpx

    from triplewire.broker.errors import ClientError
    from triplewire.broker.wire.items import Item
    from triplewire.clients.authorization import Authorization

    from .following import Gap


class _Consuming:
    """What both consumers are made from, and know."""

    def __init__(  # noqa: PLR0913 - all but one are keywords
        self,
        url: str,
        *others: str,
        settings: StreamSettings | None = None,
        authorization: Authorization | None = None,
        last_seen: str | LastSeen | None = None,
        state: str | PathLike[str] | None = None,
        compressed: bool = True,
        filters: Iterable[Callable[[Item], bool]] = (),
        on_gap: Callable[[Gap], object] | None = None,
        on_disconnect: Callable[[ClientError | None], object] | None = None,
        on_reconnect: Callable[[], object] | None = None,
        commands: bool = False,
        transport: httpx.BaseTransport | httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._settings = settings or StreamSettings()
        self._transport: Any = transport  # of the kind that the driver needs; for tests
        access = "compressed" if compressed else "stream"
        self._following = Following(
            [followed_url(each, access) for each in (url, *others)],
            self._settings,
            told=Told(tuple(filters), on_gap, on_disconnect, on_reconnect, commands),
            rng=SystemRandom(),
            authorization=authorization,
            last_seen=last_seen,
            state=LastSeenFile(state) if state is not None else None,
            compressed=compressed,
        )
        self._begin()

    def _begin(self) -> None:
        raise NotImplementedError

    @property
    def last_seen(self) -> str | None:
        """The id of the last item that has been dealt with."""
        return self._following.last_seen

    def done(self) -> None:
        """The item that came last has been dealt with.

        To ask for the next one says so, too: this is for whoever stops, or crashes, before that.
        """
        self._following.done()


class StreamConsumer(_Consuming):
    """Gives the items of a stream, each once and in order, over any number of connections.

    ::

        with StreamConsumer("http://localhost:8001/events", state="events.seen") as consumer:
            for item in consumer:
                print(item.body)

    `url` is the stream's, or one that ends in `/compressed`, `/stream` or `/priority`.  `filters` are functions of an
    item, `state` is a file where it is kept which item was the last, `last_seen` its id where there is no such file.
    With `commands`, `Event-Source-Started` and `Event-Source-Finished` are given like items, and so are the markers of
    gaps that a relay tells of.

    `url` can also be a tracker's, `http://tracker:8003/consume/events`, which sends us to a relay, and to another one when
    that dies, or refuses us; `others` are asked where it does not answer.  Another relay has the items of different
    publishers in another order: each is given once, and those of one publisher in order, all the same (`settings.overlap_s`).

    A lost or silent connection is opened again, after a while that grows with each attempt (`following.py` has what can
    be known of a gap, which `on_gap` is told).  Iterating raises BrokerRefused where the server answers 4xx,
    BrokerMisbehaved where it sends no items, and ConnectionLost where it can't be reached at first; of relays that a
    tracker named, where two do.
    """

    def _begin(self) -> None:
        self._driver = FollowDriver(self._settings, self._transport)

    def __iter__(self) -> Generator[Item]:
        for batch in self.batches():
            for item in batch:
                self._following.gives(item)
                yield item
                self._following.had()

    def batches(self) -> Generator[tuple[Item, ...]]:
        """The items, as many at a time as have come: to ask for more says that all of them have been dealt with."""
        return self._driver.items(self._following.flow())

    def close(self) -> None:
        """End the iteration, from any thread, and close the connection."""
        self._driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncStreamConsumer(_Consuming):
    """`StreamConsumer` for asyncio: `async with`, `async for`."""

    def _begin(self) -> None:
        self._driver = AsyncFollowDriver(self._settings, self._transport)

    async def __aiter__(self) -> AsyncGenerator[Item]:
        async for batch in self.batches():
            for item in batch:
                self._following.gives(item)
                yield item
                self._following.had()

    def batches(self) -> AsyncGenerator[tuple[Item, ...]]:
        """As `StreamConsumer.batches`."""
        return self._driver.items(self._following.flow())

    async def close(self) -> None:
        """End the iteration, also one in another task, and close the connection."""
        await self._driver.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
