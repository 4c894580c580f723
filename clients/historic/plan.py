r"""What a mapping says, whatever language it was written in: rows of sources become quads.

RML, R2RML and the short form for observations are read into this; Spark carries it out (`execution.py`).  A plan is data:
it has no behaviour and knows no engine, so that it can be carried out by another, row by row, and compared.

What comes out are lines in the canonical form of N-Quads (RDF 1.2 N-Quads, section 3): in literals `\b \t \n \f \r \" \\`,
other controls, U+007F, U+FFFE and U+FFFF as `\u00XX` in capitals, all else as it is; no datatype where it is xsd:string.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class TermType(StrEnum):
    """What a term map makes (R2RML 7.4).

    A blank node is written as the IRI of `blank_nodes.genid()` (RDF 1.1 Concepts 3.5), so that loading twice changes nothing.
    """

    IRI = "iri"
    BLANK = "blank"
    LITERAL = "literal"


class Encoding(StrEnum):
    """What is percent-encoded of a value in a template that makes an IRI: each byte of UTF-8, capital hex digits."""

    IRI = "iri"  # all but iunreserved of RFC 3987 2.2, so that letters of any script stay (R2RML 7.3)
    URI = "uri"  # all but unreserved of RFC 3986 2.3 (RML: termType rml:URI)
    NONE = "none"  # nothing (RML: termType rml:UnsafeIRI); what is no IRI then breaks the row


@dataclass(frozen=True, slots=True)
class Constant:
    """The same text for each row."""

    value: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A column of the row, or a path into it: `a.b` of JSON.

    `path` is that path in steps: a member's name, an element's index from 0, or None for each element (`[*]`), which gives
    a term for each value, and so a quad for each combination; it is empty where `name` is a column.  A missing member is
    null; an object or an array where a value should be breaks the row (not a value).
    `reading` is done before a value goes into a template or a table: the same moment gives the same text.
    `joined` is for one value in several columns, a day and an hour: it is their texts and what stands between them, null
    where one of them is null; `name` is then the template of it, and no column.
    """

    name: str
    path: tuple[str | int | None, ...] = ()
    reading: Reading | None = None
    joined: tuple[str | Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class Template:
    """Texts and references in turn; values in IRIs are percent-encoded (R2RML 7.3).  One null makes it null."""

    parts: tuple[str | Reference | Lookup, ...]


@dataclass(frozen=True, slots=True)
class Lookup:
    """What `table` (name, text) has for a value, exactly; null stays null, what it does not have breaks the row."""

    of: Reference
    table: tuple[tuple[str, str], ...]


Expression: TypeAlias = Constant | Reference | Template | Lookup


@dataclass(frozen=True, slots=True)
class Number:
    r"""A text is read as a number, and written in the canonical form of its datatype; what is none breaks the row.

    White space around it is dropped (space, tab, CR, LF).  `grouping` stands between groups of three digits, or nowhere: `1,5` is no number
    where it is a comma.  Then, with a point, by XSD 1.1 part 2, E.1:
    - xsd:integer and what derives from it: `[+-]?[0-9]+(\.0*)?`, of any length; "-007.0" is "-7", "-0" is "0".
    - xsd:decimal: `[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)`, of any length, no exponent; "020.50" is "20.5", "20.0" is "20".
    - xsd:double, xsd:float: that with an exponent `([eE][+-]?[0-9]+)?`, or `INF`, `+INF`, `-INF`, `NaN` (XSD's spelling only); "20.50" is
      "2.05E1", 0 is "0.0E0", -0 "-0.0E0"; beyond the largest double is no number.  Digits are the fewest that mean the
      same double: where the text has 15 or less, they are its own.
    A datatype None is xsd:integer for digits alone, else the first of the two others that the text is.  A number of the
    source's own (JSON's, Parquet's) is taken by its value: 5.0 is an integer, 5.5 none, and for xsd:decimal there are at most
    18 digits after the point, rounded half up.  Truth values are no numbers.
    """

    decimal: str = "."
    grouping: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    r"""A text is read as a moment, and written as xsd:dateTime in UTC; what is none, or never was, breaks the row.

    `formats` are Spark's datetime patterns, tried in turn; none: ISO 8601, and `epoch_s`/`epoch_ms` count from 1970.
    `zone` is where the clock hung, for texts without an offset: of the two hours that bear one name in autumn the first
    is meant, and the hour that spring leaves out never was.  "" is no zone: such texts stay without an offset.
    White space around is dropped.  ISO 8601 is `yyyy-MM-dd` alone (midnight), or with `T` or a space and `HH:mm`, `HH:mm:ss` or
    `HH:mm:ss.S` (1 to 9 digits), and then nothing, `Z`, `+HH`, `+HHmm` or `+HH:mm` (at most 14:00).  24:00 and second 60 are
    impossible, and so is what is not in the years 0001 to 9999 (UTC).  `epoch_s` is `-?[0-9]+(\.[0-9]+)?`, `epoch_ms` `-?[0-9]+`.
    Written is XSD 1.1's canonical form: `2026-11-28T09:30:00Z`, with a fraction where it is not zero, without zeros at its
    end; digits behind the sixth are cut off.  A number of the source's own counts for `epoch_s` and `epoch_ms`.
    """

    formats: tuple[str, ...] = ()
    zone: str = "UTC"


Reading: TypeAlias = Number | Moment


@dataclass(frozen=True, slots=True)
class TermMap:
    """How one position of a quad is made (R2RML 6); `type` of an IRI resolves against the mapping's base.

    `datatype` and `language` are of literals; without either the source's own type decides where it has one (RML's
    natural mapping: JSON's numbers and truth values, Parquet's types), else it is a string.  An int is xsd:integer, a float
    xsd:double, true and false xsd:boolean, each in the canonical form of `Number`, which is also the value's text in templates.
    They may come from the row; null makes the term null, and they are looked at only where there is a value.
    `reading` is of a Reference (not of parts of templates; `Reference.reading` is theirs).
    A text that does not begin with a scheme (`[A-Za-z][A-Za-z0-9+.-]*:`) is put behind the base, as it is (R2RML 7.3); datatypes too.
    """

    expression: Expression
    type: TermType
    datatype: str | Reference | Template | None = None
    language: Expression | None = None
    reading: Reading | None = None
    base: str | None = None  # for the mapping's (RML: rml:baseIRI)
    encoding: Encoding = Encoding.IRI


@dataclass(frozen=True, slots=True)
class Join:
    """The object is made of rows of another source that agree in all of these (child, parent); none: of all rows.

    They are compared as texts, a template's without percent-encoding; null agrees with nothing.  A parent's row whose subject is
    null or broken is passed over; other rules that break it do not matter here.
    """

    parent: str
    on: tuple[tuple[Expression, Expression], ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """Where rows come from: `path` is a file, a directory or a glob, which the command line may replace.

    `format` is csv, json (one document), jsonl, parquet, orc, items (of a stream), journal; `iterator` is the JSONPath
    of its rows in a JSON document.  Cells of tables whose texts are in `nulls` are null; JSON has its own.
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
    """One quad of each row.  A part that is null makes none; where the rule is `required` that breaks the row.

    A row in which one of `given` is null is passed over: no quad, and nothing of the rule is looked at.  Otherwise all parts
    are, and each that is broken breaks the row, whether or not another is null.
    """

    source: str
    subject: TermMap
    predicate: TermMap
    object: TermMap
    graph: TermMap | None = None
    join: Join | None = None
    required: bool = False
    given: tuple[Reference, ...] = ()


# Added since the first version, all with defaults: Reference.joined (the newest), .path and .reading, Lookup, Encoding and TermMap.encoding,
# TermMap.base, Rule.given, Moment.zone = ""; datatype and language from the row; expressions in Join.on.
# The reference evaluator is tests/support/plain_mapping.py, RML's test cases tests/support/rml_case.py.
@dataclass(frozen=True, slots=True)
class Mapping:
    """Sources by name, and rules.  A row that breaks one rule makes no quad at all, and goes into the quarantine."""

    sources: tuple[Source, ...]
    rules: tuple[Rule, ...]
    base_iri: str = "http://localhost/"

    def source(self, name: str) -> Source:
        """The one of that name."""
        return next(source for source in self.sources if source.name == name)
