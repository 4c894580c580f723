"""A subscription as server-sent events: `curl -N` and a browser's EventSource can follow a query.

Each event's data is a notification as WebSocket clients get it, its id `<spuid>#<sequence>`.  What is wrong before the
first results is an HTTP error; later an event of type `error`.  Comments keep a silent connection open.

A client that comes back with the id of the last event that it saw, as EventSource does by itself, is told what it
missed, as one event; where that can't be had, its first results again.

When the token runs out, an `error` event says so and the stream ends; with another token the client can come back.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from typing import TYPE_CHECKING

from triplewire.broker.errors import MethodNotAllowed, NotAcceptable
from triplewire.broker.model import Failure, Notification, Resume, Subscribe
from triplewire.broker.rights import Scope
from triplewire.broker.wire.media import essence
from triplewire.broker.wire.subscribe import utf8
from triplewire.gates.leases import outbox_for
from triplewire.gates.outbox import SlowSubscriber, TakenOver
from triplewire.gates.sparql.query import read_query

if TYPE_CHECKING:
    from triplewire.broker.config import LimitsConfig
    from triplewire.broker.model import Message, Query
    from triplewire.broker.scheduler import Scheduler
    from triplewire.broker.security.authority import Authority
    from triplewire.broker.wire.subscribe import Renewed
    from triplewire.gates.http.request import HttpRequest
    from triplewire.gates.http.response import HttpResponse
    from triplewire.gates.leases import Leases
    from triplewire.gates.outbox import Batch, Outbox

log = logging.getLogger("triplewire.gates.sse")

EVENT_STREAM = "text/event-stream"
METHODS = ("GET", "POST", "OPTIONS")
_HEADERS = (
    ("Cache-Control", "no-store"),
    ("X-Accel-Buffering", "no"),  # nginx would hold events back
)


class EventGate:
    """Serves the subscribe path to those who ask for an event stream."""

    def __init__(
        self, scheduler: Scheduler, limits: LimitsConfig, authority: Authority, ping_s: float
    ) -> None:
        self._authority = authority
        self._scheduler = scheduler
        self._limits = limits
        self._ping_s = ping_s

    async def serve(self, request: HttpRequest, response: HttpResponse) -> None:
        """Subscribe, and send until the client hangs up.

        Raises:
            BrokerError: before anything was sent.
        """
        if request.method not in METHODS:
            raise MethodNotAllowed(f"{request.method} is not a way to subscribe", allow=METHODS)
        accept = request.header("accept") or ""
        if not any(essence(part) == EVENT_STREAM for part in accept.split(",")):
            raise NotAcceptable(
                "subscribe here with a WebSocket, or with Accept: text/event-stream and ?query=..."
            )
        request.access.need(Scope.SUBSCRIBE)
        query = await read_query(request)
        with request.holding("subscriptions"):
            await self._serve(query, request, response)

    async def _serve(self, query: Query, request: HttpRequest, response: HttpResponse) -> None:
        access = request.access
        # There is no way to say another token on this connection: it ends as soon as that is wanted
        outbox, leases = outbox_for(self._authority, self._limits, math.inf)
        subscriber = self._scheduler.join(leases or outbox)
        try:
            alias = request.parameters().one("alias")
            resumable = self._limits.resume_s > 0
            resume = _resume(request)
            if leases is not None:
                leases.ask(access, alias, query)
            await self._scheduler.submit(
                Subscribe(query, subscriber, alias, resumable, resume, access.client)
            )
            log.info("= %d opened", subscriber)
            await response.start(200, f"{EVENT_STREAM}; charset=utf-8", _HEADERS)
            await self._follow(request, response, outbox, leases)
        finally:
            # HTTP has no goodbye: one that hangs up may come back.
            self._scheduler.leave(subscriber, lost=True)
            if leases is not None:
                leases.close()
            log.info("= %d closed", subscriber)

    async def _follow(
        self, request: HttpRequest, response: HttpResponse, outbox: Outbox, leases: Leases | None
    ) -> None:
        lock = asyncio.Lock()

        async def send(batch: Batch) -> None:
            failed = isinstance(batch[-1][0], Failure)
            # What waits for a slow reader must not reach it when its token has run out
            left_s = None if failed or leases is None else leases.left_s
            async with asyncio.timeout(left_s), lock:
                await response.chunk(b"".join([_event(message, text) for message, text in batch]))
            if failed:
                outbox.finish()  # the subscription has ended, or waits for another token; it was all there is

        tasks = [
            asyncio.create_task(outbox.run(send)),
            asyncio.create_task(self._ping(response, lock)),
            asyncio.create_task(request.gone()),
        ]
        try:
            done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        for task in done:
            error = task.exception()
            if isinstance(error, SlowSubscriber | TimeoutError):
                log.warning("! a subscriber is slow and is cut: %s", error)
                request.abort()
            elif isinstance(error, TakenOver):
                request.abort()
            elif error is not None:
                raise error
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*pending)
        if tasks[0] in done and tasks[0].exception() is None:
            await response.end()  # the subscription has ended, or the broker is shutting down

    async def _ping(self, response: HttpResponse, lock: asyncio.Lock) -> None:
        while True:
            await asyncio.sleep(self._ping_s)
            async with asyncio.timeout(self._limits.send_s), lock:
                await response.chunk(b": still here\n\n")


def _resume(request: HttpRequest) -> Resume | None:
    """What the client saw last; an id that is not one of ours is passed over."""
    last = request.header("last-event-id") or request.parameters().one("last-event-id") or ""
    spuid, separator, sequence = last.rpartition("#")
    if not separator or not (sequence.isascii() and sequence.isdigit()):
        return None
    return Resume(spuid, int(sequence)) if len(sequence) < 20 else None


def _event(message: Message | Renewed, text: bytes) -> bytes:
    if isinstance(message, Notification):
        return b"id: %b#%d\ndata: %b\n\n" % (utf8(message.spuid), message.sequence, text)
    name = b"error" if isinstance(message, Failure) else b"message"
    return b"event: %b\ndata: %b\n\n" % (name, text)
