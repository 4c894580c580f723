"""RDF documents in a request's body: one in its media type, or several in a multipart form."""

from __future__ import annotations

from dataclasses import dataclass
from email.parser import BytesParser
from email.policy import HTTP

import pyoxigraph
from pyoxigraph import DefaultGraph, RdfFormat, Triple

from triplewire.broker.errors import MalformedRequest, RequestError

from .depth import check_depth
from .media import essence, rdf_format


@dataclass(frozen=True, slots=True)
class Document:
    """Bytes and how to read them."""

    data: bytes
    format: RdfFormat


def documents_of(body: bytes, content_type: str | None) -> list[Document]:
    """The documents of a body.

    Raises:
        UnsupportedMediaType: a media type is not read here.
        MalformedRequest: the multipart form can't be taken apart.
    """
    if essence(content_type) != "multipart/form-data":
        return [Document(body, rdf_format(content_type))]
    message = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
    if not message.is_multipart():
        raise MalformedRequest("the multipart form has no parts, or its boundary is missing")
    documents = []
    for part in message.iter_parts():
        data = part.get_payload(decode=True)
        documents.append(
            Document(data if isinstance(data, bytes) else b"", rdf_format(part.get("Content-Type")))
        )
    return documents


def to_ntriples(documents: list[Document], base: str, nesting: int) -> str:
    """All triples of the documents as N-Triples; blank nodes of different documents stay different.

    Raises:
        RequestError: a document is not of its format, has named graphs, or is nested deeper than `nesting`.
    """
    triples: list[Triple] = []
    for document in documents:
        check_depth(document.data, document.format, nesting)
        try:
            quads = pyoxigraph.parse(
                document.data, format=document.format, base_iri=base, rename_blank_nodes=True
            )
            for quad in quads:
                if not isinstance(quad.graph_name, DefaultGraph):
                    raise MalformedRequest("the document has named graphs; one graph's triples are expected")
                triples.append(quad.triple)
        except SyntaxError as error:
            place = f"line {error.lineno}, column {error.offset}: " if error.lineno else ""
            raise RequestError(
                f"the body is not {document.format.name}: {place}{error.msg:.300}", code="parsing failed"
            ) from error
        except ValueError as error:
            raise RequestError(f"the body is not {document.format.name}: {error!s:.300}") from error
    return (pyoxigraph.serialize(triples, format=RdfFormat.N_TRIPLES) or b"").decode()
