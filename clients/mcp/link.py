"""One caller's connections to the broker: HTTP for queries, updates and streams, and a WebSocket for subscriptions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from triplewire.broker.errors import BrokerMisbehaved, ProtocolError
from triplewire.broker.wire.item_json import encode_object
from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.media import N_TRIPLES, TSV, essence
from triplewire.clients.async_subscriber import AsyncSubscriber
from triplewire.clients.exchange import AsyncHttpDriver
from triplewire.clients.flows import Call, SparqlFlows

from .errors import ToolRefused
from .rows import CutAnswer, fitting

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.broker.model import Query, Update
    from triplewire.clients.application import Addressed
    from triplewire.clients.authorization import Authorization
    from triplewire.clients.callbacks import Callbacks
    from triplewire.clients.flows import Flow, Reply
    from triplewire.clients.live_query import LiveQuery
    from triplewire.clients.settings import ClientSettings

    from .limits import Limits

_ANSWERS = f"{TSV.media_type}, {N_TRIPLES.media_type};q=0.9"
_CATALOGUE = "application/ld+json"
_ITEMS = "application/ztreamy-stream"


class _Flows(SparqlFlows):
    """And those of streams, whose answers are read piece by piece."""

    def get(self, url: str, accept: str, params: tuple[tuple[str, str], ...] = ()) -> Flow[Reply]:
        """The answer to a GET, to be read piece by piece."""
        return (yield from self._exchange(Call("GET", url, params, safe=True, streamed=True), accept))


class Link:
    """Asks and changes a broker as one caller; `on_lost` and `on_back` hear of a WebSocket, by its URL."""

    def __init__(
        self,
        settings: ClientSettings,
        authorization: Authorization | None,
        limits: Limits,
        *,
        on_lost: Callable[[str], None],
        on_back: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._authorization = authorization
        self._limits = limits
        self._on_lost = on_lost
        self._on_back = on_back
        self._flows = _Flows(settings, authorization)
        self._driver = AsyncHttpDriver(settings)
        self._subscribers: dict[str, AsyncSubscriber] = {}  # by URL: a profile names a few

    async def query(self, to: Addressed[Query], rows: int) -> dict[str, Any]:
        """The answer, cut where it is long; raises ClientError."""
        reply = await self._driver.run(self._flows.download(to.url, to.operation, _ANSWERS))
        media_type = essence(reply.headers.get("content-type"))
        if media_type not in {TSV.media_type, N_TRIPLES.media_type}:
            await reply.stream.aclose()
            raise BrokerMisbehaved(f"the answer is neither TSV nor N-Triples, but {media_type or 'untyped'}")
        answer = CutAnswer(self._limits, rows, triples=media_type == N_TRIPLES.media_type)
        whole = await self._read(reply, answer.feed)
        return answer.document(whole=whole)

    async def update(self, to: Addressed[Update]) -> None:
        """Make an update, by the method that its address wants; raises ClientError."""
        await self._driver.run(self._flows.update(to.url, to.operation, to.method))

    async def follow(self, to: Addressed[Query], callbacks: Callbacks) -> LiveQuery:
        """Subscribe; raises ClientError."""
        if to.url not in self._subscribers:
            self._subscribers[to.url] = AsyncSubscriber(
                to.url,
                settings=self._settings,
                authorization=self._authorization,
                on_disconnect=lambda _: self._on_lost(to.url),
                on_reconnect=lambda _: self._on_back(to.url),
            )
        return await self._subscribers[to.url].follow(to.operation, None, callbacks)

    async def leave(self, url: str, live: LiveQuery) -> None:
        """Unsubscribe; raises ConnectionLost where nobody confirms it."""
        subscriber = self._subscribers.get(url)
        if subscriber is not None:
            await subscriber.unsubscribe(live)

    async def streams(self, base: str) -> list[dict[str, Any]]:
        """What the stream port at `base` has; raises ClientError."""
        data = await self._get(f"{base}/streams", _CATALOGUE)
        try:
            return [_stream(dataset) for dataset in json.loads(data)["dcat:dataset"]]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise BrokerMisbehaved(f"{base}/streams is no catalogue of streams") from error

    async def items(self, base: str, name: str, count: int, last_seen: str | None) -> dict[str, Any]:
        """The newest items of a stream that are kept, or those behind `last_seen`; raises ClientError."""
        params: tuple[tuple[str, str], ...] = (("past-events-limit", str(count)), ("non-blocking", "1"))
        params += (("last-seen", last_seen),) if last_seen else ()
        data = await self._get(f"{base}/{quote(name, safe='')}/long-polling", _ITEMS, params)
        reader = ItemReader()
        try:
            items = [*reader.feed(data), *reader.finish()]
        except ProtocolError as error:
            raise BrokerMisbehaved(f"the stream's items can't be read: {error}") from error
        newest_first = [json.loads(encode_object(item)) for item in reversed(items)]
        kept, _ = fitting(newest_first, count, self._limits.answer_bytes)
        document: dict[str, Any] = {"items": kept[::-1], "count": len(items)}
        if len(kept) < len(items):
            document["note"] = f"Cut: the newest {len(kept)} of {len(items)} items fit; ask for fewer."
        return document

    async def close(self) -> None:
        """Close every connection; what is subscribed ends with it."""
        for subscriber in tuple(self._subscribers.values()):
            await subscriber.close()
        await self._driver.close()

    async def _get(self, url: str, accept: str, params: tuple[tuple[str, str], ...] = ()) -> bytes:
        reply = await self._driver.run(self._flows.get(url, accept, params))
        data = bytearray()

        def take(chunk: bytes) -> bool:
            data.extend(chunk)
            return len(data) <= self._limits.scanned_bytes

        if not await self._read(reply, take):
            raise ToolRefused(
                f"{url} has more than the {self._limits.scanned_bytes} bytes that are read; ask for fewer"
            )
        return bytes(data)

    async def _read(self, reply: Reply, take: Callable[[bytes], bool]) -> bool:
        """Give the body to `take` while it wants more; whether that was all of it."""
        chunks = self._driver.chunks(reply)
        try:
            async for chunk in chunks:
                if not take(chunk):
                    return False
        finally:
            await chunks.aclose()
            await reply.stream.aclose()
        return True


def _stream(dataset: dict[str, Any]) -> dict[str, Any]:
    times = dataset.get("dct:temporal", {})
    return {
        "name": dataset["@id"].rpartition("/")[2],
        "title": dataset["dct:title"],
        "kind": dataset["dct:type"],
        "items_per_second": dataset["tw:itemsPerSecond"],
        "items_kept": dataset["tw:itemsKept"],
        "oldest": times.get("dcat:startDate"),
        "newest": times.get("dcat:endDate"),
        "url": f"{dataset['@id']}/stream",
    }
