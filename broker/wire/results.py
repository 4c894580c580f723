"""SPARQL 1.1 Query Results JSON Format, as SEPA's notifications carry it, and back.

Oxigraph's own writer serves the answers to queries; this codec serves notifications, whose rows the broker holds.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import lru_cache
from json.encoder import encode_basestring
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any

from pyoxigraph import BaseDirection, BlankNode, Literal, NamedNode, Triple

from triplewire.broker.errors import ProtocolError
from triplewire.broker.model import Bindings, BindingsDelta

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triplewire.broker.model import Row, Term

XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def encode_term(term: Term) -> str:
    """A term as the JSON object of Results JSON 3.2.2 (triple terms and base directions as in its 1.2)."""
    if isinstance(term, NamedNode):
        return f'{{"type":"uri","value":{_quoted(term.value)}}}'
    if isinstance(term, Literal):
        return _encode_literal(term)
    if isinstance(term, BlankNode):
        return f'{{"type":"bnode","value":{_quoted(term.value)}}}'
    return _encode_triple(term)


def _encode_triple(term: Triple) -> str:
    parts: list[str] = []
    object_: Term = term
    while isinstance(object_, Triple):  # no recursion: an update can nest stored terms without end
        subject, predicate = encode_term(object_.subject), encode_term(object_.predicate)
        parts.append(f'{{"type":"triple","value":{{"subject":{subject},"predicate":{predicate},"object":')
        object_ = object_.object
    return "".join(parts) + encode_term(object_) + "}}" * len(parts)


def _encode_literal(term: Literal) -> str:
    value = _quoted(term.value)
    if term.language is not None:
        direction = f',"its:dir":{_quoted(str(term.direction))}' if term.direction is not None else ""
        return f'{{"type":"literal","value":{value},"xml:lang":{_quoted(term.language)}{direction}}}'
    datatype = term.datatype.value
    if datatype == XSD_STRING:
        return f'{{"type":"literal","value":{value}}}'
    return f'{{"type":"literal","value":{value},"datatype":{_quoted(datatype)}}}'


# Not ASCII-escaped: the wire is UTF-8, and a text in Georgian would be six times as long.
_quoted = encode_basestring


def decode_term(value: Any) -> Term:
    """The term of a Results JSON object.

    Raises:
        ProtocolError: it is not one.
    """
    around: list[tuple[Any, Any]] = []
    try:
        while value["type"] == "triple":
            parts = value["value"]
            around.append((_decode_plain(parts["subject"]), _decode_plain(parts["predicate"])))
            value = parts["object"]
        term: Term = _decode_plain(value)
        for subject, predicate in reversed(around):
            term = Triple(subject, predicate, term)  # its constructor checks
    except (KeyError, TypeError, ValueError) as error:
        raise ProtocolError(f"not an RDF term in Results JSON: {shortened(value):.100}") from error
    return term


def _decode_plain(value: Any) -> NamedNode | BlankNode | Literal:
    kind, text = value["type"], value["value"]
    if not isinstance(text, str):
        raise TypeError(text)
    if kind == "uri":
        return NamedNode(text)
    if kind == "bnode":
        return _decode_blank(text)
    if kind in {"literal", "typed-literal"}:
        return _decode_literal(text, value)
    raise ValueError(kind)


def _decode_blank(label: str) -> BlankNode:
    try:
        return BlankNode(label)
    except ValueError:  # Virtuoso's are `nodeID://b10001`
        return BlankNode(f"x{label.encode().hex()}")


def _decode_literal(text: str, value: dict[str, str]) -> Literal:
    language = value.get("xml:lang")
    if language is not None:
        direction = value.get("its:dir")
        return Literal(text, language=language, direction=BaseDirection(direction) if direction else None)
    datatype = value.get("datatype")
    return Literal(text, datatype=NamedNode(datatype)) if datatype is not None else Literal(text)


@lru_cache(maxsize=4096)
def _keys(variables: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{_quoted(name)}:" for name in variables)


def encode_rows(variables: tuple[str, ...], rows: Iterable[Row]) -> str:
    """Head and bindings; an unbound variable is left out of its row (Results JSON 3.2.1)."""
    keys = _keys(variables)
    bindings = ",".join(
        "{"
        + ",".join([key + encode_term(term) for key, term in zip(keys, row, strict=True) if term is not None])
        + "}"
        for row in rows
    )
    head = ",".join(_quoted(name) for name in variables)
    return f'{{"head":{{"vars":[{head}]}},"results":{{"bindings":[{bindings}]}}}}'


def encode_delta(delta: BindingsDelta) -> bytes:
    """The two members `addedResults` and `removedResults`, in full shape; encoded once for one delta."""
    if not delta.encoded:
        added = encode_rows(delta.vars, delta.added.elements())
        removed = encode_rows(delta.vars, delta.removed.elements())
        delta.encoded.append(f'"addedResults":{added},"removedResults":{removed}'.encode())
    return delta.encoded[0]


def decode_bindings(document: Any) -> Bindings:
    """The rows of a Results JSON document; ASK becomes one row over `boolean`.

    Raises:
        ProtocolError: it is not a Results JSON document.
    """
    if not isinstance(document, dict):
        raise ProtocolError("SPARQL results must be a JSON object")
    if isinstance(document.get("boolean"), bool):
        return Bindings(("boolean",), ((Literal(document["boolean"]),),))
    try:
        variables, found = document["head"].get("vars", []), document["results"]["bindings"]
    except (KeyError, TypeError, AttributeError) as error:
        raise ProtocolError("SPARQL results must have head.vars and results.bindings") from error
    if not isinstance(variables, list) or not all(isinstance(name, str) and name for name in variables):
        raise ProtocolError("head.vars must be an array of names")
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise ProtocolError("results.bindings must be an array of objects")
    rows = (tuple(decode_term(row[name]) if name in row else None for name in variables) for row in found)
    return Bindings(tuple(variables), tuple(rows))


def decode_delta(notification: dict[str, Any]) -> BindingsDelta:
    """The delta of a notification; an empty object (older brokers) is an empty bag.

    Raises:
        ProtocolError: a side is missing or is not Results JSON.
    """
    sides: list[Bindings] = []
    for member in ("addedResults", "removedResults"):
        found = notification.get(member)
        if found is None:
            raise ProtocolError(f"a notification must have {member}")
        sides.append(decode_bindings(found) if found else Bindings((), ()))
    added, removed = sides
    if added.vars and removed.vars and added.vars != removed.vars:
        raise ProtocolError("addedResults and removedResults must have the same head.vars")
    return BindingsDelta(added.vars or removed.vars, Counter(added.rows), Counter(removed.rows))


def parse_results(data: bytes | str) -> Bindings:
    """A whole Results JSON document.

    Raises:
        ProtocolError: it is not one.
    """
    try:
        return decode_bindings(json.loads(data))
    except ProtocolError:
        raise
    except (ValueError, RecursionError) as error:  # JSON's and UTF-8's errors are ValueErrors
        raise ProtocolError(f"SPARQL results must be JSON: {error}") from error
