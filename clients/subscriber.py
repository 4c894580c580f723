"""Many live queries on one WebSocket, for programs without an event loop: one thread reads and calls the callbacks."""

from __future__ import annotations

import inspect
import random
import threading
import time
from concurrent.futures import Future
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
from .sockets import Blocking, BlockingSocket
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


class Subscriber:
    """Holds live queries at a broker; threads may share one.

    The WebSocket opens with the first `subscribe`, or by `open` or `with`.  Callbacks are called one at a time, in the
    order of the broker's messages; a slow one holds up the reading, so the broker feels it, and nothing piles up here.
    `on_disconnect` and `on_reconnect` hear of the connection itself.
    """

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
        self._lock = threading.Lock()  # around the session, and never while anything can block
        self._opening = threading.Lock()
        self._closing = threading.Event()
        self._socket: Blocking | None = None
        self._thread: threading.Thread | None = None
        self._running = False

    def open(self) -> Self:
        """Connect, if that has not been done.

        Raises:
            ConnectionLost: the broker can't be reached; only once connected it is tried again and again.
        """
        with self._opening:
            if self._closing.is_set():
                raise ConnectionLost("this subscriber is closed")
            if not self._running:
                self._socket = BlockingSocket.open(self.url, self._settings)
                self._running = True
                self._thread = threading.Thread(target=self._live, name="triplewire-subscriber", daemon=True)
                self._thread.start()
        return self

    def subscribe(
        self, query: str | Query, *, alias: str | None = None, **callbacks: Unpack[CallbackOptions]
    ) -> LiveQuery:
        """Follow the answer to a query; returns when `on_first_results` has been called.

        Called by a callback it returns at once, and an error goes to `on_error`.

        Raises:
            BrokerRefused: the broker's own error.
            ConnectionLost: it can't be reached, or sent no first results in time.
        """
        return self.follow(as_query(query), alias, Callbacks(**callbacks))

    def follow(self, query: Query, alias: str | None, callbacks: Callbacks) -> LiveQuery:
        """`subscribe` for callbacks that are one object."""
        if not self._is_callback():
            self.open()
        with self._lock:
            if not self._running:
                raise ConnectionLost("the connection was lost just now")
            live = self._session.subscribe(query, alias, callbacks)
            waiter = self._waiter(live)
        try:
            self._speak()
        except ClientError:
            with self._lock:
                self._session.forget(live)
            raise
        if not self._came(live, waiter):
            self.unsubscribe(live, wait=False)
            raise ConnectionLost(f"no first results from {self.url} within {self._settings.timeout_s:g} s")
        return live

    def unsubscribe(self, live: LiveQuery, *, wait: bool = True) -> None:
        """Let a live query go; returns when the broker has confirmed it (in a callback: at once).

        Raises:
            ConnectionLost: the broker did not confirm it in time.
        """
        with self._lock:
            events = self._session.unsubscribe(live)
            waiter = self._waiter(live) if wait and live.state is State.LEAVING else None
        self._drive(deliver(events))
        self._speak(fetch=wait)
        if not self._came(live, waiter):
            raise ConnectionLost(f"no answer from {self.url} within {self._settings.timeout_s:g} s")

    def close(self) -> None:
        """Close the connection, and with it all live queries; a callback that is running may end first."""
        self._closing.set()
        with self._opening:
            thread, socket = self._thread, self._socket
        if socket is not None:
            socket.close()
        if thread is not None and not self._is_callback():
            thread.join(self._settings.timeout_s)

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_callback(self) -> bool:
        return threading.current_thread() is self._thread

    def _waiter(self, live: LiveQuery) -> Future[None] | None:
        if self._is_callback():
            return None  # the one who would let us go on is waiting for us
        if live.waiter is None:
            live.waiter = Future()
        return live.waiter  # type: ignore[return-value]  # ours are all of this kind

    def _came(self, live: LiveQuery, waiter: Future[None] | None) -> bool:
        try:
            if waiter is not None:
                waiter.result(self._settings.timeout_s)
        except TimeoutError:
            live.waiter = None
            return False
        return True

    def _speak(self, *, fetch: bool = True) -> None:
        """Send what there is to say, with a token that is fetched where it must be; raises what that raises.

        In a callback the thread itself does that, when the callback is done.
        """
        with self._lock:
            wanted, refused = self._session.token_wanted, self._session.refused_token
        if wanted and fetch and not self._is_callback():
            token = self._session.tokens.token(refused)
            with self._lock:
                events = self._session.authorized(token)
            self._drive(deliver(events))
        with self._lock:
            socket, texts = self._socket, self._session.outgoing()
        self._send(socket, texts)

    def _send(self, socket: Blocking | None, texts: list[str]) -> None:
        try:
            for text in texts:
                assert socket is not None  # the session has texts only for an open connection
                socket.send(text)
        except ConnectionLost:
            logger.debug("= the connection broke while sending; the next one begins with what it missed")

    def _live(self) -> None:
        """What the thread does."""
        steps = connection(self._session, self._backoff, self._watcher, time.monotonic)
        try:
            self._drive(steps)
        except Exception:  # noqa: BLE001 - ours; nobody else would hear of it
            logger.exception("! the subscriber's thread ended")
        finally:
            with self._lock:
                self._running = False
                steps.close()
                for event in self._session.abandon(ConnectionLost("the subscriber was closed")):
                    event.live.settle(event.error)
            if self._socket is not None:
                self._socket.close()

    def _drive(self, steps: Steps) -> None:
        result: Any = None
        error: Exception | None = None
        while True:
            with self._lock:
                try:
                    step = steps.send(result) if error is None else steps.throw(error)
                except StopIteration:
                    return
            if self._closing.is_set():
                return
            try:
                result, error = self._perform(step), None
            except Exception as raised:  # noqa: BLE001 - the generator knows what to make of it
                if self._closing.is_set() and not isinstance(step, Invoke):
                    return  # it broke because we close it
                error = raised

    def _perform(self, step: Step) -> Any:
        match step:
            case Invoke(function, argument):
                return _called(function, argument)
            case Pause(seconds):
                return self._closing.wait(seconds)
            case Connect():
                self._socket = BlockingSocket.open(self.url, self._settings)
                return None
            case Receive(within_s):
                return self._connected().receive(within_s)
            case Send(text):
                return self._connected().send(text)
            case Authorize(source, refused):
                return source.token(refused)
            case Hang():
                return self._connected().close()

    def _connected(self) -> Blocking:
        assert self._socket is not None  # `open` made the first one
        return self._socket


def _called(function: Callable[[Any], object], argument: Any) -> None:
    result = function(argument)
    if inspect.iscoroutine(result):
        result.close()
        raise TypeError(
            f"{function!r} is a coroutine function: AsyncSubscriber can call it, Subscriber can't"
        )
