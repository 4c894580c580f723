"""What stands before the readers of documents: depth that would end or hang the process, and JSON that is a lot of work.

Measured on pyoxigraph 0.5: 5,000 nested JSON-LD objects or 50,000 triple terms overflow the stack, 50,000 nested RDF/XML
elements or ten lines of entities that multiply each other (billion laughs) take for ever.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn
from xml.parsers import expat

from pyoxigraph import RdfFormat

from triplewire.broker.errors import QueryTooComplex, RequestError
from triplewire.broker.tokens import tokens

# One that never ends takes all the rest, also where that is in the middle of an escape: nobody scans it again.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
_JSON = re.compile(rf"{_STRING}|[\[{{]|[\]}}]".encode(), re.DOTALL)
_MARKS = re.compile(rf"{_STRING}|[\[{{]|[\]}}]|,", re.DOTALL)
# Of a message or a small document, whose sender has no reason for more: real ones have some dozens.
MOST_MARKS = 50_000
MOST_NESTED = 100


def check_depth(data: bytes, format_: RdfFormat, nesting: int) -> None:
    """Refuse a document that is nested deeper than `nesting`.

    Raises:
        QueryTooComplex: it is, or its entities multiply.
        RequestError: it is RDF/XML and not well-formed.
    """
    if format_ == RdfFormat.RDF_XML:
        _check_xml(data, nesting)
    elif format_ in {RdfFormat.JSON_LD, RdfFormat.STREAMING_JSON_LD}:
        _check_json(data, nesting)
    elif data.count(b"<<") > nesting:
        _check_triple_terms(data, nesting)


def json_of(text: str) -> Any:
    """What a JSON text of a stranger says.

    Looked at before it is read: 16 MB of `[],` would be a second of work and 400 MB of lists.

    Raises:
        QueryTooComplex: it nests deeper than MOST_NESTED, or has more than MOST_MARKS strings, brackets and commas.
        ValueError: it is not JSON.
    """
    opened = text.count("[") + text.count("{")
    if opened > MOST_NESTED or opened + text.count(",") + text.count('"') > MOST_MARKS:
        _count_marks(text)  # to count characters is next to nothing, and most texts have few of them
    return json.loads(text)


def _count_marks(text: str) -> None:
    depth = 0
    for count, match in enumerate(_MARKS.finditer(text), 1):
        mark = match.group()
        if mark in {"{", "["}:
            depth += 1
        elif mark in {"}", "]"}:
            depth -= 1
        if depth > MOST_NESTED:
            raise QueryTooComplex(f"the JSON is nested too deeply: {MOST_NESTED} levels are read")
        if count > MOST_MARKS:
            raise QueryTooComplex(f"the JSON has more than {MOST_MARKS} strings, brackets and commas")


def _check_json(data: bytes, nesting: int) -> None:
    if data.count(b"{") + data.count(b"[") <= nesting:
        return
    depth = 0
    for match in _JSON.finditer(data):
        mark = match.group()
        if mark in {b"{", b"["}:
            depth += 1
            if depth > nesting:
                _too_deep(nesting)
        elif mark in {b"}", b"]"}:
            depth -= 1


def _check_triple_terms(data: bytes, nesting: int) -> None:
    depth = 0
    for token in tokens(data.decode("utf-8", "replace")):
        if token.text in {"<<", "<<("}:
            depth += 1
            if depth > nesting:
                _too_deep(nesting)
        elif token.text in {">>", ")>>"}:
            depth -= 1


def _check_xml(data: bytes, nesting: int) -> None:
    depth = 0

    def start(_: str, __: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > nesting:
            _too_deep(nesting)

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    def entity(name: str, _: bool, value: str | None, *__: str | None) -> None:
        # expat expands what is used, Oxigraph what is declared
        if value is not None and "&" in value:
            raise QueryTooComplex(f"the entity {name:.40} refers to other entities; that is not read here")

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = entity
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        # expat itself bounds how much entities may multiply (CVE-2013-0340), and fetches none from elsewhere
        parser.Parse(data, True)
    except expat.ExpatError as error:
        if "amplification" in str(error):
            raise QueryTooComplex(f"the document's entities multiply too much: {error}") from error
        raise RequestError(f"the body is not RDF/XML: {error}", code="parsing failed") from error
    except LookupError as error:
        raise RequestError(f"the body is not RDF/XML: {error}", code="parsing failed") from error


def _too_deep(nesting: int) -> NoReturn:
    raise QueryTooComplex(f"the document is nested more than {nesting} deep (limits.nesting)")
