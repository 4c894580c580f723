"""SPARQL over HTTP: `SparqlClient` blocks, `AsyncSparqlClient` is for asyncio; they have the same methods."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from pyoxigraph import Literal

from triplewire.broker.errors import BrokerMisbehaved
from triplewire.broker.model import Bindings, Query, Update

from .addresses import Addresses
from .exchange import AsyncHttpDriver, HttpDriver
from .flows import Method, SparqlFlows
from .settings import ClientSettings
from .solutions import solutions_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from typing import Self

    import httpx
    from pyoxigraph import Triple

    from .authorization import Authorization
    from .flows import Answer
    from .solutions import Solution


class SparqlClient:
    """Asks and changes one broker, or any SPARQL 1.1 endpoint; connections are pooled, threads may share one.

    `url` is a broker (`http://localhost:8000`) or one endpoint; `update_url` is for servers with a second endpoint.
    """

    def __init__(
        self,
        url: str = "http://localhost:8000",
        update_url: str | None = None,
        *,
        settings: ClientSettings | None = None,
        authorization: Authorization | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        settings = settings or ClientSettings()
        self._at = Addresses.of(url)
        self._update_url = update_url or self._at.update
        self._flows = SparqlFlows(settings, authorization)
        self._driver = HttpDriver(settings, transport=transport)

    def query(self, query: str | Query, method: Method = Method.POST) -> Answer:
        """The answer: Bindings for SELECT and ASK, a list of triples for CONSTRUCT and DESCRIBE.

        Raises:
            BrokerRefused: the broker's own error.
            ConnectionLost: it can't be reached, or did not answer in time.
        """
        return self._driver.run(self._flows.query(self._at.query, as_query(query), method))

    def select(self, query: str | Query) -> list[Solution]:
        """The rows of a SELECT, each a mapping without the unbound variables; raises as `query` does."""
        return solutions_of(as_bindings(self.query(query)))

    def ask(self, query: str | Query) -> bool:
        """The answer to an ASK; raises as `query` does."""
        return as_boolean(self.query(query))

    def construct(self, query: str | Query) -> list[Triple]:
        """The triples of a CONSTRUCT or DESCRIBE; raises as `query` does."""
        return as_triples(self.query(query))

    @contextmanager
    def download(self, query: str | Query, accept: str) -> Iterator[Iterator[bytes]]:
        """The answer's bytes in a format of your choice, piece by piece and of any length; raises as `query` does."""
        reply = self._driver.run(self._flows.download(self._at.query, as_query(query), accept))
        chunks = self._driver.chunks(reply)
        try:
            yield chunks
        finally:
            chunks.close()
            reply.stream.close()

    def update(self, update: str | Update, method: Method = Method.POST) -> None:
        """Change the dataset; returns when every subscriber's notification is on its way; raises as `query` does.

        An update is repeated only where the broker said that it had not begun it (429, 503).
        """
        self._driver.run(self._flows.update(self._update_url, as_update(update), method))

    def add_to_graph(self, triples: bytes, graph: str | None = None) -> None:
        """Add N-Triples to a graph or to the default graph (Graph Store Protocol); raises as `query` does."""
        self._driver.run(self._flows.add_to_graph(self._at.graph_store, graph, triples))

    def close(self) -> None:
        """Close the connections; the client can't be used any more."""
        self._driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncSparqlClient:
    """`SparqlClient` for asyncio."""

    def __init__(
        self,
        url: str = "http://localhost:8000",
        update_url: str | None = None,
        *,
        settings: ClientSettings | None = None,
        authorization: Authorization | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        settings = settings or ClientSettings()
        self._at = Addresses.of(url)
        self._update_url = update_url or self._at.update
        self._flows = SparqlFlows(settings, authorization)
        self._driver = AsyncHttpDriver(settings, transport=transport)

    async def query(self, query: str | Query, method: Method = Method.POST) -> Answer:
        """As `SparqlClient.query`."""
        return await self._driver.run(self._flows.query(self._at.query, as_query(query), method))

    async def select(self, query: str | Query) -> list[Solution]:
        """As `SparqlClient.select`."""
        return solutions_of(as_bindings(await self.query(query)))

    async def ask(self, query: str | Query) -> bool:
        """As `SparqlClient.ask`."""
        return as_boolean(await self.query(query))

    async def construct(self, query: str | Query) -> list[Triple]:
        """As `SparqlClient.construct`."""
        return as_triples(await self.query(query))

    @asynccontextmanager
    async def download(self, query: str | Query, accept: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """As `SparqlClient.download`."""
        reply = await self._driver.run(self._flows.download(self._at.query, as_query(query), accept))
        chunks = self._driver.chunks(reply)
        try:
            yield chunks
        finally:
            await chunks.aclose()
            await reply.stream.aclose()

    async def update(self, update: str | Update, method: Method = Method.POST) -> None:
        """As `SparqlClient.update`."""
        await self._driver.run(self._flows.update(self._update_url, as_update(update), method))

    async def add_to_graph(self, triples: bytes, graph: str | None = None) -> None:
        """As `SparqlClient.add_to_graph`."""
        await self._driver.run(self._flows.add_to_graph(self._at.graph_store, graph, triples))

    async def close(self) -> None:
        """As `SparqlClient.close`."""
        await self._driver.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def as_query(query: str | Query) -> Query:
    """A query operation; a text has no dataset of its own."""
    return Query(query) if isinstance(query, str) else query


def as_update(update: str | Update) -> Update:
    """An update operation; a text has no dataset of its own."""
    return Update(update) if isinstance(update, str) else update


def as_bindings(answer: Answer) -> Bindings:
    """The answer, where it is one of SELECT or ASK."""
    if isinstance(answer, Bindings):
        return answer
    raise BrokerMisbehaved("rows were asked for, but the answer is triples")


def as_boolean(answer: Answer) -> bool:
    """The answer, where it is one of ASK."""
    if isinstance(answer, Bindings) and answer.vars == ("boolean",) and len(answer.rows) == 1:
        return answer.rows[0] == (Literal(True),)
    raise BrokerMisbehaved("true or false was asked for, but the answer is something else")


def as_triples(answer: Answer) -> list[Triple]:
    """The answer, where it is one of CONSTRUCT or DESCRIBE."""
    if isinstance(answer, list):
        return answer
    raise BrokerMisbehaved("triples were asked for, but the answer is rows")
