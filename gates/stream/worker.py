"""A worker process: it listens on the stream port beside others, and serves copies of the streams.

Started by `workers.py` as `python -m triplewire.gates.stream.worker FD`, FD being its end of the channel.  It ends with the
main process, whatever becomes of that.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import logging
import resource
import signal
import socket
import sys
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import uvloop

from triplewire.broker.heap import give_back
from triplewire.broker.logs import configure
from triplewire.broker.rights import Scope
from triplewire.broker.security.authority import Nobody

from .accounts import AskedAccounts
from .channel import (
    Absent,
    Answer,
    Asking,
    Authorize,
    Begin,
    Came,
    Changed,
    Channel,
    Closed,
    Left,
    Opened,
    Ready,
    Refuse,
    Stats,
    Stop,
)
from .copied import Copy
from .directory import Directory
from .listeners import Listeners
from .selection import Selections
from .server import StreamServer
from .sockets import bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from triplewire.broker.rights import Access
    from triplewire.broker.security.authority import Judge

    from .requests import StreamRequest

_log = logging.getLogger("triplewire.gates.stream.worker")

_STATS_S = 1.0
_MOST_TOKENS = 10_000


class RemoteAuthority:
    """See `Authority`: what the main process said of a token holds until it expires, or anything has changed."""

    def __init__(
        self, asking: Asking, most: int = _MOST_TOKENS, now: Callable[[], float] = time.time
    ) -> None:
        self._asking = asking
        self._most = most
        self._now = now
        self._known: OrderedDict[bytes, Access] = OrderedDict()
        self._generation = 0
        self._listeners: Listeners[None] = Listeners()

    def known(self, token: str) -> Access | None:
        """See `Authority`."""
        key = _key(token)
        access = self._known.get(key)
        if access is None:
            return None
        if access.expires <= self._now():
            del self._known[key]
            return None
        self._known.move_to_end(key)
        return access

    async def access(self, token: str | None) -> Access:
        """See `Authority`.

        Raises:
            BrokerError: as the main process has it.
        """
        generation = self._generation
        access: Access = await self._asking.ask(Authorize(token))
        if token is not None and generation == self._generation:
            self._known[_key(token)] = access
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        return access

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        """See `Authority`."""
        return self._listeners.add(lambda _: changed())

    def changed(self) -> None:
        """Nothing of what was said holds any more."""
        self._generation += 1
        self._known.clear()
        self._listeners.tell(None)


class Worker:
    """What the messages of the main process do."""

    def __init__(self) -> None:
        self.ended = asyncio.get_running_loop().create_future()
        self.channel = Channel(self._on_message, self._on_lost)
        self._asking = Asking(self.channel)
        self._feeds: dict[str, Copy] = {}
        self._directory = Directory(self._feeds)  # until it is known who the trackers are
        self._authority = RemoteAuthority(self._asking)
        self._server: StreamServer | None = None
        self._task: asyncio.Task[None] | None = None

    def _on_message(self, message: Any) -> None:  # noqa: C901, PLR0912 - one arm a message
        match message:
            case Came(name, entries):
                if name in self._feeds:
                    self._feeds[name].came(entries)
            case Left(name, last):
                if name in self._feeds:
                    self._feeds[name].left(last)
            case Answer():
                self._asking.answered(message)
            case Opened(name):
                self._close(name)
                self._feeds[name] = Copy(message, self.channel, self._asking)
            case Closed(name):
                self._close(name)
            case Absent(names):
                for name, feed in self._feeds.items():
                    feed.absent = name in names
            case Changed():
                self._authority.changed()
            case Begin():
                self._task = asyncio.get_running_loop().create_task(self._begin(message))
            case Refuse():
                if self._server is not None:
                    self._server.refuse()
            case Stop():
                self._task = asyncio.get_running_loop().create_task(self._stop())
            case _:
                raise AssertionError(f"not a message for a worker: {message!r}")

    def _on_lost(self) -> None:
        self._asking.lost()
        if not self.ended.done():
            self.ended.set_result(None)

    def _close(self, name: str) -> None:
        feed = self._feeds.pop(name, None)
        if feed is not None:
            feed.close()

    async def _begin(self, begin: Begin) -> None:
        authority: Judge = Nobody() if begin.open else self._authority
        self._directory = Directory(self._feeds, trackers=begin.trackers)
        selections = Selections(begin.config, begin.limits)
        self._server = StreamServer(
            self._feeds,
            authority,
            begin.limits,
            begin.config,
            select=selections.of,
            prepare=selections.prepare,
            directory=self._list,
            accounts=AskedAccounts(self.channel, self._asking, begin.limits),
        )
        sockets = [bound(family, address, shared=True) for family, address in begin.addresses]
        await self._server.start(sockets=sockets)
        gc.freeze()
        self.channel.send(Ready())
        self._tell()

    def _list(self, access: Access, request: StreamRequest, scheme: str) -> tuple[str, bytes]:
        access.need(Scope.SUBSCRIBE)
        base = f"{scheme}://{request.headers.get('host', '')}"
        body, media_type = self._directory.page(base, request.headers.get("accept", ""), access)
        return media_type, body

    async def _stop(self) -> None:
        if self._server is not None:
            await self._server.close()
        self.channel.close()

    def _tell(self) -> None:
        assert self._server is not None
        server = self._server
        following = tuple((name, feed.followers) for name, feed in self._feeds.items() if feed.followers)
        self.channel.send(Stats(server.consumers, server.shed, server.skipped, server.lanes, following))
        asyncio.get_running_loop().call_later(_STATS_S, self._tell)


def _key(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


async def _work(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    # Whoever stops the broker from a terminal stops all its processes: the main one says when.
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, lambda: None)
    worker = Worker()
    await loop.create_unix_connection(lambda: worker.channel, sock=socket.socket(fileno=descriptor))
    await worker.ended


def main() -> None:
    """Serve until the main process has gone."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    configure(sys.argv[2], sys.argv[3])
    give_back()
    uvloop.run(_work(int(sys.argv[1])))


if __name__ == "__main__":
    main()
