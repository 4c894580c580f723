"""What the body of an item says in RDF, for filters of streams on both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyoxigraph
from pyoxigraph import Literal, NamedNode, Triple

from triplewire.broker.errors import BrokerError

from .depth import check_depth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyoxigraph import BlankNode, Quad, RdfFormat

_NESTING = 100
_BASE = "http://localhost/"


def quads_in(body: bytes, format_: RdfFormat) -> tuple[Quad, ...]:
    """Its quads; none where it is not well-formed, or nested too deep to be read."""
    try:
        check_depth(body, format_, _NESTING)
        return tuple(pyoxigraph.parse(body, format=format_, base_iri=_BASE))
    except (BrokerError, ValueError, SyntaxError):  # SyntaxError is what Oxigraph raises
        return ()


def iris_of(quad: Quad) -> Iterator[str]:
    """The IRIs in its triple, those of datatypes and inside of triple terms as well."""
    ahead: list[NamedNode | BlankNode | Literal | Triple] = [quad.subject, quad.predicate, quad.object]
    while ahead:
        term = ahead.pop()
        if isinstance(term, NamedNode):
            yield term.value
        elif isinstance(term, Literal):
            yield term.datatype.value
        elif isinstance(term, Triple):
            ahead += [term.subject, term.predicate, term.object]
