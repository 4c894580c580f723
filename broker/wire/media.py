"""Media types: what answers can be written as, what documents can be read from, and how Accept chooses.

RFC 9110, 12.5.1 for Accept; SPARQL 1.1 Protocol 2.1.5 for the formats.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyoxigraph import QueryResultsFormat, RdfFormat

from triplewire.broker.errors import NotAcceptable, UnsupportedMediaType

if TYPE_CHECKING:
    from triplewire.broker.model import QueryForm


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """A way to write an answer: the media type we send, the names it is asked for by, Oxigraph's writer."""

    media_type: str
    names: tuple[str, ...]
    writer: QueryResultsFormat | RdfFormat
    charset: bool = True

    @property
    def content_type(self) -> str:
        """The value of Content-Type."""
        return f"{self.media_type}; charset=utf-8" if self.charset else self.media_type


Formats: TypeAlias = tuple[AnswerFormat, ...]

# What stands between commas and semicolons, which may also stand in quotes (RFC 9110, 5.6.4 and 5.6.6).
_QUOTED = r'"(?:[^"\\]|\\.)*"?'
_COMMAS = re.compile(f'(?:[^,"]|{_QUOTED})+')
_SEMICOLONS = re.compile(f'(?:[^;"]|{_QUOTED})+')

# In the order of preference where Accept leaves the choice: JSON first, as SEPA's clients need.
JSON = AnswerFormat(
    "application/sparql-results+json",
    ("application/json", "text/json"),
    QueryResultsFormat.JSON,
    charset=False,
)
XML = AnswerFormat(
    "application/sparql-results+xml", ("application/xml", "text/xml"), QueryResultsFormat.XML, charset=False
)
CSV = AnswerFormat("text/csv", (), QueryResultsFormat.CSV)
TSV = AnswerFormat("text/tab-separated-values", ("text/tsv",), QueryResultsFormat.TSV)
RESULTS: Formats = (JSON, XML, CSV, TSV)

TURTLE = AnswerFormat("text/turtle", ("application/turtle", "application/x-turtle"), RdfFormat.TURTLE)
N_TRIPLES = AnswerFormat("application/n-triples", ("text/plain",), RdfFormat.N_TRIPLES)
RDF_XML = AnswerFormat(
    "application/rdf+xml", ("application/xml", "text/xml"), RdfFormat.RDF_XML, charset=False
)
JSON_LD = AnswerFormat("application/ld+json", ("application/json",), RdfFormat.JSON_LD, charset=False)
N3 = AnswerFormat("text/n3", ("text/rdf+n3",), RdfFormat.N3)
TRIG = AnswerFormat("application/trig", ("application/x-trig",), RdfFormat.TRIG)
N_QUADS = AnswerFormat("application/n-quads", ("text/x-nquads", "text/nquads"), RdfFormat.N_QUADS)
GRAPHS: Formats = (TURTLE, N_TRIPLES, RDF_XML, JSON_LD, N3, TRIG, N_QUADS)


def formats_of(form: QueryForm) -> Formats:
    """The formats that answers of this form can be written in."""
    return GRAPHS if form.is_graph else RESULTS


def negotiate(accept: str | None, formats: Formats) -> AnswerFormat:
    """The format of `formats` that the Accept header wants most; the first where it does not care.

    Raises:
        NotAcceptable: it rules out all of them.
    """
    if accept is None or not accept.strip():
        return formats[0]
    ranges = _ranges(accept)
    best, best_rank = None, (0.0, 0)
    for place, format_ in enumerate(formats):
        rank = (_quality(ranges, format_), -place)
        if rank[0] > 0 and (best is None or rank > best_rank):
            best, best_rank = format_, rank
    if best is None:
        offered = ", ".join(format_.media_type for format_ in formats)
        raise NotAcceptable(
            f"none of the media types in Accept can be made of this answer; there are {offered}"
        )
    return best


def _ranges(accept: str) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for part in _COMMAS.findall(accept):
        name, *parameters = _SEMICOLONS.findall(part) or [""]
        quality = 1.0
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip().lower() == "q":
                quality = _number(value)
        if name.strip():
            found.append((name.strip().lower(), quality))
    return found


def _number(value: str) -> float:
    try:
        return min(max(float(value.strip()), 0.0), 1.0)
    except ValueError:
        return 0.0


def _quality(ranges: list[tuple[str, float]], format_: AnswerFormat) -> float:
    """The quality of the most specific range that names the format (RFC 9110, 12.5.1)."""
    specificity, quality = -1, 0.0
    major = format_.media_type.partition("/")[0]
    for name, q in ranges:
        if name == format_.media_type:
            found = 3
        elif name in format_.names:
            found = 2
        elif name == f"{major}/*":
            found = 1
        elif name == "*/*":
            found = 0
        else:
            continue
        if found > specificity or (found == specificity and q > quality):
            specificity, quality = found, q
    return quality


def essence(content_type: str | None) -> str:
    """The media type without its parameters, in lower case."""
    return (content_type or "").partition(";")[0].strip().lower()


def parameter(content_type: str | None, name: str) -> str | None:
    """One parameter of a media type, unquoted."""
    parts: list[str] = _SEMICOLONS.findall(content_type or "")
    for part in parts[1:]:
        key, _, value = part.partition("=")
        if key.strip().lower() == name:
            return value.strip().strip('"')
    return None


def rdf_format(content_type: str | None) -> RdfFormat:
    """The reader for a document of this media type.

    Raises:
        UnsupportedMediaType: there is none.
    """
    media_type = essence(content_type)
    # text/plain and the generic types are too vague to read from
    for format_ in GRAPHS:
        if media_type == format_.media_type or (
            media_type in format_.names and media_type not in {"text/plain", "application/json"}
        ):
            assert isinstance(format_.writer, RdfFormat)
            return format_.writer
    known = ", ".join(format_.media_type for format_ in GRAPHS)
    given = f"{media_type!r} is not read here" if media_type else "the body needs a Content-Type"
    raise UnsupportedMediaType(f"{given}; there are {known}")
