"""The stream port: who may come in, what is asked for, and who follows.

It serves feeds, wherever they are: in this process, or copies of those of another.  On the event loop only.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, TypeAlias

from triplewire.broker import meters
from triplewire.broker.errors import (
    BrokerError,
    EngineError,
    Forbidden,
    MethodNotAllowed,
    NotFound,
    Overloaded,
    ShuttingDown,
)
from triplewire.broker.rights import Scope
from triplewire.broker.security.authority import access_of
from triplewire.gates.http.request import ClientGone
from triplewire.gates.quotas import Quotas

from .accounts import Hold, OwnAccounts
from .connections import Connections
from .lapses import Lapses
from .paying import Paying
from .polls import polled
from .protocol import Connection
from .publishing import Publishing
from .readers import Readers
from .requests import ACCESSES
from .responses import failure, preflight, whole
from .sockets import listening
from .ways import head_of, way_of

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Awaitable, Callable, Mapping

    from triplewire.broker.config import LimitsConfig, StreamGateConfig
    from triplewire.broker.rights import Access
    from triplewire.broker.security.authority import Judge

    from .accounts import Accounts
    from .bodies import Body
    from .feed import Feed
    from .requests import StreamRequest, Target
    from .ways import Way

    # Feeds by what a URL's parameters choose of them.
    Select: TypeAlias = Callable[[Feed, tuple[tuple[str, str], ...]], Feed]
    # Returns when that can be had at once.
    Prepare: TypeAlias = Callable[[Feed, tuple[tuple[str, str], ...]], Awaitable[None]]
    # The list of streams: its media type and its bytes, for a client that may follow these, by its Accept and
    # the scheme (http, https) that it has come by.
    Directory: TypeAlias = Callable[[Access, StreamRequest, str], tuple[str, bytes]]

log = logging.getLogger("triplewire.gates.stream")

BACKLOG = 4096
_SWEEP_S = 1.0
_GRACE_S = 2.0  # that consumers have to read the end of their response
_READS = frozenset({"stream", "compressed", "priority", "long-polling"})
# One poll is answered with so many items at most, unless it says how many it wants; who polls again gets the next ones.
_POLLED = 2048
_PUBLISHES = ("/publish", "/publish-cont")


class StreamServer:
    """See above.  `feeds` are looked up at each request, so they may change."""

    def __init__(  # noqa: PLR0913 - all that it depends on
        self,
        feeds: Mapping[str, Feed],
        authority: Judge,
        limits: LimitsConfig,
        config: StreamGateConfig,
        *,
        select: Select | None = None,
        prepare: Prepare | None = None,
        directory: Directory | None = None,
        accounts: Accounts | None = None,
    ) -> None:
        """`accounts`: the quotas that clients have; those of `limits`, for this port alone, without any."""
        self.config = config
        self._feeds = feeds
        self._authority = authority
        self._select = select
        self._prepare = prepare
        self._directory = directory
        self._accounts = accounts or OwnAccounts(Quotas(limits), limits)
        self._publishing = Publishing(config, limits.bodies_bytes)
        self._connections = Connections(limits, self._accounts)
        self._listeners: list[asyncio.Server] = []
        self._sweeping: asyncio.TimerHandle | None = None
        self._lapses = Lapses(authority)
        self._readers = Readers(config, self._lapses)
        self._unlisten: Callable[[], None] | None = None
        self._judging: asyncio.Task[None] | None = None
        self._closing = False

    @property
    def consumers(self) -> int:
        """How many follow."""
        return self._readers.consumers

    @property
    def shed(self) -> int:
        """How often there were too many."""
        return self._connections.shed + self._readers.shed

    @property
    def skipped(self) -> int:
        """How often a consumer had too much unread."""
        return self._readers.skipped_in_all

    @property
    def lanes(self) -> int:
        """How many ways of reading a stream there are that somebody reads in."""
        return self._readers.lanes

    async def start(
        self, *, sockets: list[socket.socket] | None = None, tls: ssl.SSLContext | None = None
    ) -> list[int]:
        """Listen on these sockets, or on those of the configuration; the ports.

        Raises:
            OSError: that can't be listened on.
        """
        loop = asyncio.get_running_loop()
        if sockets is None:
            sockets = listening(self.config.host, self.config.port)
        for listener in sockets:
            opened = await loop.create_server(
                lambda: Connection(self), sock=listener, backlog=BACKLOG, ssl=tls
            )
            self._listeners.append(opened)
        if self._sweeping is None:  # it may listen on more
            self._sweeping = loop.call_later(_SWEEP_S, self._sweep)
            self._unlisten = self._authority.listen(self._changed)
        return [listener.getsockname()[1] for listener in sockets]

    def refuse(self) -> None:
        """Take nobody in any more: 503, as clients go away for ever where there is no stream."""
        self._closing = True

    async def close(self) -> None:
        """Take nobody in, and end all responses: clients come back with what they have seen."""
        self._closing = True
        for listener in self._listeners:
            listener.close()
        if self._sweeping is not None:
            self._sweeping.cancel()
        if self._unlisten is not None:
            self._unlisten()
        if self._judging is not None:
            self._judging.cancel()
        self._readers.end()
        loop = asyncio.get_running_loop()
        until = loop.time() + _GRACE_S
        while self.consumers and loop.time() < until:  # noqa: ASYNC110 - with a limit, and once in a life
            await asyncio.sleep(0.01)
        self._readers.cut()
        self._connections.cut()
        await asyncio.sleep(0)

    @staticmethod
    def now() -> float:
        """See `protocol.Server`."""
        return asyncio.get_running_loop().time()

    def opened(self, connection: Connection) -> None:
        """See `protocol.Server`.

        Raises:
            Overloaded: there are as many as may be, or the broker is ending.
        """
        self._connections.add(connection)
        if self._closing:
            raise ShuttingDown("the broker is ending")

    def closed(self, connection: Connection) -> None:
        """See `protocol.Server`."""
        self._connections.remove(connection)

    async def serve(self, connection: Connection, request: StreamRequest, body: Body) -> None:
        """See `protocol.Server`."""
        try:
            answer = await self._answered(connection, request, body)
        except ClientGone:
            connection.cut()
            return
        except BrokerError as error:
            answer = self._failed(connection, request, error)
        except Exception:
            log.exception("! %s %s", request.method, request.path)
            answer = self._failed(connection, request, EngineError("internal error; the log has more"))
        if answer is not None:
            connection.answer(answer)

    def _failed(self, connection: Connection, request: StreamRequest, error: BrokerError) -> bytes:
        log.info("! %s %s %d %s", request.method, request.path, error.status, error.description)
        meters.refused("stream", error.status)
        return failure(
            error,
            keep_alive=connection.may_stay,
            head_only=request.method == "HEAD",
            publishing=request.path.endswith(_PUBLISHES),
        )

    async def _answered(self, connection: Connection, request: StreamRequest, body: Body) -> bytes | None:
        """The response; None where it is one that goes on, or waits."""
        if connection.place is not None:
            await connection.place.sure()
        await self._charge("", connection.address)
        if request.path in {"/streams", "/streams/"} and self._directory is not None:
            return await self._list(self._directory, connection, request)
        target = request.target()
        allow = ACCESSES[target.access]
        if request.method == "OPTIONS":
            return preflight(allow, keep_alive=connection.may_stay)
        if request.method not in allow:
            raise MethodNotAllowed(f"{request.method} is not for this path", allow=allow)
        access = await self._access(request)
        if target.access in _READS:
            return await self._read(connection, request, access)
        feed = self._published(access, target)
        paying = Paying(self._accounts, access.client, connection, body)
        try:
            if target.access == "publish":
                await self._publishing.publish(feed, request, body, access.client)
            else:
                await self._publishing.publish_on(feed, request, body, access.client, paying.came)
        finally:
            paying.settle()
        return whole(200, keep_alive=connection.may_stay)

    async def _access(self, request: StreamRequest) -> Access:
        access = await access_of(self._authority, request.token())
        await self._charge(access.client, None)
        return access

    async def _charge(self, client: str, address: str | None) -> None:
        """One more request; raises TooManyRequests."""
        asked = self._accounts.request(client, address)
        if asked is not None:
            await asked

    def _followed(self, request: StreamRequest) -> Feed:
        """What of a stream it asks for."""
        feed, conditions = self._feed(request.target()), request.conditions()
        if feed.absent:
            raise Overloaded(f"the others that have the stream {feed.name:.100} are not reached")
        return self._select(feed, conditions) if conditions and self._select is not None else feed

    def _published(self, access: Access, target: Target) -> Feed:
        access.need(Scope.PUBLISH)
        if not access.rights.may_publish(target.stream):
            raise Forbidden(f"the token is not for publishing to {target.stream}")
        return self._feed(target)

    def _feed(self, target: Target) -> Feed:
        if self._closing:
            raise ShuttingDown("the broker is ending")
        feed = self._feeds.get(target.stream)
        if feed is None or feed.closed:
            raise NotFound(f"there is no stream {target.stream:.100}")
        return feed

    async def _read(self, connection: Connection, request: StreamRequest, access: Access) -> bytes | None:
        target = request.target()
        access.need(Scope.SUBSCRIBE)
        if not access.rights.may_follow(target.stream):
            raise Forbidden(f"the token is not for following {target.stream}")
        conditions = request.conditions()
        if conditions and self._prepare is not None:
            await self._prepare(self._feed(target), conditions)
        if target.access == "long-polling" and not request.websocket:
            return self._poll(connection, request, self._followed(request))
        way = way_of(request)
        if request.method == "HEAD":
            return head_of(way, self._followed(request), request.past())
        client, address = access.client, connection.address
        if not self._accounts.counts(client, address):
            self._follow(connection, request, access, way)
            return None
        place = Hold(self._accounts, ("subscriptions", client, address))
        try:
            await place.sure()
            self._follow(connection, request, access, way, place)
        except BaseException:
            place.give()
            raise
        return None

    def _follow(
        self, connection: Connection, request: StreamRequest, access: Access, way: Way, *places: Hold
    ) -> None:
        feed, past, target = self._followed(request), request.past(), request.target()
        if connection.lost:
            raise ClientGone
        self._readers.check()
        now = target.access == "priority"
        way = way._replace(head=head_of(way, feed, past))
        consumer = self._readers.follow(connection, feed, way, past, now=now, places=places)
        self._lapses.hold(consumer, request.token(), access, target.stream)

    def _poll(self, connection: Connection, request: StreamRequest, feed: Feed) -> bytes | None:
        past = request.past()
        batch = feed.history.replay(
            past.last_seen,
            past.limit,
            overlap_s=past.overlap_s or 0.0,
            away_s=past.away_s,
            most=_POLLED if past.limit is None else None,
        )
        json, gzip = request.takes_json, request.takes_gzip
        if len(batch) or request.non_blocking or request.method == "HEAD" or self._closing:
            feed.followed(1)  # it is back soon, for what comes meanwhile
            feed.followed(-1)
            return polled(
                batch,
                json=json,
                gzip=gzip,
                keep_alive=connection.may_stay,
                head_only=request.method == "HEAD",
            )
        if connection.lost:
            raise ClientGone
        self._readers.wait(connection, feed, self.now(), json=json, gzip=gzip)
        return None

    async def _list(self, directory: Directory, connection: Connection, request: StreamRequest) -> bytes:
        if request.method not in {"GET", "HEAD"}:
            raise MethodNotAllowed("the list of streams can be read only", allow=("GET", "HEAD"))
        scheme = "http" if connection.transport.get_extra_info("sslcontext") is None else "https"
        media_type, body = directory(await self._access(request), request, scheme)
        headers = [("Vary", "Accept"), ("Cache-Control", "no-cache")]
        head_only = request.method == "HEAD"
        return whole(200, body, media_type, headers, keep_alive=connection.may_stay, head_only=head_only)

    def _changed(self) -> None:
        if len(self._lapses):
            self._judging = asyncio.get_running_loop().create_task(self._lapses.judge_again())

    def _sweep(self) -> None:
        """Cut those who say nothing in time, answer those who have polled for too long, and end what should not be followed."""
        now = self.now()
        self._sweeping = asyncio.get_running_loop().call_later(_SWEEP_S, self._sweep)
        self._connections.expire(now)
        self._lapses.expire()
        self._readers.expire(now - self.config.poll_s)
        self._readers.end_absent()
