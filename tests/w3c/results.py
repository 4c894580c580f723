"""Answers of SPARQL as bags of rows, however they are written down, and whether two of them are the same.

ASK's answer is one row over `boolean`; a graph is a set of rows over `subject predicate object`, a dataset has `graph`
too.  Rows are compared up to the names of blank nodes, and literals by their value inside one datatype: a store may
write `"1.0"^^xsd:decimal` for `"1.00"^^xsd:decimal`.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

from pyoxigraph import (
    BlankNode,
    Literal,
    QueryBoolean,
    QueryResultsFormat,
    QuerySolutions,
    QueryTriples,
    RdfFormat,
    Store,
    parse,
    parse_query_results,
)

from w3c.isomorphism import isomorphic
from w3c.manifests import path_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyoxigraph import Quad, Triple

CSV, TSV = "text/csv", "text/tab-separated-values"
MEDIA_TYPES = {
    ".srx": "application/sparql-results+xml",
    ".srj": "application/sparql-results+json",
    ".csv": CSV,
    ".tsv": TSV,
    ".ttl": "text/turtle",
    ".rdf": "application/rdf+xml",
}
BOOLEAN = ("boolean",)
TRIPLE = ("subject", "predicate", "object")
XSD = "http://www.w3.org/2001/XMLSchema#"
RESULT_SET = """
PREFIX rs: <http://www.w3.org/2001/sw/DataAccess/tests/result-set#>
SELECT * WHERE {
  ?set a rs:ResultSet
  OPTIONAL { ?set rs:resultVariable|rs:boolean ?head }
  OPTIONAL {
    ?set rs:solution ?solution
    OPTIONAL { ?solution rs:index ?index }
    OPTIONAL { ?solution rs:binding [ rs:variable ?variable ; rs:value ?value ] }
  }
}"""

Row: TypeAlias = tuple[object, ...]


class Disagreement(AssertionError):
    """The answer is an answer of SPARQL, but not the expected one."""


@dataclass(frozen=True)
class Answer:
    """`ordered`: the order of the rows counts.  `columns_ordered`: that of the variables does."""

    variables: tuple[str, ...]
    rows: tuple[Row, ...]
    ordered: bool = False
    columns_ordered: bool = False


# The answer to a text that is not SPARQL.
NOT_SPARQL = Answer(("not SPARQL",), ())


def check(got: Answer, expected: Answer, *, lax: bool = False) -> None:
    """Raise Disagreement where `got` is not what `expected` says; `lax` lets duplicates go."""
    if set(got.variables) != set(expected.variables) or (
        expected.columns_ordered and got.variables != expected.variables
    ):
        raise Disagreement(f"variables: got {got.variables}, expected {expected.variables}")
    left, right = _rows(got, expected.variables), _rows(expected, expected.variables)
    if expected.ordered:
        left, right = list(enumerated(left)), list(enumerated(right))
    if lax:
        left, right = list(set(left)), list(set(right))
    if not isomorphic(left, right):
        raise Disagreement(f"rows: got {_shown(left)}\nexpected {_shown(right)}")


def enumerated(rows: Iterable[Row]) -> Iterable[Row]:
    """Each row with its place as one more column, by which a sequence becomes a bag."""
    return ((place, *row) for place, row in enumerate(rows))


def _rows(answer: Answer, variables: tuple[str, ...]) -> list[Row]:
    places = [answer.variables.index(name) for name in variables]
    return [tuple(by_value(row[place]) for place in places) for row in answer.rows]


def _shown(rows: list[Row]) -> str:
    return f"{len(rows)}: " + "; ".join(sorted(" ".join(map(str, row)) for row in rows))[:2000]


def by_value(term: object) -> object:
    """A number, boolean, date or language tag in one spelling of all that mean the same."""
    if not isinstance(term, Literal):
        return term
    if term.language is not None:
        return Literal(term.value, language=term.language.lower())
    kind = term.datatype.value.removeprefix(XSD)
    try:
        if kind in {"integer", "decimal"}:
            return Literal(format(Decimal(term.value).normalize(), "f"), datatype=term.datatype)
        if kind in {"double", "float"}:
            return Literal(repr(float(term.value)), datatype=term.datatype)
    except (ArithmeticError, ValueError):
        return term
    if kind == "boolean":
        return Literal({"1": "true", "0": "false"}.get(term.value, term.value), datatype=term.datatype)
    if kind in {"date", "dateTime", "time"}:
        return Literal(re.sub(r"[+-]00:00$", "Z", term.value), datatype=term.datatype)
    return term


def read(iri: str) -> Answer:
    """The expected answer in a file of the suites."""
    path = path_of(iri)
    media_type = MEDIA_TYPES[path.suffix]
    if path.suffix not in {".ttl", ".rdf"}:
        return decode(path.read_bytes(), media_type)
    store = Store()
    store.load(path=path, base_iri=iri, format=RdfFormat.from_media_type(media_type))
    found = list(store.query(RESULT_SET))
    return _result_set(found) if found else graph(store)


def _result_set(found: list) -> Answer:
    """DAWG's result sets in RDF; rs:index orders the rows where it is there."""
    head = tuple(dict.fromkeys(row["head"] for row in found if row["head"] is not None))
    if head and head[0].datatype.value == XSD + "boolean":
        return Answer(BOOLEAN, (head,))
    variables = tuple(name.value for name in head)
    solutions: dict[object, dict[str, object]] = {}
    places: dict[object, int] = {}
    for row in found:
        if row["solution"] is not None:
            solution = solutions.setdefault(row["solution"], {})
            if row["variable"] is not None:
                solution[row["variable"].value] = row["value"]
            if row["index"] is not None:
                places[row["solution"]] = int(row["index"].value)
    order = sorted(solutions, key=lambda solution: places.get(solution, 0))
    rows = tuple(tuple(solutions[key].get(name) for name in variables) for key in order)
    return Answer(variables, rows, ordered=bool(places))


