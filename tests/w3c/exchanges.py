"""The W3C's protocol tests: requests in the HTTP vocabulary, sent in order, and what the answers must be."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from pyoxigraph import Literal

from w3c.manifests import MF, UT, Data, manifests
from w3c.results import BOOLEAN, Answer, check, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from w3c.endpoints import Gate, Reply
    from w3c.manifests import Manifest, Term

CNT = "http://www.w3.org/2011/content#"
HT = "http://www.w3.org/2011/http#"
TURTLE = "text/turtle"
NAMED_STATUSES = {"OK": 200, "Created": 201, "NoContent": 204, "NotFound": 404}
FORMATS = {
    "boolean": {"application/sparql-results+json", "application/sparql-results+xml"},
    "tabular": {
        "application/sparql-results+json",
        "application/sparql-results+xml",
        "text/csv",
        "text/tab-separated-values",
    },
    "RDF": {"application/rdf+xml", TURTLE, "application/n-triples"},
}


@dataclass(frozen=True)
class Exchange:
    """A request, and what is asked of its answer; `$NAME$` in target, body and graph stands for a variable."""

    method: str
    target: str
    statuses: tuple[int | str, ...]
    headers: tuple[tuple[str, str], ...] = ()
    body: str | None = None
    encoding: str = "utf-8"
    format: str | None = None
    boolean: bool | None = None
    media_type: str | None = None
    graph: str | None = None
    location: str | None = None  # the variable that the Location header becomes

    def judge(self, reply: Reply, variables: dict[str, str], base: str) -> None:
        """Raise AssertionError where the answer is not as it must be."""
        said = f"{self.method} {self.target}: {reply.status} {reply.content_type} {reply.body[:300]!r}"
        assert any(_is(reply.status, status) for status in self.statuses), f"{said}, not {self.statuses}"
        if self.format is not None:
            assert reply.media_type in FORMATS[self.format], said
        if self.boolean is not None:
            check(decode(reply.body, reply.content_type), Answer(BOOLEAN, ((Literal(self.boolean),),)))
        if self.media_type is not None:
            assert reply.media_type == self.media_type, said
        if self.graph is not None:
            expected = filled(self.graph, variables).encode()
            check(decode(reply.body, reply.content_type, base), decode(expected, TURTLE, base))
        if self.location is not None:
            assert "location" in reply.headers, said


def _is(status: int, expected: int | str) -> bool:
    return status == expected or (isinstance(expected, str) and expected == f"{status // 100}xx")


@dataclass(frozen=True)
class Dialogue:
    """A test: the dataset it starts from, and its exchanges."""

    name: str
    data: Data
    exchanges: tuple[Exchange, ...]

    def play(self, gate: Gate, target: Callable[[Exchange], str], variables: dict[str, str]) -> None:
        """Raise AssertionError where the gate does not do its part; `target` tells where an exchange goes."""
        gate.hold(self.data)
        for exchange in self.exchanges:
            place = filled(target(exchange), variables)
            body = exchange.body and filled(exchange.body, variables).encode(exchange.encoding)
            reply = gate.send(exchange.method, place, body, exchange.headers)
            url = urljoin(gate.url, place)
            exchange.judge(reply, variables, url)
            if exchange.location is not None:
                variables[exchange.location] = urljoin(url, reply.headers["location"])


def filled(text: str, variables: dict[str, str]) -> str:
    """The text with the values of the variables."""
    for name, value in variables.items():
        text = text.replace(name, value)
    return text


@cache
def dialogues(pattern: str) -> list[Dialogue]:
    """All tests of the manifests whose paths match."""
    return [
        Dialogue(manifest.name(test), manifest.data(test, UT), tuple(_exchanges(manifest, test)))
        for manifest in manifests(pattern)
        for test in manifest.tests()
    ]


def _exchanges(manifest: Manifest, test: Term) -> Iterator[Exchange]:
    requests = manifest.one(manifest.one(test, MF + "action"), HT + "requests")
    for request in manifest.items(requests):
        body, response = manifest.one(request, HT + "body"), manifest.one(request, HT + "resp")
        boolean = manifest.text(response, MF + "expectedBoolean")
        yield Exchange(
            method=manifest.text(request, HT + "methodName"),
            target=manifest.text(request, HT + "absolutePath"),
            statuses=tuple(_status(status) for status in manifest.all(response, MF + "expectedStatus")),
            headers=_headers(manifest, request),
            body=manifest.text(body, CNT + "chars"),
            encoding=manifest.text(body, CNT + "characterEncoding") or "utf-8",
            format=manifest.text(response, MF + "expectedFormat"),
            boolean=None if boolean is None else boolean == "true",
            media_type=_media_type(_headers(manifest, response)),
            graph=manifest.text(manifest.one(response, HT + "body"), CNT + "chars"),
            location=manifest.text(response, MF + "expectedLocation"),
        )


def _status(term: Term) -> int | str:
    name = term.value.rpartition("#")[2]
    return NAMED_STATUSES[name] if name in NAMED_STATUSES else name.removeprefix("StatusCode")


def _headers(manifest: Manifest, message: Term) -> tuple[tuple[str, str], ...]:
    fields = manifest.items(manifest.one(message, HT + "headers"))
    return tuple(
        (manifest.text(field, HT + "fieldName"), manifest.text(field, HT + "fieldValue")) for field in fields
    )


def _media_type(headers: tuple[tuple[str, str], ...]) -> str | None:
    found = (value for name, value in headers if name.lower() == "content-type")
    return next((value.partition(";")[0].strip() for value in found), None)
