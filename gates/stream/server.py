"""The stream port: who may come in, what is asked for, and who follows.

It serves feeds, wherever they are: in this process, or copies of those of another.  On the event loop only.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING, TypeAlias

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

from .fanout import Fanout
from .lanes import LaneKey
from .lapses import Lapses
from .polls import Poll, Polls, polled
from .protocol import Connection
from .publishing import Publishing
from .requests import ACCESSES
from .responses import failure, preflight, stream_head, whole
from .sockets import listening

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

    from triplewire.broker.config import LimitsConfig, StreamGateConfig
    from triplewire.broker.rights import Access
    from triplewire.broker.security.authority import Judge

    from .bodies import Body
    from .consumers import Consumer
    from .feed import Feed
    from .requests import StreamRequest, Target

    # Feeds by what a URL's parameters choose of them.
    Select: TypeAlias = Callable[[Feed, tuple[tuple[str, str], ...]], Feed]
    # The list of streams: its media type and its bytes, for a client that may follow these, by its Accept.
    Directory: TypeAlias = Callable[[Access, StreamRequest], tuple[str, bytes]]

log = logging.getLogger("triplewire.gates.stream")

BACKLOG = 4096
_SWEEP_S = 1.0
_GRACE_S = 2.0  # that consumers have to read the end of their response
_READS = frozenset({"stream", "compressed", "priority", "long-polling"})


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
        directory: Directory | None = None,
    ) -> None:
        self.config = config
        self.consumers = 0  # who follow
        self.shed = 0  # how often there were too many
        self.skipped = 0  # how often one had too much unread, in fan-outs that are gone
        self._feeds = feeds
        self._authority = authority
        self._select = select
        self._directory = directory
        self._publishing = Publishing(config, limits.bodies_bytes)
        self._connections: dict[Connection, None] = {}
        self._most_connections = limits.sockets
        self._readers: dict[tuple[Feed, str], Fanout | Polls] = {}
        self._listeners: list[asyncio.Server] = []
        self._sweeping: asyncio.TimerHandle | None = None
        self._lapses = Lapses(authority)
        self._unlisten: Callable[[], None] | None = None
        self._judging: asyncio.Task[None] | None = None
        self._closing = False

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
        for reader in tuple(self._readers.values()):
            reader.end()
        loop = asyncio.get_running_loop()
        until = loop.time() + _GRACE_S
        while self.consumers and loop.time() < until:  # noqa: ASYNC110 - with a limit, and once in a life
            await asyncio.sleep(0.01)
        for reader in tuple(self._readers.values()):
            reader.cut()
        for connection in tuple(self._connections):
            connection.cut()
        await asyncio.sleep(0)

    @staticmethod
    def now() -> float:
        """See `protocol.Server`."""
        return asyncio.get_running_loop().time()

    def opened(self, connection: Connection) -> None:
        """See `protocol.Server`.

        Raises:
            Overloaded: there are as many as may be.
        """
        self._connections[connection] = None
        if self._closing:
            raise ShuttingDown("the broker is ending")
        if len(self._connections) > self._most_connections:
            self.shed += 1
            raise Overloaded("too many connections (limits.sockets)")
        opened = connection.transport.get_extra_info("socket")
        if opened is not None and opened.family != socket.AF_UNIX:
            # A peer that has gone without a word is noticed, if nothing is sent to it for hours
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def closed(self, connection: Connection) -> None:
        """See `protocol.Server`."""
        self._connections.pop(connection, None)

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
        return failure(error, keep_alive=connection.may_stay, head_only=request.method == "HEAD")

    async def _answered(self, connection: Connection, request: StreamRequest, body: Body) -> bytes | None:
        """The response; None where it is one that goes on, or waits."""
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
            return self._read(connection, request, access, self._followed(access, target))
        feed = self._published(access, target)
        publish = self._publishing.publish if target.access == "publish" else self._publishing.publish_on
        await publish(feed, request, body, access.client)
        return whole(200, keep_alive=connection.may_stay)

    async def _access(self, request: StreamRequest) -> Access:
        return await access_of(self._authority, request.token())

    def _followed(self, access: Access, target: Target) -> Feed:
        access.need(Scope.SUBSCRIBE)
        if not access.rights.may_follow(target.stream):
            raise Forbidden(f"the token is not for following {target.stream}")
        return self._feed(target)

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

    def _read(
        self, connection: Connection, request: StreamRequest, access: Access, feed: Feed
    ) -> bytes | None:
        conditions = request.conditions()
        if conditions and self._select is not None:
            feed = self._select(feed, conditions)
        if request.target().access == "long-polling":
            return self._poll(connection, request, feed)
        return self._follow(connection, request, access, feed)

    def _follow(
        self, connection: Connection, request: StreamRequest, access: Access, feed: Feed
    ) -> bytes | None:
        past, target = request.past(), request.target()
        now = target.access == "priority"
        form = request.form()
        plain = now or (target.access == "stream" and (form.alone or not request.takes_deflate))
        key = LaneKey(form, deflate=not plain, framed=request.framed)
        if request.method == "HEAD":
            return stream_head(key.form, deflate=key.deflate, framed=key.framed)
        if connection.lost:
            raise ClientGone
        if self._closing:
            raise ShuttingDown("the broker is ending")
        if self.consumers >= self.config.consumers:
            self.shed += 1
            raise Overloaded("as many follow as may (stream.consumers)")
        fanout = self._readers.get((feed, target.access if now else "stream"))
        if not isinstance(fanout, Fanout):
            fanout = Fanout(feed, self.config, self._left, now=now)
            self._readers[feed, "priority" if now else "stream"] = fanout
        self.consumers += 1
        consumer = fanout.follow(connection.leave(), key, past)
        self._lapses.hold(consumer, request.token(), access, target.stream)
        return None

    def _poll(self, connection: Connection, request: StreamRequest, feed: Feed) -> bytes | None:
        past = request.past()
        batch = feed.history.replay(past.last_seen, past.limit)
        json, gzip = request.takes_json, request.takes_gzip
        if len(batch) or request.non_blocking or request.method == "HEAD" or self._closing:
            return polled(
                batch,
                json=json,
                gzip=gzip,
                keep_alive=connection.may_stay,
                head_only=request.method == "HEAD",
            )
        if connection.lost:
            raise ClientGone
        polls = self._readers.get((feed, "long-polling"))
        if not isinstance(polls, Polls):
            polls = self._readers[feed, "long-polling"] = Polls(feed, self._polled)
        polls.wait(Poll(polls, connection, json, gzip, self.now()))
        return None

    async def _list(self, directory: Directory, connection: Connection, request: StreamRequest) -> bytes:
        if request.method not in {"GET", "HEAD"}:
            raise MethodNotAllowed("the list of streams can be read only", allow=("GET", "HEAD"))
        media_type, body = directory(await self._access(request), request)
        headers = [("Vary", "Accept"), ("Cache-Control", "no-cache")]
        head_only = request.method == "HEAD"
        return whole(200, body, media_type, headers, keep_alive=connection.may_stay, head_only=head_only)

    def _left(self, fanout: Fanout, consumer: Consumer) -> None:
        self.consumers -= 1
        self._lapses.drop(consumer)
        self._drop(fanout)

    def _polled(self, polls: Polls) -> None:
        self._drop(polls)

    def _drop(self, reader: Fanout | Polls) -> None:
        """Nobody reads it any more: let go of it, so that a selection, or a closed stream, can be, too."""
        if len(reader):
            return
        reader.stop()
        kind = "long-polling" if isinstance(reader, Polls) else "priority" if reader.now else "stream"
        if self._readers.get((reader.feed, kind)) is reader:
            del self._readers[reader.feed, kind]
        if isinstance(reader, Fanout):
            self.skipped += reader.skipped

    def _changed(self) -> None:
        if len(self._lapses):
            self._judging = asyncio.get_running_loop().create_task(self._lapses.judge_again())

    def _sweep(self) -> None:
        """Cut those who say nothing in time, and answer those who have polled for too long."""
        now = self.now()
        self._sweeping = asyncio.get_running_loop().call_later(_SWEEP_S, self._sweep)
        for connection in tuple(self._connections):
            if connection.deadline < now:
                connection.cut()
        self._lapses.expire()
        for reader in tuple(self._readers.values()):
            if isinstance(reader, Polls):
                reader.expire(now - self.config.poll_s)
