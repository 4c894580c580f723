"""Nodes that listen for their instructions: server-sent events, one stream a node, which tell the newest state and no other.

What waits for a slow reader is a mark that there is something new, and what that is, is looked up when it can be sent.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from triplewire.broker.errors import ShuttingDown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from starlette.types import Receive, Scope, Send

    from .nodes import Node
    from .tracking import Tracking

log = logging.getLogger("triplewire.gates.relay")

EVENT_STREAM: Final = "text/event-stream"
_STILL_HERE: Final = b": still here\n\n"
_HEADERS: Final = (
    (b"content-type", f"{EVENT_STREAM}; charset=utf-8".encode()),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # nginx would hold events back
)


class Listeners:
    """All streams of instructions; `keep_alive_s` is after what silence a comment is sent, `send_s` how long that may take."""

    def __init__(
        self, tracking: Tracking, clock: Callable[[], float], *, keep_alive_s: float, send_s: float
    ) -> None:
        self.keep_alive_s = keep_alive_s
        self.send_s = send_s
        self._tracking = tracking
        self._clock = clock
        self._streams: dict[str, InstructionStream] = {}
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._streams)

    def open(self, node: str, instance: str) -> InstructionStream:
        """A stream for a node, in the place of one that it has.  Raises NotFound, Conflict or ShuttingDown."""
        if self._is_closed:
            raise ShuttingDown("the tracker is shutting down")
        holder = self._tracking.nodes.listen(node, instance)
        before = self._streams.get(node)
        if before is not None:
            before.end()
        stream = self._streams[node] = InstructionStream(self, node, holder)
        return stream

    def wake(self, nodes: Iterable[str]) -> None:
        """These have to be told something, or are gone."""
        for node in nodes:
            if (stream := self._streams.get(node)) is not None:
                stream.wake()

    def close(self) -> None:
        """All end, and none begins any more."""
        self._is_closed = True
        for stream in self._streams.values():
            stream.end()

    def event(self, stream: InstructionStream) -> bytes | None:
        """The instructions of now; None where the node is gone, also where it is back: then it opens another stream."""
        if self._tracking.nodes.get(stream.node) is not stream.holder:
            return None
        instructions = self._tracking.instructions(stream.node)
        return b"data: %b\n\n" % instructions.encode() if instructions is not None else None

    def ended(self, stream: InstructionStream) -> None:
        """A stream is over, whoever ended it."""
        if self._streams.get(stream.node) is stream:
            del self._streams[stream.node]
        self._tracking.nodes.unlisten(stream.holder, self._clock())


class InstructionStream(Response):
    """The answer to one request for instructions: the first event is what holds now.  `holder` is who opened it."""

    def __init__(self, listeners: Listeners, node: str, holder: Node) -> None:
        super().__init__()
        self.node = node
        self.holder = holder
        self._listeners = listeners
        self._news = asyncio.Event()
        self._news.set()
        self._is_ending = False

    def wake(self) -> None:
        """There is something new."""
        self._news.set()

    def end(self) -> None:
        """Nothing more will come."""
        self._is_ending = True
        self._news.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the node hangs up, is gone, or the stream is ended."""
        hung_up = asyncio.create_task(_hung_up(receive))
        try:
            async with asyncio.timeout(None) as limit:
                await self._send_all(send, limit, hung_up)
        except TimeoutError:
            log.warning("! the node %s does not read its instructions: its connection is cut", self.node)
            abort = scope.get("extensions", {}).get("triplewire.abort")
            if abort is not None:
                abort()
        finally:
            hung_up.cancel()
            self._listeners.ended(self)

    async def _send_all(self, send: Send, limit: asyncio.Timeout, hung_up: asyncio.Task[None]) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        while not hung_up.done():
            data = _STILL_HERE
            if self._news.is_set():
                self._news.clear()
                found = None if self._is_ending else self._listeners.event(self)
                if found is None:
                    break
                data = found
            limit.reschedule(asyncio.get_running_loop().time() + self._listeners.send_s)
            await send({"type": "http.response.body", "body": data, "more_body": True})
            limit.reschedule(None)
            await self._wait(hung_up)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _wait(self, hung_up: asyncio.Task[None]) -> None:
        """For news, for the end, or until a sign of life is due."""
        news = asyncio.create_task(self._news.wait())
        try:
            await asyncio.wait(
                {news, hung_up},
                timeout=self._listeners.keep_alive_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            news.cancel()


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
