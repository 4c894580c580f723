"""The query operation (SPARQL 1.1 Protocol, 2.1): GET, form POST and direct POST; without a query, the description."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any

from triplewire.broker.errors import (
    DeadlineExceeded,
    MalformedRequest,
    MethodNotAllowed,
    UnsupportedMediaType,
)
from triplewire.broker.model import Query
from triplewire.broker.rights import Scope
from triplewire.broker.wire.media import formats_of, negotiate
from triplewire.gates.http.request import FORM, ClientGone
from triplewire.gates.http.response import HttpResponse, accepts_gzip

from .description import asks_for_description, describe

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from triplewire.broker.answer import Answer
    from triplewire.broker.config import LimitsConfig
    from triplewire.broker.model import QueryForm
    from triplewire.broker.rights import Access
    from triplewire.broker.scheduler import Scheduler
    from triplewire.broker.wire.media import AnswerFormat
    from triplewire.gates.http.request import HttpRequest, Parameters

log = logging.getLogger("triplewire.gates.sparql")

SPARQL_QUERY = "application/sparql-query"
METHODS = ("GET", "HEAD", "POST", "OPTIONS")
_PATIENCE_S = 0.05


class QueryGate:
    """Serves the query path."""

    def __init__(self, scheduler: Scheduler, limits: LimitsConfig) -> None:
        self._scheduler = scheduler
        self._limits = limits

    async def serve(self, request: HttpRequest, response: HttpResponse) -> None:
        """Answer a query, or describe the service.

        Raises:
            BrokerError: before anything was sent.
        """
        if asks_for_description(request):
            await describe(request, response, updates=False)
            return
        await self.answer(request, response, await read_query(request))

    async def answer(self, request: HttpRequest, response: HttpResponse, query: Query) -> None:
        """Evaluate and send; small answers with their length, large ones as they come.

        Raises:
            BrokerError: before anything was sent.
        """
        request.access.need(Scope.QUERY)
        with request.holding("queries"):
            await self._answer(request, response, query)

    async def _answer(self, request: HttpRequest, response: HttpResponse, query: Query) -> None:
        started = time.perf_counter()

        def choose(form: QueryForm) -> AnswerFormat:
            return negotiate(request.header("accept"), formats_of(form))

        answer = await _unless_gone(
            request, self._scheduler.query(query, choose, compress=accepts_gzip(request))
        )
        try:
            await self._send(request, response, answer)
        finally:
            answer.close()
        log.info("query ok %.1fms", (time.perf_counter() - started) * 1e3)

    async def _send(self, request: HttpRequest, response: HttpResponse, answer: Answer) -> None:
        assert answer.format is not None
        content_type = answer.format.content_type
        whole = answer.whole
        if whole is not None:
            await response.send(200, content_type, whole, [("Vary", "Accept")])
            return
        headers = [("Vary", "Accept, Accept-Encoding")]
        if answer.compressed:
            headers.append(("Content-Encoding", "gzip"))
        await response.start(200, content_type, headers)
        sending = asyncio.create_task(self._stream(response, answer))
        leaving = asyncio.create_task(request.gone())
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            unfinished = sending.cancel()
        if not unfinished:
            sending.result()

    async def _stream(self, response: HttpResponse, answer: Answer) -> None:
        async for chunk in answer.chunks():
            try:
                async with asyncio.timeout(self._limits.send_s):
                    await response.chunk(chunk)
            except TimeoutError as error:
                raise DeadlineExceeded("the client does not read the answer (limits.send_s)") from error
        await response.end()


async def _unless_gone(request: HttpRequest, query: Coroutine[Any, Any, Answer]) -> Answer:
    """The answer; where the client hangs up before it has begun, the query is ended.

    Raises:
        ClientGone: it did.
    """
    asking = asyncio.create_task(query)
    try:
        # Most answers are there before it is worth looking whether the client is.
        await asyncio.wait({asking}, timeout=_PATIENCE_S)
        if not asking.done():
            leaving = asyncio.create_task(request.gone())
            try:
                await asyncio.wait({asking, leaving}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                leaving.cancel()
        if not asking.done():
            raise ClientGone
        return asking.result()
    finally:
        asking.cancel()


async def read_query(request: HttpRequest) -> Query:
    """The query of a request; it sees what its sender may read.

    Raises:
        MethodNotAllowed, UnsupportedMediaType, MalformedRequest: as the protocol has it.
    """
    in_url = request.parameters()
    if request.method in {"GET", "HEAD"}:
        return query_of(in_url, request.access)
    if request.method != "POST":
        raise MethodNotAllowed(f"{request.method} is not a way to query", allow=METHODS)
    request.expects_query = True
    if request.media_type == SPARQL_QUERY:
        return _dataset(await request.text(), in_url, request.access)
    if request.media_type == FORM:
        return query_of(await request.form(), request.access)
    raise UnsupportedMediaType(
        f"a query is posted as {SPARQL_QUERY} or {FORM}, not as {request.media_type or 'nothing'!s:.100}"
    )


def query_of(parameters: Parameters, access: Access) -> Query:
    """The query that parameters name, for whoever has this access.

    Raises:
        MalformedRequest: there is none, or more than one.
    """
    sparql = parameters.one("query")
    if sparql is None:
        wrong = "; update belongs on the update path" if "update" in parameters else ""
        raise MalformedRequest(f"the parameter query is missing{wrong}")
    return _dataset(sparql, parameters, access)


def _dataset(sparql: str, graphs: Parameters, access: Access) -> Query:
    default, named = graphs.all("default-graph-uri"), graphs.all("named-graph-uri")
    return Query(sparql, default, named, access.rights.read)
