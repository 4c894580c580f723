"""SPARQL 1.1 Service Description: what this endpoint is, as RDF in the format that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyoxigraph
from pyoxigraph import BlankNode, NamedNode, RdfFormat, Triple

from triplewire.broker.wire.media import GRAPHS, RESULTS, negotiate

if TYPE_CHECKING:
    from triplewire.gates.http.request import HttpRequest
    from triplewire.gates.http.response import HttpResponse

SD = "http://www.w3.org/ns/sparql-service-description#"
_RDF_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_PREFIXES = {"sd": SD, "formats": "http://www.w3.org/ns/formats/"}
_FORMATS = (
    "SPARQL_Results_JSON",
    "SPARQL_Results_XML",
    "SPARQL_Results_CSV",
    "SPARQL_Results_TSV",
    "Turtle",
    "N-Triples",
    "RDF_XML",
    "JSON-LD",
    "N3",
    "TriG",
    "N-Quads",
)
assert len(_FORMATS) == len(RESULTS) + len(GRAPHS)


def _sd(name: str) -> NamedNode:
    return NamedNode(SD + name)


def description(endpoint: str, languages: tuple[str, ...]) -> list[Triple]:
    """The triples that describe the service at `endpoint` (Service Description, 3)."""
    service, dataset, graph = BlankNode("service"), BlankNode("dataset"), BlankNode("graph")
    triples = [
        Triple(service, _RDF_TYPE, _sd("Service")),
        Triple(service, _sd("endpoint"), NamedNode(endpoint)),
        Triple(service, _sd("defaultDataset"), dataset),
        Triple(dataset, _RDF_TYPE, _sd("Dataset")),
        Triple(dataset, _sd("defaultGraph"), graph),
        Triple(graph, _RDF_TYPE, _sd("Graph")),
    ]
    triples += [Triple(service, _sd("supportedLanguage"), _sd(language)) for language in languages]
    triples.append(Triple(service, _sd("feature"), _sd("EmptyGraphs")))
    for name in _FORMATS:
        format_ = NamedNode(_PREFIXES["formats"] + name)
        triples.append(Triple(service, _sd("resultFormat"), format_))
        if not name.startswith("SPARQL"):
            triples.append(Triple(service, _sd("inputFormat"), format_))
    return triples


def asks_for_description(request: HttpRequest) -> bool:
    """A GET without any parameter does (Service Description, 2)."""
    return request.method in {"GET", "HEAD"} and not request.parameters().pairs


async def describe(request: HttpRequest, response: HttpResponse, *, updates: bool) -> None:
    """Answer a GET without a query (Service Description, 2); `updates` tells whether this path takes them.

    Raises:
        NotAcceptable: none of the RDF formats is wanted.
    """
    format_ = negotiate(request.header("accept"), GRAPHS)
    assert isinstance(format_.writer, RdfFormat)
    languages = ("SPARQL10Query", "SPARQL11Query", *(("SPARQL11Update",) if updates else ()))
    body = pyoxigraph.serialize(
        description(request.url, languages), format=format_.writer, prefixes=_PREFIXES
    )
    await response.send(200, format_.content_type, body or b"", [("Vary", "Accept")])
