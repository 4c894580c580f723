"""SPARQL 1.1 Protocol and Graph Store Protocol from the client's side, as generators without I/O.

A flow yields what must be done and is sent what came of it::

    Call   -> Reply      one HTTP request; ConnectionLost is thrown in where none came back
    Wait   -> None       let this many seconds pass
    Authorize -> Token   have a token fetched (`authorization.py`)

and returns the result.  The blocking and the asyncio driver (`exchange.py`) run the same flows, and a test runs one by
hand: `next(flow)`, `flow.send(Reply(...))`.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlencode

from pyoxigraph import RdfFormat, Triple, parse

from triplewire.broker.errors import BrokerMisbehaved, BrokerRefused, ConnectionLost, ProtocolError
from triplewire.broker.model import Bindings, Query, Update
from triplewire.broker.wire.media import JSON, N_TRIPLES, essence
from triplewire.broker.wire.results import parse_results
from triplewire.broker.wire.subscribe import decode_failure, refusal

from .authorization import Authorization, Authorize, Token, source_of, token_from
from .settings import ClientSettings

T = TypeVar("T")
Answer: TypeAlias = Bindings | list[Triple]

# One Accept for all four forms: a broker can make only one of the two of any answer.
ANSWERS = f"{JSON.media_type}, {N_TRIPLES.media_type};q=0.9"
BUSY = {429, 503}
_FORM = "application/x-www-form-urlencoded"


class Method(Enum):
    """How a query or update travels (SPARQL 1.1 Protocol, 2.1.1 to 2.1.3), by JSAP's names; GET is for queries."""

    POST = "POST"
    URL_ENCODED_POST = "URL_ENCODED_POST"
    GET = "GET"


class Dropped(ConnectionLost):
    """The connection broke before the answer came, as a kept-alive one does that the broker has just closed."""


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request; `safe` tells that it can be repeated, `streamed` that its answer is read piece by piece.

    `head_s` is how long a connection, and the head of a streamed answer, are waited for; None for as long as ever.
    """

    method: str
    url: str
    params: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # secrets and tokens are in there
    body: bytes = field(default=b"", repr=False)
    safe: bool = False
    streamed: bool = False
    head_s: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP response; header names are in lower case.  `stream` is the driver's, for a streamed call."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = field(default=b"", repr=False)
    stream: Any = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Let this many seconds pass."""

    seconds: float


Flow: TypeAlias = Generator[Call | Wait | Authorize, Any, T]


class Flows:
    """Holds what all flows need, and no connection."""

    def __init__(
        self, settings: ClientSettings | None = None, authorization: Authorization | None = None
    ) -> None:
        self._settings = settings or ClientSettings()
        self._source = source_of(authorization)

    def _exchange(self, call: Call, accept: str) -> Flow[Reply]:
        """The successful reply to `call`.

        A broker that is too busy is asked again, a dropped query repeated once; and once, with another token, what was
        refused for the token's sake: a 401 says that nothing was done.
        """
        repeats, refused_token = 0, None
        while True:
            # Asked for at each attempt: it may have run out while we waited.
            token = yield from token_from(self._source, refused_token)
            if refused_token is not None and token.text == refused_token:
                break
            try:
                reply: Reply = yield self._signed(call, accept, token)
            except Dropped:
                if not call.safe or repeats:
                    raise
                repeats += 1
                continue
            if reply.status == 401 and token.text is not None and refused_token is None:
                refused_token = token.text
                continue
            if reply.status not in BUSY or repeats >= self._settings.retries:
                break
            yield Wait(wait_s(reply, repeats, self._settings))
            repeats += 1
        if not 200 <= reply.status < 300:
            raise refused(reply)
        return reply

    def _signed(self, call: Call, accept: str, token: Token) -> Call:
        headers = {**call.headers, "accept": accept}
        if token.text is not None:
            headers["authorization"] = f"Bearer {token.text}"
        if self._settings.urgency is not None and not call.safe:
            headers["priority"] = f"u={self._settings.urgency}"
        return Call(call.method, call.url, call.params, headers, call.body, call.safe, call.streamed)


