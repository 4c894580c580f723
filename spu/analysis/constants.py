"""Terms as they are written, and as the store holds them: `1.50` is held as `1.5`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode, Quad, QuerySolutions, Store

from .syntax import NotUnderstood

if TYPE_CHECKING:
    from triplewire.broker.model import Term

_SIMPLE_IRI = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:[^\\]*>")
_SIMPLE_STRING = re.compile(r'"[^"\\]*"')
_EMPTY = Store()
_ANY = NamedNode("urn:x-triplewire:any")


def term(text: str, base_iri: str | None, prologue: str) -> Term:
    """The term that `text` is behind these declarations, as the store holds it.

    Raises:
        NotUnderstood: it is none.
    """
    if _SIMPLE_IRI.fullmatch(text):
        return NamedNode(text[1:-1])
    if _SIMPLE_STRING.fullmatch(text):
        return Literal(text[1:-1])
    return _held(text, base_iri, prologue)


@lru_cache(maxsize=4096)
def _held(text: str, base_iri: str | None, prologue: str) -> Term:
    try:
        answer = _EMPTY.query(f"{prologue}\nSELECT ({text} AS ?term) {{}}", base_iri=base_iri)
    except (SyntaxError, ValueError, RuntimeError) as error:
        raise NotUnderstood(f"{text!r:.80} is no term") from error
    assert isinstance(answer, QuerySolutions), "it is a SELECT"
    found: Term | None = next(iter(answer))["term"]
    if found is None:
        raise NotUnderstood(f"{text!r:.80} has no value")
    if isinstance(found, NamedNode):
        return found
    store = Store()
    store.add(Quad(_ANY, _ANY, found))
    held: Term = next(iter(store)).object
    return held