def decode(data: bytes, content_type: str, base: str = "http://localhost/") -> Answer:
    """What a server said; `base` is where it said it."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type == CSV:
        return _csv(data.decode())
    format_ = QueryResultsFormat.from_media_type(media_type)
    if format_ is not None:
        return _solutions(parse_query_results(data, format=format_), columns_ordered=media_type == TSV)
    format_ = RdfFormat.from_media_type(media_type)
    if format_ is None:
        raise Disagreement(f"an answer of type {content_type!r}")
    return graph(parse(data, format=format_, base_iri=base))


def _csv(text: str) -> Answer:
    """Results CSV 3.2: a cell tells the value and not the kind of a term; only blank nodes can be known, by `_:`."""
    head, *rows = csv.reader(text.splitlines())
    return Answer(tuple(head), tuple(tuple(map(_cell, row)) for row in rows), columns_ordered=True)


def _cell(text: str) -> object:
    if text.startswith("_:"):
        return BlankNode(text[2:])
    try:
        return float(text)
    except ValueError:
        return text


def _solutions(found: QuerySolutions | QueryBoolean, *, columns_ordered: bool) -> Answer:
    if isinstance(found, QueryBoolean):
        return Answer(BOOLEAN, ((Literal(bool(found)),),))
    variables = tuple(variable.value for variable in found.variables)
    return Answer(variables, tuple(tuple(row) for row in found), columns_ordered=columns_ordered)


def graph(triples: Iterable[Triple | Quad]) -> Answer:
    """A graph, whatever graph name its quads have."""
    rows = dict.fromkeys((triple.subject, triple.predicate, triple.object) for triple in triples)
    return Answer(TRIPLE, tuple(rows))


def evaluated(found: QuerySolutions | QueryBoolean | QueryTriples, media_type: str) -> Answer:
    """What the engine said, by the way of the same format as the expected answer."""
    if isinstance(found, QueryTriples):
        return graph(found)
    format_ = QueryResultsFormat.from_media_type(media_type) or QueryResultsFormat.JSON
    return decode(found.serialize(format=format_), format_.media_type)
