"""The dataset behind a remote SPARQL 1.1 endpoint, as SEPA has it: any store that speaks the protocol.

What Oxigraph does for the embedded store the endpoint does here, but the order of `SELECT *`.  Blank nodes are as
stable as the endpoint keeps them: where it invents new labels for each answer, a subscription sees them change.

The endpoint does not tell what an update changes.  What it can change at most is worked out from its text
(`candidates`), and only the queries that this can touch are evaluated again.  Where those are many, the endpoint is asked
for the solutions of the update's WHERE first.  An update that failed may have been carried out in part, or after its
time: what it could change is looked at with the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pyoxigraph
from pyoxigraph import RdfFormat

from .candidates import NOTHING, CandidateReader
from .errors import (
    BrokerError,
    EndpointError,
    Forbidden,
    MalformedRequest,
    ProtocolError,
    RequestError,
    StoreError,
    UnsupportedOperation,
)
from .guard import check_query, check_update
from .model import Bindings, Candidates, GraphWrite, Query, QueryForm, Replay, Update
from .remote import allow_remote
from .rights import ALL
from .store import graph_update, named_node, nobody, unbounded
from .texts import is_update, query_form
from .threads import FairLock
from .wire.media import JSON, N_TRIPLES, essence
from .wire.results import parse_results

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Sized

    from .candidates import Foreseen
    from .config import LimitsConfig, SparqlConfig, StoreConfig
    from .model import Given, Match
    from .rights import Rights
    from .store import Before, Check, Choose, Sink
    from .wire.media import AnswerFormat

_CHUNK = 64 * 1024


class EndpointStore:
    """A remote SPARQL 1.1 Protocol endpoint."""

    def __init__(self, config: StoreConfig, sparql: SparqlConfig, limits: LimitsConfig) -> None:
        """Raises StoreError where an address is none."""
        self._config = config
        self._sparql = sparql
        self._limits = limits
        # One line, so that the line numbers in the endpoint's errors remain those of the sender's text.
        declared = " ".join(f"PREFIX {prefix}: <{iri}>" for prefix, iri in sparql.prefixes.items())
        self._prologue = f"BASE <{sparql.base_iri}> {declared} "
        pool = httpx.Limits(
            max_connections=config.endpoint_connections, max_keepalive_connections=config.endpoint_connections
        )
        self.quiet = FairLock()
        self.answers_when_synced = False
        self._http = httpx.Client(timeout=config.endpoint_timeout_s, limits=pool)
        # Read once: that takes a fifth of what a request costs here.
        self._query_url = _url(config.query_endpoint)
        self._update_url = _url(config.update_endpoint)
        self._candidates = CandidateReader(
            sparql.prefixes, sparql.base_iri, graphs_apart=config.endpoint_graphs_apart
        )
        # What failed updates may have changed all the same; None where that is not known.
        self._unsettled: Candidates | None = NOTHING
        self._touched: Callable[[Candidates], Sized] | None = None

    def routed_by(self, touched: Callable[[Candidates], Sized]) -> None:
        """Ask the endpoint for more where `touched` says that what is known leads to many queries; on the core thread."""
        self._touched = touched

    @property
    def match(self) -> Match:
        """An endpoint is asked queries only."""
        raise AssertionError("only units of a store that tells its changes look for quads")

    def evaluate(
        self,
        query: Query,
        given: Sequence[Given] | None = None,
        place: int | None = None,  # noqa: ARG002 - as the others
    ) -> Bindings:
        """See `Store`; nothing can be `given`.  Raises RequestError or EndpointError."""
        assert given is None, "SPARQL has no way to say it that holds for blank nodes, too"
        form = self._form(query)
        format_ = N_TRIPLES if form.is_graph else JSON
        response = self._send(self._query_request(query, format_.media_type), stream=False)
        if not form.is_graph:
            return self._rows(response.content)
        try:
            triples = pyoxigraph.parse(response.content, format=RdfFormat.N_TRIPLES)
            rows = dict.fromkeys((triple.subject, triple.predicate, triple.object) for triple in triples)
        except SyntaxError as error:
            raise _unreadable(error) from error
        return Bindings(("subject", "predicate", "object"), tuple(rows))

    def answer(self, query: Query, choose: Choose, sink: Sink) -> None:
        """See `Store`.  Raises RequestError or EndpointError, or what the sink raises."""
        form = self._form(query)
        format_ = choose(form)
        safe = N_TRIPLES if form.is_graph else JSON
        accept = f"{format_.media_type}, {safe.media_type};q=0.5"
        response = self._send(self._query_request(query, accept), stream=True)
        try:
            sink.start(form, format_)
            if essence(response.headers.get("content-type")) in {format_.media_type, *format_.names}:
                for chunk in response.iter_bytes(_CHUNK):
                    sink.write(chunk)
            else:
                _convert(response.read(), form, format_, sink)
        except httpx.HTTPError as error:
            raise EndpointError(f"the endpoint's answer broke off: {error!r}") from error
        finally:
            response.close()

    def apply(self, update: Update, before: Before = nobody) -> None:
        """See `Store`.  Raises RequestError or EndpointError; all or nothing as far as the endpoint is."""
        _need_all(update.rights)
        check_update(update.sparql, self._limits)
        graphs = [("using-graph-uri", named_node(graph).value) for graph in update.using_graphs]
        graphs += [("using-named-graph-uri", named_node(graph).value) for graph in update.using_named_graphs]
        text = allow_remote(update.sparql, self._sparql)
        if not is_update(text):
            raise MalformedRequest("an update is expected here", code="parsing failed")
        candidates = self._foreseen(text, update) if self._config.endpoint_routing else None
        self._write(candidates, before, text, graphs)

    def write_graph(self, write: GraphWrite, before: Before = nobody) -> bool:
        """See `Store`.  Raises GraphNotFound, RequestError or EndpointError."""
        _need_all(write.rights)
        there = write.graph is None or self.has_graph(write.graph)
        text = graph_update(write, there=there)
        candidates = self._candidates.graph(write) if self._config.endpoint_routing else None
        self._write(candidates, before, text, [])
        return not there

    def _foreseen(self, text: str, update: Update) -> Candidates | None:
        foreseen = self._candidates.update(text)
        if foreseen is None:
            return None
        if foreseen.first is not None and self._are_many(foreseen.candidates):
            return self._narrowed(foreseen, update)
        return foreseen.candidates

    def _are_many(self, candidates: Candidates) -> bool:
        """Whether it is worth a question to find fewer."""
        if self._touched is None or not self._config.endpoint_solutions:
            return False
        return len(self._touched(candidates)) > self._config.endpoint_evaluations

    def _narrowed(self, foreseen: Foreseen, update: Update) -> Candidates:
        most = self._config.endpoint_solutions
        question = self._candidates.question(foreseen, update, most + 1)
        if question is None:
            return foreseen.candidates
        try:
            answer = self.evaluate(question)
        except BrokerError:  # the update itself will tell what is wrong
            return foreseen.candidates
        return foreseen.candidates if len(answer.rows) > most else self._candidates.narrowed(foreseen, answer)

    def _write(
        self, candidates: Candidates | None, before: Before, text: str, graphs: list[tuple[str, str]]
    ) -> None:
        unsettled = self._unsettled
        known = None if candidates is None or unsettled is None else candidates | unsettled
        before(known)
        try:
            self._update(text, graphs)
        except BrokerError:
            few = known is not None and len(known.patterns) <= self._config.endpoint_unsettled
            self._unsettled = known if few else None
            raise
        self._unsettled = NOTHING

    def has_graph(self, graph: str, check: Check = unbounded) -> bool:  # noqa: ARG002 - HTTP has a limit of its own
        """See `Store`; an empty graph counts where the endpoint keeps empty graphs."""
        name = named_node(graph).value
        asked = Query(f"ASK {{ {{ GRAPH <{name}> {{ ?s ?p ?o }} }} UNION {{ GRAPH <{name}> {{}} }} }}")
        response = self._send(self._query_request(asked, JSON.media_type), stream=False)
        return self._rows(response.content) == Bindings(("boolean",), ((pyoxigraph.Literal(True),),))

    @property
    def sequence(self) -> int | None:
        """The endpoint does not tell."""
        return None

    def replay(self, change: Replay, before: Before = nobody) -> None:  # noqa: ARG002 - as the others
        """Nothing follows into an endpoint."""
        raise UnsupportedOperation(f"record {change.sequence} can't be replayed into an endpoint")

    def sync(self) -> None:
        """The endpoint keeps its own promises."""

    def is_sync_due(self) -> bool:
        """See `sync`."""
        return False

    def keep(self) -> None:
        """Nothing is kept here."""

    def is_keep_due(self) -> bool:
        """See `keep`."""
        return False

    def close(self) -> None:
        """See `Store`."""
        self._http.close()

    def _form(self, query: Query) -> QueryForm:
        check_query(query.sparql, self._limits)
        form = query_form(query.sparql)
        if form is None:
            hint = "; this is an update" if is_update(query.sparql) else ""
            raise MalformedRequest(f"a query is expected here{hint}", code="parsing failed")
        return form

    def _query_request(self, query: Query, accept: str) -> httpx.Request:
        if query.readable is not None:
            raise _unknown_dataset()
        graphs = [("default-graph-uri", named_node(graph).value) for graph in query.default_graphs]
        graphs += [("named-graph-uri", named_node(graph).value) for graph in query.named_graphs]
        text = self._prologue + allow_remote(query.sparql, self._sparql)
        url, method = self._query_url, self._config.query_method
        return self._request(url, method, ("query", text), graphs, {"Accept": accept})

    def _update(self, text: str, graphs: list[tuple[str, str]]) -> None:
        url, method = self._update_url, self._config.update_method
        headers = {"Accept": "application/json, */*;q=0.5"}
        request = self._request(url, method, ("update", self._prologue + text), graphs, headers)
        self._send(request, stream=False)

    def _request(
        self,
        url: httpx.URL,
        method: str,
        operation: tuple[str, str],
        graphs: list[tuple[str, str]],
        headers: dict[str, str],
    ) -> httpx.Request:
        kind, text = operation
        try:
            content = text.encode()
        except UnicodeEncodeError as error:
            raise MalformedRequest(f"the {kind} is not Unicode text: {error}") from error
        if method == "POST":
            headers["Content-Type"] = f"application/sparql-{kind}; charset=utf-8"
            return self._http.build_request("POST", _with(url, graphs), content=content, headers=headers)
        pairs = [operation, *graphs]
        if method == "GET":
            return self._http.build_request("GET", _with(url, pairs), headers=headers)
        form: dict[str, Any] = {}
        for key, value in pairs:
            form.setdefault(key, []).append(value)
        return self._http.build_request("POST", url, data=form, headers=headers)

    def _send(self, request: httpx.Request, *, stream: bool) -> httpx.Response:
        try:
            response = self._http.send(request, stream=stream)
            if response.is_success:
                return response
            body = response.read().decode("utf-8", "replace").strip()
            response.close()
        except httpx.HTTPError as error:
            raise EndpointError(f"the SPARQL endpoint can't be reached: {error!r}") from error
        if response.status_code == httpx.codes.BAD_REQUEST:
            raise RequestError(f"Parsing failed: {body:.500}", code="parsing failed")
        raise EndpointError(f"the SPARQL endpoint answered {response.status_code}: {body:.500}")

    def _rows(self, content: bytes) -> Bindings:
        try:
            return parse_results(content)
        except ProtocolError as error:
            raise _unreadable(error) from error


def _url(text: str) -> httpx.URL:
    try:
        return httpx.URL(text)
    except (httpx.InvalidURL, TypeError) as error:
        raise StoreError(f"{text!r:.200} is no URL of an endpoint: {error}") from error


def _with(url: httpx.URL, pairs: list[tuple[str, str]]) -> httpx.URL:
    """The endpoint's URL, whose own parameters stay."""
    return url.copy_merge_params(tuple(pairs)) if pairs else url


def _need_all(rights: Rights) -> None:
    if rights != ALL:
        raise _unknown_dataset()


def _unknown_dataset() -> Forbidden:
    return Forbidden("rights on single graphs can't be kept at a remote endpoint")


def _unreadable(error: Exception) -> EndpointError:
    return EndpointError(f"the SPARQL endpoint's answer can't be read: {error}")


def _convert(content: bytes, form: QueryForm, format_: AnswerFormat, sink: Sink) -> None:
    try:
        if form.is_graph:
            triples = pyoxigraph.parse(content, format=RdfFormat.N_TRIPLES)
            pyoxigraph.serialize(triples, sink, format=format_.writer)  # type: ignore[arg-type]
        else:
            found = pyoxigraph.parse_query_results(content, format=pyoxigraph.QueryResultsFormat.JSON)
            found.serialize(sink, format_.writer)  # type: ignore[arg-type]
    except SyntaxError as error:
        raise _unreadable(error) from error
