"""Changes of the journal as rows: one for each quad that came or went, its terms as texts of N-Triples.

Oxigraph writes a line of N-Quads in one form only, so a line falls into its terms by one regular expression; what that
does not know (RDF 1.2 has triples as terms) goes through Oxigraph's parser, which takes twice as long.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
from pyoxigraph import BlankNode, NamedNode, Quad, Triple

from triplewire.broker.journal.quad_lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from triplewire.broker.journal.record import Record

# As Spark has it; `graph` is null for the default graph.
SCHEMA: Final = (
    "sequence bigint, time timestamp, client string, added boolean, "
    "graph string, subject string, predicate string, object string"
)
_ARROW: Final = pa.schema(
    [
        ("sequence", pa.int64()),
        ("time", pa.timestamp("us", tz="UTC")),
        ("client", pa.string()),
        ("added", pa.bool_()),
        ("graph", pa.string()),
        ("subject", pa.string()),
        ("predicate", pa.string()),
        ("object", pa.string()),
    ]
)
_AT_ONCE: Final = 10_000
_BYTES_AT_ONCE: Final = 4 * 1024 * 1024
_IRI: Final = "<[^>]*>"
_BLANK: Final = r"_:\S+"
_LITERAL: Final = rf'"[^"\\]*(?:\\.[^"\\]*)*"(?:\^\^{_IRI}|@[A-Za-z0-9-]+)?'
_LINE: Final = re.compile(
    rf"({_IRI}|{_BLANK}) ({_IRI}) ({_IRI}|{_BLANK}|{_LITERAL})(?: ({_IRI}|{_BLANK}))? \.", re.DOTALL
)


class QuadTexts(NamedTuple):
    """The terms of a quad as N-Triples writes them."""

    graph: str | None
    subject: str
    predicate: str
    object: str


class ChangeRow(NamedTuple):
    """One row; `time_ms` is since 1970, and `added` False says that the quad went."""

    sequence: int
    time_ms: int
    client: str
    added: bool
    quad: QuadTexts


def quads_of(lines: bytes) -> Iterator[QuadTexts]:
    """The quads of canonical N-Quads.

    Raises:
        SyntaxError: it is not that.
    """
    # Not splitlines: a literal may hold what Unicode takes for the end of a line.
    for line in lines.decode().split("\n"):
        if found := _LINE.fullmatch(line):
            subject, predicate, object_, graph = found.groups()
            yield QuadTexts(graph, subject, predicate, object_)
        elif line:
            yield from map(_texts, read_lines(f"{line}\n".encode()))


def _texts(quad: Quad) -> QuadTexts:
    graph = str(quad.graph_name) if isinstance(quad.graph_name, NamedNode | BlankNode) else None
    object_ = f"<<( {quad.object} )>>" if isinstance(quad.object, Triple) else str(quad.object)
    return QuadTexts(graph, str(quad.subject), str(quad.predicate), object_)


def rows_of(record: Record) -> Iterator[ChangeRow]:
    """What went and then what came by one change; nothing for one of empty graphs only."""
    for added, lines in ((False, record.deleted), (True, record.inserted)):
        for quad in quads_of(lines):
            yield ChangeRow(record.sequence, record.time_ms, record.client, added, quad)


def arrow_batches(rows: Iterable[ChangeRow]) -> Iterator[pa.RecordBatch]:
    """The rows in batches that Spark takes as they are."""
    waiting: list[ChangeRow] = []
    size = 0
    for row in rows:
        waiting.append(row)
        size += len(row.quad.object)
        if len(waiting) >= _AT_ONCE or size >= _BYTES_AT_ONCE:
            yield _batch(waiting)
            waiting, size = [], 0
    if waiting:
        yield _batch(waiting)


def _batch(rows: list[ChangeRow]) -> pa.RecordBatch:
    columns: list[list[object]] = [
        [row.sequence for row in rows],
        [row.time_ms * 1000 for row in rows],
        [row.client for row in rows],
        [row.added for row in rows],
        *map(list, zip(*[row.quad for row in rows], strict=True)),
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
