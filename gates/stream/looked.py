"""An item as filters look at it: what its body says in RDF is read once, whoever asks, and only if somebody does."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

from pyoxigraph import Quad, RdfFormat, Store

from triplewire.broker.wire.item_rdf import iris_of, quads_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triplewire.broker.wire.items import Item

RDF_SYNTAXES: Mapping[str, RdfFormat] = types.MappingProxyType(
    {
        "text/turtle": RdfFormat.TURTLE,
        "application/x-turtle": RdfFormat.TURTLE,
        "application/n-triples": RdfFormat.N_TRIPLES,
        "text/n3": RdfFormat.N3,
        "text/rdf+n3": RdfFormat.N3,
        "application/ld+json": RdfFormat.JSON_LD,
        "application/rdf+xml": RdfFormat.RDF_XML,
        "application/trig": RdfFormat.TRIG,
        "application/n-quads": RdfFormat.N_QUADS,
    }
)
# A filter is asked on the event loop: reading more than this would be felt by all others.
MOST_BYTES = 256 * 1024


def rdf_format(syntax: str) -> RdfFormat | None:
    """What reads a body of that Syntax, which may have parameters; None where it is not RDF."""
    return RDF_SYNTAXES.get(syntax.partition(";")[0].strip().lower())


class Looked:
    """An item, and what was found out about it so far."""

    __slots__ = ("_iris", "_quads", "_store", "item")

    def __init__(self, item: Item) -> None:
        self.item = item
        self._quads: tuple[Quad, ...] | None = None
        self._iris: frozenset[str] | None = None
        self._store: Store | None = None

    @property
    def quads(self) -> tuple[Quad, ...]:
        """What its body says; nothing where that is not RDF, is not well-formed, or is over MOST_BYTES."""
        if self._quads is None:
            self._quads = tuple(_parsed(self.item))
        return self._quads

    @property
    def iris(self) -> frozenset[str]:
        """The IRIs in it, those of datatypes as well."""
        if self._iris is None:
            self._iris = frozenset(iri for quad in self.quads for iri in iris_of(quad))
        return self._iris

    @property
    def store(self) -> Store:
        """It as a default graph, for queries."""
        if self._store is None:
            self._store = Store()
            self._store.extend(Quad(*quad.triple) for quad in self.quads)
        return self._store


def _parsed(item: Item) -> tuple[Quad, ...]:
    format_ = rdf_format(item.syntax)
    if format_ is None or len(item.body) > MOST_BYTES:
        return ()
    return quads_in(item.body, format_)
