"""What a mapping says, whatever language it was written in: rows of sources become quads.

RML, R2RML and the short form for observations are read into this; Spark carries it out (`execution.py`).  A plan is data:
it has no behaviour and knows no engine, so that it can be carried out by another, row by row, and compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class TermType(StrEnum):
    """What a term map makes (R2RML 7.4)."""

    IRI = "iri"
    BLANK = "blank"
    LITERAL = "literal"


@dataclass(frozen=True, slots=True)
class Constant:
    """The same text for each row."""

    value: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A column of the row, or a path into it: `a.b` of JSON."""

    name: str


@dataclass(frozen=True, slots=True)
class Template:
    """Texts and references in turn; values in IRIs are percent-encoded (R2RML 7.3)."""

    parts: tuple[str | Reference, ...]


Expression: TypeAlias = Constant | Reference | Template


@dataclass(frozen=True, slots=True)
class Number:
    """A text is read as a number, and written in the canonical form of its datatype; what is none breaks the row."""

    decimal: str = "."
    grouping: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """A text is read as a moment, and written as xsd:dateTime in UTC; what is none, or never was, breaks the row.

    `formats` are Spark's datetime patterns, tried in turn; none: ISO 8601, and `epoch_s`/`epoch_ms` count from 1970.
    `zone` is where the clock hung, for texts without an offset: of the two hours that bear one name in autumn the first
    is meant, and the hour that spring leaves out never was.
    """

    formats: tuple[str, ...] = ()
    zone: str = "UTC"


Reading: TypeAlias = Number | Moment


@dataclass(frozen=True, slots=True)
class TermMap:
    """How one position of a quad is made (R2RML 6); `type` of an IRI resolves against the mapping's base.

    `datatype` and `language` are of literals; without either the source's own type decides where it has one (RML's
    natural mapping: JSON's numbers and truth values, Parquet's types), else it is a string.
    """

    expression: Expression
    type: TermType
    datatype: str | None = None
    language: Constant | Reference | None = None
    reading: Reading | None = None


@dataclass(frozen=True, slots=True)
class Join:
    """The object is made of rows of another source that agree in all of these (child, parent); none: of all rows."""

    parent: str
    on: tuple[tuple[Reference, Reference], ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """Where rows come from: `path` is a file, a directory or a glob, which the command line may replace.

    `format` is csv, json (one document), jsonl, parquet, orc, items (of a stream), journal; `iterator` is the JSONPath
    of its rows in a JSON document.
    """

    name: str
    path: str
    format: str
    iterator: str = ""
    delimiter: str = ","
    quote: str = '"'
    encoding: str = "UTF-8"
    header: bool = True
    multiline: bool = False
    nulls: tuple[str, ...] = ("",)
    columns: tuple[str, ...] = ()  # their names where there is no header


@dataclass(frozen=True, slots=True)
class Rule:
    """One quad of each row.  A part that is null makes none; where the rule is `required` that breaks the row."""

    source: str
    subject: TermMap
    predicate: TermMap
    object: TermMap
    graph: TermMap | None = None
    join: Join | None = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class Mapping:
    """Sources by name, and rules.  A row that breaks one rule makes no quad at all, and goes into the quarantine."""

    sources: tuple[Source, ...]
    rules: tuple[Rule, ...]
    base_iri: str = "http://localhost/"

    def source(self, name: str) -> Source:
        """The one of that name."""
        return next(source for source in self.sources if source.name == name)
