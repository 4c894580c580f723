"""Runs the flows of `following.py` over httpx: once blocking, once under asyncio.

The bodies are read raw: httpx's own decoding has no bound on what little bytes become.
"""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import httpx

from triplewire.broker.errors import ClientError
from triplewire.clients.authorization import Authorize
from triplewire.clients.exchange import translated
from triplewire.clients.flows import Call, Reply, Wait
from triplewire.clients.trust import tls_context

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator

    from triplewire.clients.authorization import Token

    from .following import FollowFlow, Items, Read
    from .settings import StreamSettings

_MOST_OF_AN_ERROR = 64 * 1024
# What httpcore says when there is a socket to wake, and of how many: more than a tracker and its relays need at a time.
_OPENED = {"connection.connect_tcp.complete", "connection.start_tls.complete"}
_SOCKETS = 16
# A server that says how often it sends something at least, in seconds, is gone when so many times in turn it did not; a
# busy one may be late.
_SIGN_OF_LIFE = "triplewire-sign-of-life"
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_PROMISES = 3
_LEAST_SILENCE_S = 5.0


class FollowDriver:
    """Blocking: one connection at a time.  `transport` is for tests."""

    def __init__(self, settings: StreamSettings, transport: httpx.BaseTransport | None = None) -> None:
        self._settings = settings
        self._http = httpx.Client(
            timeout=_timeout(settings), transport=transport, verify=tls_context(settings)
        )
        self._stopped = threading.Event()
        self._response: httpx.Response | None = None
        self._chunks: Iterator[bytes] = iter(())
        self._streams: deque[Any] = deque(maxlen=_SOCKETS)  # what httpcore has opened, the newest last

    def items(self, flow: FollowFlow) -> Generator[Items]:
        """The items that the flow gives, until it returns or `stop` is called; raises what the flow raises."""
        try:
            step = next(flow)
            while not self._stopped.is_set():
                if isinstance(step, tuple):
                    yield step
                    step = next(flow)
                    continue
                try:
                    result = self._perform(step)
                except ClientError as error:
                    if self._stopped.is_set():
                        return
                    step = flow.throw(error)
                else:
                    step = flow.send(result)
        except StopIteration:
            return
        finally:
            flow.close()
            self._hang_up()

    def stop(self) -> None:
        """End it, from any thread: whoever waits for a head, or for what comes next, is woken."""
        self._stopped.set()
        for stream in tuple(self._streams):
            # To close a socket wakes nobody who reads it; to shut it down does.
            connection = stream.get_extra_info("socket")
            if connection is not None:
                with suppress(OSError):  # it is closed already
                    connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        self.stop()
        self._http.close()

    def _perform(self, step: Call | Wait | Authorize | Read) -> Reply | Token | bytes | None:
        if isinstance(step, Wait):
            self._stopped.wait(step.seconds)
            return None
        if isinstance(step, Authorize):
            return step.source.token(step.refused)
        try:
            return self._open(step) if isinstance(step, Call) else next(self._chunks, b"")
        except httpx.HTTPError as error:
            raise translated(error, _url_of(step)) from error

    def _open(self, call: Call) -> Reply:
        self._hang_up()
        request = _request(self._http, call)
        request.extensions["trace"] = self._notice
        response = self._http.send(request, stream=True)
        _let_be_silent(request, response, call, self._settings)
        self._response = response
        # An empty chunk would look like the end.
        self._chunks = (chunk for chunk in response.iter_raw() if chunk)
        body = b""
        patience = _Patience(response, call, self._settings)
        while patience.reads(body) and (data := next(self._chunks, b"")):
            body += data
        return _reply(response, body)

    def _notice(self, event: str, told: dict[str, Any]) -> None:
        if event in _OPENED:
            self._streams.append(told["return_value"])
            if self._stopped.is_set():
                self.stop()

    def _hang_up(self) -> None:
        response, self._response = self._response, None
        if response is not None:
            response.close()


