"""Publishing: one request with items, all of which are taken or none, or one that never ends (facts 1.8)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol, TypeAlias

from triplewire.broker.errors import MalformedRequest, Overloaded, RequestTooLarge, UnsupportedMediaType
from triplewire.broker.wire.item_bodies import check_body
from triplewire.broker.wire.item_json import LineReader, decode_json
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import PUBLISHED, Item, ItemError, ItemLimits
from triplewire.gates.http.inflating import Inflating

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from triplewire.broker.config import StreamGateConfig
    from triplewire.broker.wire.items import Item

    from .bodies import Body
    from .feed import Feed
    from .requests import StreamRequest

    Came: TypeAlias = Callable[[int], Awaitable[None]]

# `text/plain` and the like are 400 as in Ztreamy; the 0.1 name is read as well, as nothing else can be meant by it.
_ITEMS = frozenset({"application/ztreamy-event", "application/x-ztreamy-event", "application/ztreamy-stream"})
_JSON = "application/json"
_LINES = frozenset({"application/x-ldjson", "application/x-ndjson"})
# What is read between two looks at what else there is to do, and at a publisher's account.
_PIECE = _COUNTED = 64 * 1024


class Reader(Protocol):
    """Items from bytes, whatever pieces they come in; `error` is what is wrong behind the last of them."""

    error: ItemError | None

    def feed(self, data: bytes) -> list[Item]:
        """The items that end within `data`."""

    def finish(self) -> list[Item]:
        """No bytes follow."""


class JsonReader:
    """Items from one JSON document, which is read when it is whole."""

    def __init__(self, limits: ItemLimits) -> None:
        self._limits = limits
        self._data = bytearray()
        self.error: ItemError | None = None

    def feed(self, data: bytes) -> list[Item]:
        """Nothing yet."""
        self._data += data
        return []

    def finish(self) -> list[Item]:
        """All of them; an empty body has none.

        Raises:
            ItemError: it is no JSON, or has no items in it.
        """
        return decode_json(bytes(self._data), self._limits) if self._data.strip() else []


class Held:
    """The bytes of all requests that are read and not answered; at most `most`, or one request's."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.size = 0

    def hold(self, size: int) -> None:
        """So much more.

        Raises:
            Overloaded: all together would be too much.
        """
        if self.size and self.size + size > self._most:
            raise Overloaded(f"what is being published is over {self._most} bytes (limits.bodies_bytes)")
        self.size += size


class Publishing:
    """The accesses publish and publish-cont."""

    def __init__(self, config: StreamGateConfig, bodies_bytes: int) -> None:
        self._config = config
        self._limits = ItemLimits(body_bytes=min(config.item_bytes, PUBLISHED.body_bytes))
        self._held = Held(bodies_bytes)

    async def publish(self, feed: Feed, request: StreamRequest, body: Body, publisher: str) -> None:
        """Take all items of a request, or none; those who follow are sent them later.

        Raises:
            BrokerError: why not.
            ClientGone: the client left before the request was whole.
        """
        reader = self._reader(request, continuous=False)
        items: list[Item] = []
        held = 0
        try:
            async for data in self._inflated(request, body):
                held += len(data)
                if held > self._config.body_bytes:
                    raise RequestTooLarge(
                        f"the body is over {self._config.body_bytes} bytes (stream.body_bytes)"
                    )
                self._held.hold(len(data))
                items += reader.feed(data)
            items += reader.finish()
            for item in items:
                check_body(item)
            if items:
                await feed.publish(items, publisher)
        except ItemError as error:
            raise MalformedRequest(str(error)) from error
        finally:
            self._held.size -= min(held, self._held.size)

    async def publish_on(
        self, feed: Feed, request: StreamRequest, body: Body, publisher: str, came: Came
    ) -> None:
        """Take items as they come, until the request ends, or has something that is none.

        `came` is told how many bytes have come now and then, and may take its time.

        Raises:
            BrokerError: why not; what came before that was taken.
            ClientGone: the client left; so was what it sent whole.
        """
        reader = self._reader(request, continuous=True)
        counted = 0
        try:
            async for data in self._inflated(request, body):
                await self._take(feed, reader.feed(data), publisher)
                if reader.error is not None:
                    raise reader.error
                if body.size - counted >= _COUNTED:
                    size, counted = body.size - counted, body.size
                    await came(size)
            await self._take(feed, reader.finish(), publisher)
        except ItemError as error:
            raise MalformedRequest(str(error)) from error

    @staticmethod
    async def _take(feed: Feed, items: list[Item], publisher: str) -> None:
        """Those before one whose body would end its readers; raises ItemError for that one."""
        wrong: ItemError | None = None
        for number, item in enumerate(items):
            try:
                check_body(item)
            except ItemError as error:
                items, wrong = items[:number], error
                break
        if items:
            await feed.publish(items, publisher)
        if wrong is not None:
            raise wrong

    def _reader(self, request: StreamRequest, *, continuous: bool) -> Reader:
        media_type = request.media_type
        if media_type in _ITEMS:
            return ItemReader(self._limits)
        if media_type in _LINES:
            return LineReader(self._limits)
        if media_type == _JSON and not continuous:
            return JsonReader(self._limits)
        said = f"{media_type:.100} is not read here" if media_type else "the Content-Type is missing"
        other = "application/x-ldjson" if continuous else _JSON
        name = "application/ztreamy-stream" if continuous else "application/ztreamy-event"
        # Ztreamy answers 400, and its clients know no other
        raise MalformedRequest(f"{said}: {name} and {other} are", code=UnsupportedMediaType.code)

    @staticmethod
    async def _inflated(request: StreamRequest, body: Body) -> AsyncIterator[bytes]:
        """The body without its content coding, in pieces that are little work; others have their turn between them."""
        coding = request.headers.get("content-encoding", "identity").strip().lower()
        inflating = None if coding in {"", "identity"} else Inflating(coding)
        async for data in body.pieces():
            if inflating is None:
                for start in range(0, len(data), _PIECE):
                    if start:
                        await asyncio.sleep(0)
                    yield data[start : start + _PIECE]
            else:
                for piece in inflating.pieces(data):
                    yield piece
                    await asyncio.sleep(0)
        if inflating is not None:
            inflating.finish()
