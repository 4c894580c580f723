"""Many live queries on one WebSocket, under asyncio: one task reads and calls the callbacks."""

from __future__ import annotations

import asyncio
import inspect
import random
import time
from typing import TYPE_CHECKING, Any

from triplewire.broker.errors import ClientError, ConnectionLost

from .addresses import socket_url
from .authorization import Authorize
from .backoff import Backoff
from .callbacks import Callbacks
from .connection import Connect, Hang, Invoke, Pause, Receive, Send, Watcher, connection, deliver, logger
from .live_query import State
from .session import Session
from .settings import ClientSettings
from .sockets import AsyncSocket
from .sparql import as_query

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random
    from typing import Self, Unpack

    from triplewire.broker.model import Query

    from .authorization import Authorization
    from .callbacks import CallbackOptions
    from .connection import Step, Steps
    from .live_query import LiveQuery


class AsyncSubscriber:
    """`Subscriber` for asyncio; callbacks are functions or coroutine functions, and each is awaited before the next."""

    def __init__(  # noqa: PLR0913 - all but the URL are keywords
        self,
        url: str = "ws://localhost:9000/subscribe",
        *,
        settings: ClientSettings | None = None,
        authorization: Authorization | None = None,
        rng: Random | None = None,
        on_disconnect: Callable[[ConnectionLost], object] = lambda _: None,
        on_reconnect: Callable[[None], object] = lambda _: None,
    ) -> None:
        self.url = socket_url(url)
        self._settings = settings or ClientSettings()
        self._session = Session(reconnect=self._settings.reconnect, authorization=authorization)
        self._backoff = Backoff(rng or random.Random(), self._settings)  # noqa: S311 - jitter, no secret
        self._watcher = Watcher(on_disconnect, on_reconnect)
        self._opening = asyncio.Lock()
        self._closing = False
        self._calls = 0  # callbacks that are running
        self._socket: AsyncSocket | None = None
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> Self:
        """Connect, if that has not been done.

        Raises:
            ConnectionLost: the broker can't be reached; only once connected it is tried again and again.
        """
        async with self._opening:
            if self._closing:
                raise ConnectionLost("this subscriber is closed")
            if self._task is None or self._task.done():
                self._socket = await AsyncSocket.open(self.url, self._settings)
                self._task = asyncio.create_task(self._live(), name="triplewire-subscriber")
        return self

    async def subscribe(
        self, query: str | Query, *, alias: str | None = None, **callbacks: Unpack[CallbackOptions]
    ) -> LiveQuery:
        """As `Subscriber.subscribe`."""
        return await self.follow(as_query(query), alias, Callbacks(**callbacks))

    async def follow(self, query: Query, alias: str | None, callbacks: Callbacks) -> LiveQuery:
        """As `Subscriber.follow`."""
        if not self._is_callback():
            await self.open()
        live = self._session.subscribe(query, alias, callbacks)
        waiter = self._waiter(live)
        came = False
        try:
            await self._speak()
            came = await self._came(live, waiter)
        except ClientError:
            self._session.forget(live)  # where it was not asked for; else it has ended by this
            raise
        finally:
            if not came and live.state is not State.ENDED:
                await self.unsubscribe(live, wait=False)
        if not came:
            raise ConnectionLost(f"no first results from {self.url} within {self._settings.timeout_s:g} s")
        return live

    async def unsubscribe(self, live: LiveQuery, *, wait: bool = True) -> None:
        """As `Subscriber.unsubscribe`."""
        events = self._session.unsubscribe(live)
        waiter = self._waiter(live) if wait and live.state is State.LEAVING else None
        await self._drive(deliver(events))
        await self._speak(fetch=wait)
        if not await self._came(live, waiter):
            raise ConnectionLost(f"no answer from {self.url} within {self._settings.timeout_s:g} s")

    async def close(self) -> None:
        """As `Subscriber.close`."""
        self._closing = True
        async with self._opening:
            task, socket = self._task, self._socket
        if socket is not None:
            await socket.close()
        if task is None or self._is_callback():
            return
        if not self._calls:
            task.cancel()
        await asyncio.wait({task}, timeout=self._settings.timeout_s)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _is_callback(self) -> bool:
        return self._task is not None and asyncio.current_task() is self._task

    def _waiter(self, live: LiveQuery) -> asyncio.Future[None] | None:
        if self._is_callback():
            return None  # the one who would let us go on is waiting for us
        if live.waiter is None:
            live.waiter = asyncio.get_running_loop().create_future()
        return live.waiter  # type: ignore[return-value]  # ours are all of this kind

    async def _came(self, live: LiveQuery, waiter: asyncio.Future[None] | None) -> bool:
        try:
            if waiter is not None:
                # Shielded, because somebody else may wait for the same.
                # No `wait_for`: in Python 3.11 it takes a cancellation for its own where the answer comes just then.
                async with asyncio.timeout(self._settings.timeout_s):
                    await asyncio.shield(waiter)
        except (TimeoutError, asyncio.CancelledError) as error:
            live.waiter = None
            if isinstance(error, asyncio.CancelledError):
                raise
            return False
        return True

    async def _speak(self, *, fetch: bool = True) -> None:
        """Send what there is to say, as `Subscriber` does."""
        if self._session.token_wanted and fetch and not self._is_callback():
            token = await self._session.tokens.token_async(self._session.refused_token)
            await self._drive(deliver(self._session.authorized(token)))
        await self._send(self._session.outgoing())

    async def _send(self, texts: list[str]) -> None:
        # Only on the connection that they were made for: while we wait, another one may take its place.
        socket = self._socket
        try:
            for text in texts:
                assert socket is not None  # the session has texts only for an open connection
                await socket.send(text)
        except ConnectionLost:
            logger.debug("= the connection broke while sending; the next one begins with what it missed")

    async def _live(self) -> None:
        """What the task does."""
        steps = connection(self._session, self._backoff, self._watcher, time.monotonic)
        try:
            await self._drive(steps)
        except Exception:  # noqa: BLE001 - ours; nobody else would hear of it
            logger.exception("! the subscriber's task ended")
        finally:
            steps.close()
            for event in self._session.abandon(ConnectionLost("the subscriber was closed")):
                event.live.settle(event.error)
            await self._connected().close()

    async def _drive(self, steps: Steps) -> None:
        result: Any = None
        error: Exception | None = None
        while True:
            try:
                step = steps.send(result) if error is None else steps.throw(error)
            except StopIteration:
                return
            if self._closing:
                return
            try:
                result, error = await self._perform(step), None
            except Exception as raised:  # noqa: BLE001 - the generator knows what to make of it
                if self._closing and not isinstance(step, Invoke):
                    return  # it broke because we close it
                error = raised

    async def _perform(self, step: Step) -> Any:
        match step:
            case Invoke(function, argument):
                return await self._called(function, argument)
            case Pause(seconds):
                return await asyncio.sleep(seconds)
            case Connect():
                self._socket = await AsyncSocket.open(self.url, self._settings)
                return None
            case Receive(within_s):
                return await self._connected().receive(within_s)
            case Send(text):
                return await self._connected().send(text)
            case Authorize(source, refused):
                return await source.token_async(refused)
            case Hang():
                return await self._connected().close()

    async def _called(self, function: Callable[[Any], object], argument: Any) -> None:
        self._calls += 1
        try:
            result = function(argument)
            if inspect.isawaitable(result):
                await result
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # Not we are cancelled, but something that the callback awaited; our task must not end by that.
            raise RuntimeError(f"{function!r} was cancelled") from error
        finally:
            self._calls -= 1

    def _connected(self) -> AsyncSocket:
        assert self._socket is not None  # `open` made the first one
        return self._socket