class SparqlFlows(Flows):
    """Makes the flows of the SPARQL protocols."""

    def query(self, url: str, query: Query, method: Method = Method.POST) -> Flow[Answer]:
        """The answer: Bindings for SELECT and ASK, triples for CONSTRUCT and DESCRIBE."""
        reply = yield from self._exchange(query_call(url, query, method), ANSWERS)
        return answer(reply)

    def download(self, url: str, query: Query, accept: str) -> Flow[Reply]:
        """The answer as the broker wrote it, to be read piece by piece."""
        call = query_call(url, query, Method.POST, streamed=True)
        return (yield from self._exchange(call, accept))

    def update(self, url: str, update: Update, method: Method = Method.POST) -> Flow[None]:
        """Change the dataset; returns when the broker has told its subscribers."""
        yield from self._exchange(update_call(url, update, method), "application/json")

    def add_to_graph(self, url: str, graph: str | None, triples: bytes) -> Flow[None]:
        """Add N-Triples to a graph, None being the default graph (Graph Store Protocol, 5.5)."""
        params = (("default", ""),) if graph is None else (("graph", graph),)
        call = Call("POST", url, params, {"content-type": N_TRIPLES.media_type}, triples)
        yield from self._exchange(call, "application/json")


def wait_s(reply: Reply, repeats: int, settings: ClientSettings) -> float:
    """How long a broker that is too busy is left alone before the next attempt."""
    asked = reply.headers.get("retry-after", "")
    # A date instead of seconds is allowed but needs both clocks to agree; our own pace is as good a guess.
    seconds = float(asked) if asked.isascii() and asked.isdigit() else 0.5 * 2**repeats
    return min(seconds, settings.retry_after_max_s)


def query_call(url: str, query: Query, method: Method, *, streamed: bool = False) -> Call:
    """The HTTP request that asks `query` (SPARQL 1.1 Protocol, 2.1)."""
    graphs = (
        *(("default-graph-uri", graph) for graph in query.default_graphs),
        *(("named-graph-uri", graph) for graph in query.named_graphs),
    )
    if method is Method.GET:
        return Call("GET", url, (("query", query.sparql), *graphs), safe=True, streamed=streamed)
    if method is Method.URL_ENCODED_POST:
        body = urlencode((("query", query.sparql), *graphs)).encode()
        return Call("POST", url, (), {"content-type": _FORM}, body, safe=True, streamed=streamed)
    headers = {"content-type": "application/sparql-query"}
    return Call("POST", url, graphs, headers, query.sparql.encode(), safe=True, streamed=streamed)


def update_call(url: str, update: Update, method: Method) -> Call:
    """The HTTP request that makes `update` (SPARQL 1.1 Protocol, 2.2).

    Raises:
        ValueError: the method is GET, which must not change anything.
    """
    if method is Method.GET:
        raise ValueError("an update can't travel by GET (SPARQL 1.1 Protocol, 2.2)")
    graphs = (
        *(("using-graph-uri", graph) for graph in update.using_graphs),
        *(("using-named-graph-uri", graph) for graph in update.using_named_graphs),
    )
    if method is Method.URL_ENCODED_POST:
        body = urlencode((("update", update.sparql), *graphs)).encode()
        return Call("POST", url, (), {"content-type": _FORM}, body)
    headers = {"content-type": "application/sparql-update"}
    return Call("POST", url, graphs, headers, update.sparql.encode())


def answer(reply: Reply) -> Answer:
    """What a successful reply to a query says, by its media type.

    Raises:
        BrokerMisbehaved: it is neither Results JSON nor N-Triples.
    """
    media_type = essence(reply.headers.get("content-type"))
    try:
        if media_type == N_TRIPLES.media_type:
            return [quad.triple for quad in parse(reply.body, RdfFormat.N_TRIPLES)]
        if media_type == JSON.media_type or media_type in JSON.names:
            return parse_results(reply.body)
    except (ProtocolError, SyntaxError) as error:
        raise BrokerMisbehaved(f"the answer is not the {media_type} that it says it is: {error}") from error
    raise BrokerMisbehaved(f"the answer is neither Results JSON nor N-Triples, but {media_type or 'untyped'}")


def refused(reply: Reply) -> BrokerRefused:
    """The error that a reply tells: SEPA's flat JSON object, or whatever text a server sent."""
    text = reply.body.decode("utf-8", "replace").strip()
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict) and isinstance(document.get("error"), str):
        return refusal(decode_failure({"status_code": reply.status, **document}))
    location = reply.headers.get("location")
    description = f"redirected to {location}" if location else text[:500] or "no reason given"
    return BrokerRefused("http_error", reply.status, description)
