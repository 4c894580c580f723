"""Names for the blank nodes of an item, so that to store it twice is to store it once (RDF 1.1 Concepts, 3.5).

A blank node of an update is a new one each time: what is stored again, because nobody knows whether it was, would be
there twice.  An IRI that follows from the item, and from the node's place in it, is the same each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID, uuid5

import pyoxigraph
from pyoxigraph import BlankNode, NamedNode, RdfFormat, Triple

if TYPE_CHECKING:
    from triplewire.broker.model import Term

# Made for this: the names in it are this module's alone (RFC 9562, 5.5).
_NAMESPACE = UUID("0b2e1f5c-51ce-4c0e-9d9e-6f4f3f8a7a55")


def skolemized(triples: str, item: str) -> str:
    """The N-Triples with an IRI, `urn:uuid:..`, for each blank node; `item` tells the item from all that ever were."""
    if "_:" not in triples:
        return triples
    names = _Names(item)
    named = [names.triple(quad.triple) for quad in pyoxigraph.parse(triples, format=RdfFormat.N_TRIPLES)]
    return (pyoxigraph.serialize(named, format=RdfFormat.N_TRIPLES) or b"").decode()


class _Names:
    """Those of one item, given in the order in which its nodes appear: their labels differ each time it is read."""

    def __init__(self, item: str) -> None:
        self._item = item
        self._named: dict[BlankNode, NamedNode] = {}

    def triple(self, triple: Triple) -> Triple:
        subject, object_ = triple.subject, triple.object
        return Triple(
            self._name(subject) if isinstance(subject, BlankNode) else subject,
            triple.predicate,
            self._term(object_),
        )

    def _term(self, term: Term) -> Term:
        if isinstance(term, Triple):
            return self.triple(term)
        return self._name(term) if isinstance(term, BlankNode) else term

    def _name(self, node: BlankNode) -> NamedNode:
        if node not in self._named:
            self._named[node] = NamedNode(f"urn:uuid:{uuid5(_NAMESPACE, f'{len(self._named)} {self._item}')}")
        return self._named[node]