class AsyncFollowDriver:
    """Under asyncio: one connection at a time.  `transport` is for tests."""

    def __init__(self, settings: StreamSettings, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._settings = settings
        self._http = httpx.AsyncClient(
            timeout=_timeout(settings), transport=transport, verify=tls_context(settings)
        )
        self._stopped = asyncio.Event()
        self._response: httpx.Response | None = None
        self._chunks: AsyncIterator[bytes] | None = None

    async def items(self, flow: FollowFlow) -> AsyncGenerator[Items]:
        """The items that the flow gives, until it returns or this is closed; raises what the flow raises."""
        try:
            step = next(flow)
            while not self._stopped.is_set():
                if isinstance(step, tuple):
                    yield step
                    step = next(flow)
                    continue
                try:
                    result = await self._perform(step)
                except ClientError as error:
                    if self._stopped.is_set():
                        return
                    step = flow.throw(error)
                else:
                    step = flow.send(result)
        except StopIteration:
            return
        finally:
            flow.close()
            await self._hang_up()

    async def close(self) -> None:
        """End the iteration, also one in another task, and close the connection."""
        self._stopped.set()
        await self._hang_up()
        await self._http.aclose()

    async def _perform(self, step: Call | Wait | Authorize | Read) -> Reply | Token | bytes | None:
        if isinstance(step, Wait):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), step.seconds)
            return None
        if isinstance(step, Authorize):
            return await step.source.token_async(step.refused)
        try:
            return await self._open(step) if isinstance(step, Call) else await self._next()
        except httpx.HTTPError as error:
            raise translated(error, _url_of(step)) from error

    async def _open(self, call: Call) -> Reply:
        await self._hang_up()
        request = _request(self._http, call)
        response = await self._http.send(request, stream=True)
        _let_be_silent(request, response, call, self._settings)
        self._response, self._chunks = response, response.aiter_raw()
        body = b""
        patience = _Patience(response, call, self._settings)
        while patience.reads(body) and (data := await self._next()):
            body += data
        return _reply(response, body)

    async def _next(self) -> bytes:
        assert self._chunks is not None  # a Read comes after a Call
        async for chunk in self._chunks:
            if chunk:
                return chunk
        return b""

    async def _hang_up(self) -> None:
        response, self._response = self._response, None
        if response is not None:
            await response.aclose()


def _timeout(settings: StreamSettings) -> httpx.Timeout:
    # For the head of the response, too: there are servers that hold it back until there is something to send.
    return httpx.Timeout(settings.timeout_s, read=settings.silence_s)


def _request(http: httpx.Client | httpx.AsyncClient, call: Call) -> httpx.Request:
    url = httpx.URL(call.url)
    merged = url.copy_merge_params(call.params) if call.params else url
    request = http.build_request(call.method, merged, headers=dict(call.headers))
    if call.head_s is not None:
        request.extensions["timeout"] = httpx.Timeout(call.head_s).as_dict()
    return request


class _Patience:
    """How much of an error's body is read, and how long: what has no end would be waited for for ever."""

    def __init__(self, response: httpx.Response, call: Call, settings: StreamSettings) -> None:
        self._is_error = not response.is_success
        self._until = time.monotonic() + _error_s(call, settings)

    def reads(self, body: bytes) -> bool:
        """Whether more than this is read."""
        return self._is_error and len(body) < _MOST_OF_AN_ERROR and time.monotonic() < self._until


def _error_s(call: Call, settings: StreamSettings) -> float:
    return settings.timeout_s if call.head_s is None else call.head_s


def _let_be_silent(
    request: httpx.Request, response: httpx.Response, call: Call, settings: StreamSettings
) -> None:
    """The head has come: from now on it is a stream.  httpcore looks into the request when it reads the body."""
    if not response.is_success:
        request.extensions["timeout"]["read"] = _error_s(call, settings)
        return
    promised = response.headers.get(_SIGN_OF_LIFE, "")
    silence_s = settings.silence_s
    if _SECONDS.fullmatch(promised):
        silence_s = min(silence_s, max(_PROMISES * float(promised), _LEAST_SILENCE_S))
    request.extensions["timeout"]["read"] = silence_s


def _reply(response: httpx.Response, body: bytes) -> Reply:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Reply(response.status_code, headers, body, stream=response)


def _url_of(step: Call | Read) -> str:
    return step.url if isinstance(step, Call) else str(step.reply.stream.url)
