"""SPARQL 1.1 Graph Store HTTP Protocol: graphs as documents, named by `?graph=`, `?default`, or their own URL."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from typing import TYPE_CHECKING
from urllib.parse import urljoin
from uuid import uuid4

from pyoxigraph import NamedNode

from triplewire.broker.errors import Forbidden, GraphNotFound, MalformedRequest, MethodNotAllowed
from triplewire.broker.model import GraphEdit, GraphWrite, Query
from triplewire.broker.rights import DEFAULT, Scope
from triplewire.broker.wire.documents import documents_of, to_ntriples

from .update import sequence_header

if TYPE_CHECKING:
    from triplewire.broker.scheduler import Scheduler
    from triplewire.gates.http.request import HttpRequest
    from triplewire.gates.http.response import HttpResponse

    from .query import QueryGate
    from .update import Writes

log = logging.getLogger("triplewire.gates.sparql")

METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS")
_INLINE_BYTES = 16 * 1024
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class GraphStoreGate:
    """Serves the graph store's path and all below it."""

    def __init__(self, scheduler: Scheduler, writes: Writes, query: QueryGate, path: str) -> None:
        self._scheduler = scheduler
        self._writes = writes
        self._query = query
        self._path = path

    async def serve(self, request: HttpRequest, response: HttpResponse) -> None:
        """Read or write one graph.

        Raises:
            BrokerError: before anything was sent; then nothing has changed.
        """
        if request.method not in METHODS:
            raise MethodNotAllowed(f"{request.method} is not of the Graph Store Protocol", allow=METHODS)
        request.access.need(Scope.QUERY if request.method in {"GET", "HEAD"} else Scope.UPDATE)
        named, graph = self._graph(request)
        if request.method in {"GET", "HEAD"}:
            if not named:
                raise MalformedRequest("which graph? give ?graph=IRI or ?default")
            await self._read(request, response, graph)
        elif request.method == "DELETE":
            if not named:
                raise MalformedRequest("which graph? give ?graph=IRI or ?default")
            await self._drop(request, response, graph)
        else:
            await self._store(request, response, graph, named=named)

    def _graph(self, request: HttpRequest) -> tuple[bool, str | None]:
        """Whether a graph is named, and which; None is the default graph (Graph Store Protocol, 4)."""
        parameters = request.parameters()
        graph, default = parameters.one("graph"), "default" in parameters
        if graph is not None and default:
            raise MalformedRequest("graph and default are both given; one is right")
        if graph is not None:
            # An absolute IRI stays as it is: urljoin would take the # from <http://example.org/ns#>
            return True, _iri(graph if _ABSOLUTE.match(graph) else urljoin(request.url, graph))
        if default:
            return True, None
        direct = request.path.removeprefix("/secure").rstrip("/") != self._path
        return direct, request.url if direct else None

    async def _read(self, request: HttpRequest, response: HttpResponse, graph: str | None) -> None:
        readable = request.access.rights
        if not readable.may_read(graph or DEFAULT):
            raise Forbidden(f"this client may not read {_told(graph)}")  # whether it is there or not
        if graph is None:
            sparql = "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"
        else:
            if not await self._scheduler.has_graph(graph):
                raise GraphNotFound(f"there is no graph <{graph:.200}>")
            sparql = f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}"
        await self._query.answer(request, response, Query(sparql, readable=readable.read))

    async def _store(
        self, request: HttpRequest, response: HttpResponse, graph: str | None, *, named: bool
    ) -> None:
        headers: list[tuple[str, str]] = []
        edit = GraphEdit(request.method)
        if not named:
            if edit is GraphEdit.REPLACE:
                raise MalformedRequest("which graph? give ?graph=IRI or ?default")
            # Graph Store Protocol, 5.5: a POST to the store itself makes a new graph and tells where it is
            graph = f"{request.url.rstrip('/')}/{uuid4()}"
            headers.append(("Location", graph))
        triples = await self._triples(request, graph or request.url)
        write = GraphWrite(edit, graph, triples, request.access.rights)
        await self._write(write, request, response, headers)

    async def _drop(self, request: HttpRequest, response: HttpResponse, graph: str | None) -> None:
        rights = request.access.rights
        try:
            await self._write(GraphWrite(GraphEdit.DROP, graph, rights=rights), request, response, [])
        except GraphNotFound:
            if rights.may_read(graph or DEFAULT):
                raise
            await response.send(204, None)  # as if it had been there

    async def _triples(self, request: HttpRequest, base: str) -> str:
        body = await request.body()
        documents = documents_of(body, request.header("content-type"))
        nesting = request.limits.nesting
        if len(body) > _INLINE_BYTES:
            return await asyncio.to_thread(to_ntriples, documents, base, nesting)
        return to_ntriples(documents, base, nesting)

    async def _write(
        self, write: GraphWrite, request: HttpRequest, response: HttpResponse, headers: list[tuple[str, str]]
    ) -> None:
        started = time.perf_counter()
        updated = await self._writes.submit(write, bulk=request.is_bulk)
        assert updated is not None
        milliseconds = (time.perf_counter() - started) * 1e3
        log.info("graph %s ok %.1fms, %d notifications", write.edit.value, milliseconds, updated.notified)
        rights = request.access.rights
        headers = [*headers, *sequence_header(updated, rights.read)]
        created = updated.created and rights.may_read(write.graph or DEFAULT)
        await response.send(201 if created else 204, None, headers=headers)


def _told(graph: str | None) -> str:
    return "the default graph" if graph is None else f"the graph <{graph:.200}>"


def _iri(graph: str) -> str:
    try:
        return NamedNode(graph).value
    except ValueError as error:
        raise MalformedRequest(f"the graph {graph!r:.200} is not an absolute IRI: {error}") from error
