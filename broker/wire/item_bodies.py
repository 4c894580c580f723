"""Bodies that Ztreamy's clients parse as they come: those that can't be parsed (facts: Ztreamy's wire format, 1.1 and 1.9).

Its client for Python dies of a body of `text/n3`, `application/json` or `application/ld+json` that it can't read, in
silence, and hears nothing more.  So a gate looks at these, and at no others; it changes none of them.  N3 is read as RDF:
its variables are refused.  Where Oxigraph and rdflib differ, a body can pass here and end a client there.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pyoxigraph
from pyoxigraph import RdfFormat

from triplewire.broker.errors import QueryTooComplex

from .depth import json_of
from .items import ItemError
from .media import essence

if TYPE_CHECKING:
    from .items import Item

JSON: Final = "application/json"
_JSON_LD: Final = "application/ld+json"
_N3: Final = "text/n3"
_BASE: Final = "http://localhost/"  # relative IRIs are fine: each client has a base of its own


def check_body(item: Item) -> None:
    """Refuse a body that would end a client.  Takes about 15 us for a kilobyte of N3, and holds the lock of Python.

    Raises:
        ItemError: it is not what Syntax says, nests too deeply or has too many parts.
    """
    media_type = essence(item.syntax)
    if media_type in {JSON, _JSON_LD}:
        json_value(item.body)
    elif media_type == _N3:
        _check_n3(item.body)


def json_value(body: bytes) -> Any:
    """What a body of JSON says; NaN and infinities are not JSON, whatever Python says.

    Raises:
        ItemError: it is not JSON, nests too deeply or has too many parts.
    """
    try:
        said = json_of(body.decode())
        json.dumps(said, allow_nan=False)
    except QueryTooComplex as error:
        raise ItemError(error.description, "body") from error
    except UnicodeDecodeError as error:
        raise ItemError(f"byte {error.start} is not UTF-8", "body") from error
    except ValueError as error:
        raise ItemError(f"is not JSON: {error}", "body") from error
    return said


def _check_n3(body: bytes) -> None:
    try:
        for _ in pyoxigraph.parse(body, format=RdfFormat.N3, base_iri=_BASE):
            pass
    except (SyntaxError, ValueError) as error:
        raise ItemError(f"is not N3 of RDF: {ascii(str(error))[1:-1]:.300}", "body") from error
