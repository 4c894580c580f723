"""Two things that hold a dataset and answer SPARQL: the broker behind its HTTP gate, and the bare engine."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from pyoxigraph import NamedNode, Store

from w3c.manifests import Data, path_of
from w3c.results import MEDIA_TYPES, NOT_SPARQL, Answer, decode, evaluated

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

QUERY, UPDATE = "application/sparql-query", "application/sparql-update"
EVERYTHING = """SELECT ?subject ?predicate ?object ?graph WHERE {
  { ?subject ?predicate ?object } UNION { GRAPH ?graph { ?subject ?predicate ?object } }
}"""
JSON = MEDIA_TYPES[".srj"]


class Verdict(Enum):
    """Whether a text is SPARQL; where it asks for what a setting forbids, that may be said before it is known."""

    SPARQL = "SPARQL"
    NOT_SPARQL = "not SPARQL"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True)
class Reply:
    """An HTTP answer; the names of the headers in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "")

    @property
    def media_type(self) -> str:
        return self.content_type.partition(";")[0].strip().lower()

    @property
    def succeeded(self) -> bool:
        return 200 <= self.status < 300

    @property
    def error(self) -> str | None:
        """The code in the broker's error object."""
        try:
            return json.loads(self.body)["error"]
        except (ValueError, KeyError, TypeError):
            return None

    @property
    def is_syntax_error(self) -> bool:
        return self.status == 400 and self.error == "parsing failed"


class Refused(Exception):
    """The gate did not answer with success."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(f"{reply.status} {reply.body[:500]!r}")
        self.reply = reply


class Gate:
    """The SPARQL gate of a broker, on one connection that is kept."""

    query_path, update_path, both_path, store_path = "/query", "/update", "/sparql", "/rdf-graph-store"

    def __init__(self, url: str) -> None:
        self.url = url
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
        self._held: Data | None = None

    def close(self) -> None:
        self._connection.close()

    def send(
        self, method: str, target: str, body: bytes | None = None, headers: Iterable[tuple[str, str]] = ()
    ) -> Reply:
        """One request with these headers, and Content-Length where there is a body; nothing is added to help."""
        self._held = None
        connection = self._connection
        connection.putrequest(method, target, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, found, response.read())

    def post(self, path: str, text: str, content_type: str, accept: str = JSON) -> Reply:
        """A query or update by POST directly (SPARQL Protocol, 2.1.3 and 2.2.2)."""
        return self.send("POST", path, text.encode(), [("Content-Type", content_type), ("Accept", accept)])

    def hold(self, data: Data) -> None:
        """Empty the store and put these graphs there; nothing is sent if it holds just that."""
        if data == self._held:
            return
        self.update("DROP ALL")
        for file in data.default:
            self._put("POST", f"{self.store_path}?default", file)
        for name, file in data.named:
            self._put("PUT", f"{self.store_path}?graph={quote(name, safe='')}", file)
        self._held = data

    def _put(self, method: str, target: str, file: str) -> None:
        """The file as it is, but for a first line that tells where it is from: the gate cannot know."""
        path = path_of(file)
        body, media_type = path.read_text(encoding="utf-8"), MEDIA_TYPES.get(path.suffix, "text/turtle")
        if media_type == "text/turtle":
            body = f"@base <{file}> .\n{body}"
        else:
            body = body.replace("<rdf:RDF", f'<rdf:RDF xml:base="{file}"', 1)
        expect(self.send(method, target, body.encode(), [("Content-Type", media_type)]))

    def query(self, text: str, accept: str) -> Answer:
        held = self._held
        reply = self.post(self.query_path, text, QUERY, accept)
        self._held = held
        if reply.is_syntax_error:
            return NOT_SPARQL
        expect(reply)
        return decode(reply.body, reply.content_type)

    def update(self, text: str) -> None:
        expect(self.post(self.update_path, text, UPDATE))

    def verdict(self, text: str, *, update: bool) -> Verdict:
        """What the gate says of a text; 400 for another reason than these is raised."""
        reply = self.post(*(self.update_path, text, UPDATE) if update else (self.query_path, text, QUERY))
        if reply.is_syntax_error:
            return Verdict.NOT_SPARQL
        if reply.status == 400 and reply.error == "unsupported":
            return Verdict.UNSUPPORTED
        if reply.status == 400 and reply.error not in {"query_failed", "update_failed"}:
            raise Refused(reply)
        return Verdict.SPARQL

    def everything(self) -> Answer:
        """All quads of the store."""
        return self.query(EVERYTHING, JSON)


def expect(reply: Reply) -> Reply:
    """The reply; raises Refused for anything other than success."""
    if not reply.succeeded:
        raise Refused(reply)
    return reply


class Engine:
    """Oxigraph as a library: what the broker's answers are made of."""

    def __init__(self) -> None:
        self._store = Store()

    def hold(self, data: Data) -> None:
        self._store.update("DROP ALL")
        for file in data.default:
            self._store.load(path=path_of(file), base_iri=file)
        for name, file in data.named:
            self._store.load(path=path_of(file), base_iri=file, to_graph=NamedNode(name))

    def query(self, text: str, accept: str) -> Answer:
        try:
            return evaluated(self._store.query(text), accept)
        except SyntaxError:
            return NOT_SPARQL

    def update(self, text: str) -> None:
        self._store.update(text)

    def verdict(self, text: str, *, update: bool) -> Verdict:
        """What the engine says of a text; whether it can be evaluated is another matter."""
        try:
            (self._store.update if update else self._store.query)(text, base_iri="http://localhost/")
        except SyntaxError:
            return Verdict.NOT_SPARQL
        except (RuntimeError, OSError):
            pass
        return Verdict.SPARQL

    def everything(self) -> Answer:
        """All quads of the store."""
        return self.query(EVERYTHING, JSON)
