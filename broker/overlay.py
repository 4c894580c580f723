"""The dataset as it will be: what is stored, with the changes that a request has worked out and not yet written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from .canonical import canonical
from .errors import Forbidden
from .model import QuadDelta
from .rights import ALL, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyoxigraph
    from pyoxigraph import BlankNode, Quad

    from .operations import GraphRef
    from .rights import Rights


class Overlay:
    """Net changes over a store; a quad that goes and comes back is no change.

    Quads that whoever has these `rights` may not add or take away are refused, whether or not that would change
    anything: what is in a graph is not to be told by what is refused.  `insert` and `delete` raise Forbidden.
    """

    def __init__(self, store: pyoxigraph.Store, rights: Rights = ALL) -> None:
        self._store = store
        self._rights = rights
        self._inserted: set[Quad] = set()
        self._deleted: set[Quad] = set()
        self._created: set[NamedNode] = set()
        self._dropped: set[NamedNode] = set()

    @property
    def is_empty(self) -> bool:
        """Whether nothing would change."""
        return not (self._inserted or self._deleted or self._created or self._dropped)

    def insert(self, quads: Iterable[Quad]) -> None:
        """Add quads, and the graphs that they are the first of."""
        stored = canonical(quads)
        if self._rights is not ALL:
            _check(stored, self._rights.may_append, "added to")
        self._inserted.update([quad for quad in stored if quad not in self._store])
        if self._deleted:
            self._deleted.difference_update(stored)
        for graph in {quad.graph_name for quad in stored}:
            if isinstance(graph, NamedNode):
                self.create(graph)

    def delete(self, quads: Iterable[Quad]) -> None:
        """Take quads away; their graphs stay, as Oxigraph keeps them."""
        stored = canonical(quads)
        if self._rights is not ALL:
            _check(stored, self._rights.may_write, "taken from")
        self._deleted.update([quad for quad in stored if quad in self._store])
        if self._inserted:
            self._inserted.difference_update(stored)

    def quads(self, graph: GraphRef | BlankNode) -> list[Quad]:
        """The quads of one graph."""
        stored = self._store.quads_for_pattern(None, None, None, graph)
        kept = [quad for quad in stored if quad not in self._deleted] if self._deleted else list(stored)
        return kept + [quad for quad in self._inserted if quad.graph_name == graph]

    def has_graph(self, graph: GraphRef) -> bool:
        """Whether a graph is there; the default graph always is."""
        if not isinstance(graph, NamedNode) or graph in self._created:
            return True
        return graph not in self._dropped and self._store.contains_named_graph(graph)

    def create(self, graph: NamedNode) -> None:
        """Make a graph be there."""
        if graph in self._dropped:
            self._dropped.discard(graph)
        elif graph not in self._created and not self._store.contains_named_graph(graph):
            self._created.add(graph)

    def drop(self, graph: GraphRef) -> None:
        """Take all quads of a graph, and the graph."""
        self.delete(self.quads(graph))
        if not isinstance(graph, NamedNode):
            return
        if graph in self._created:
            self._created.discard(graph)
        elif self._store.contains_named_graph(graph):
            self._dropped.add(graph)

    def named_graphs(self) -> list[NamedNode | BlankNode]:
        """All named graphs."""
        stored = [graph for graph in self._store.named_graphs() if graph not in self._dropped]
        return stored + list(self._created)

    def delta(self) -> QuadDelta:
        """The net change; graphs that come into being with their first quad are not named apart."""
        implied = {quad.graph_name for quad in self._inserted} if self._created else set()
        return QuadDelta(
            frozenset(self._inserted),
            frozenset(self._deleted),
            frozenset(self._created - implied),
            frozenset(self._dropped),
        )


def _check(quads: Iterable[Quad], may: Callable[[str], bool], what: str) -> None:
    for graph in {quad.graph_name for quad in quads}:
        name = name_of(graph)
        if not may(name):
            where = f"the graph <{name}>" if name else "the default graph"
            raise Forbidden(f"nothing may be {what} {where} by this client")
