"""Runs the flows of `flows.py` over httpx: once blocking, once under asyncio.  Everything with a socket is here."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, TypeVar

import httpx

from triplewire.broker.errors import BrokerMisbehaved, ClientError, ConnectionLost

from .authorization import Authorize
from .flows import Call, Dropped, Reply, Wait
from .trust import tls_context

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator

    from .authorization import Token
    from .flows import Flow
    from .settings import ClientSettings

T = TypeVar("T")


class HttpDriver:
    """Blocking; connections are pooled.  `transport` and `sleep` are for tests."""

    def __init__(
        self,
        settings: ClientSettings,
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._http = httpx.Client(
            timeout=settings.timeout_s, transport=transport, verify=tls_context(settings)
        )
        self._sleep = sleep

    def run(self, flow: Flow[T]) -> T:
        """Do what the flow asks for until it returns.

        Raises:
            ClientError: what the flow raises.
        """
        try:
            step = next(flow)
            while True:
                try:
                    result = self._perform(step)
                except ClientError as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(result)
        except StopIteration as end:
            value: T = end.value
            return value

    def chunks(self, reply: Reply) -> Generator[bytes]:
        """The body of a streamed call; exhausting or closing this closes the response."""
        response: httpx.Response = reply.stream
        try:
            yield from response.iter_bytes()
        except httpx.HTTPError as error:
            raise translated(error, str(response.url)) from error
        finally:
            response.close()

    def close(self) -> None:
        """Close every pooled connection."""
        self._http.close()

    def _perform(self, step: Call | Wait | Authorize) -> Reply | Token | None:
        if isinstance(step, Wait):
            self._sleep(step.seconds)
            return None
        if isinstance(step, Authorize):
            return step.source.token(step.refused)
        try:
            response = self._http.send(_request(self._http, step), stream=True)
            if step.streamed and response.is_success:
                return Reply(response.status_code, _headers(response), stream=response)
            try:
                return Reply(response.status_code, _headers(response), response.read())
            finally:
                response.close()
        except httpx.HTTPError as error:
            raise translated(error, step.url) from error


class AsyncHttpDriver:
    """Under asyncio; connections are pooled.  `transport` and `sleep` are for tests."""

    def __init__(
        self,
        settings: ClientSettings,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._http = httpx.AsyncClient(
            timeout=settings.timeout_s, transport=transport, verify=tls_context(settings)
        )
        self._sleep = sleep

    async def run(self, flow: Flow[T]) -> T:
        """Do what the flow asks for until it returns.

        Raises:
            ClientError: what the flow raises.
        """
        try:
            step = next(flow)
            while True:
                try:
                    result = await self._perform(step)
                except ClientError as error:
                    step = flow.throw(error)
                else:
                    step = flow.send(result)
        except StopIteration as end:
            value: T = end.value
            return value

    async def chunks(self, reply: Reply) -> AsyncGenerator[bytes]:
        """The body of a streamed call; exhausting or closing this closes the response."""
        response: httpx.Response = reply.stream
        try:
            async for chunk in response.aiter_bytes():
                yield chunk
        except httpx.HTTPError as error:
            raise translated(error, str(response.url)) from error
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Close every pooled connection."""
        await self._http.aclose()

    async def _perform(self, step: Call | Wait | Authorize) -> Reply | Token | None:
        if isinstance(step, Wait):
            await self._sleep(step.seconds)
            return None
        if isinstance(step, Authorize):
            return await step.source.token_async(step.refused)
        try:
            response = await self._http.send(_request(self._http, step), stream=True)
            if step.streamed and response.is_success:
                return Reply(response.status_code, _headers(response), stream=response)
            try:
                return Reply(response.status_code, _headers(response), await response.aread())
            finally:
                await response.aclose()
        except httpx.HTTPError as error:
            raise translated(error, step.url) from error


def _request(http: httpx.Client | httpx.AsyncClient, call: Call) -> httpx.Request:
    # httpx replaces the query of a URL by params, even by empty ones: an endpoint may have a query of its own.
    url = httpx.URL(call.url)
    return http.build_request(
        call.method,
        url.copy_merge_params(call.params) if call.params else url,
        headers=dict(call.headers),
        content=call.body or None,
    )


def _headers(response: httpx.Response) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def translated(error: httpx.HTTPError, url: str) -> ClientError:
    """What an error of httpx is to our users."""
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return ConnectionLost(f"can't reach {url}: {error or 'no connection in time'}")
    if isinstance(error, httpx.TimeoutException):
        return ConnectionLost(f"no answer from {url} in time")
    if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError):
        return Dropped(f"the connection to {url} broke: {error or type(error).__name__}")
    return BrokerMisbehaved(f"{url} did not speak HTTP: {error or type(error).__name__}")
