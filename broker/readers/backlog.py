"""What was written since a reader process last saw the store, and how it is told.

Many changes come to one: of each quad and graph only what it is in the end counts.  Nobody looks at the copy meanwhile,
so it needs no transaction: each quad is written by itself, which is much faster than an update that is all or nothing.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

from triplewire.broker.journal.quad_lines import graph_text, graphs_of, lines, read_graph, read_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyoxigraph
    from pyoxigraph import BlankNode, NamedNode, Quad

    from triplewire.broker.model import QuadDelta


class Backlog:
    """The changes that one process has not been told; not thread-safe, its owner has a lock."""

    def __init__(self, quads: int | None) -> None:
        """At most so many quads are kept; None keeps no more than that there was a change."""
        self._limit = quads
        self._quads = 0
        self._deltas: list[QuadDelta] = []

    def add(self, delta: QuadDelta) -> bool:
        """Take note of a change; False where that is too much, and all is forgotten."""
        if self._limit is None:
            self._deltas = [delta]
            return True
        self._quads += len(delta.inserted) + len(delta.deleted)
        self._deltas.append(delta)
        # Each delta counts too: those without quads must not be without bound.
        if self._quads + len(self._deltas) <= self._limit:
            return True
        self.take()
        return False

    def take(self) -> list[QuadDelta]:
        """All there is, in order; then there is nothing."""
        deltas, self._deltas, self._quads = self._deltas, [], 0
        return deltas


def encode_change(deltas: Sequence[QuadDelta]) -> bytes:
    """Changes in their order as one; blank nodes keep their labels.

    Raises:
        MalformedRequest: a term can't be written: an IRI has a character that it must not.
    """
    quads: dict[Quad, bool] = {}
    graphs: dict[NamedNode | BlankNode, bool] = {}
    for delta in deltas:
        graphs.update(dict.fromkeys(delta.dropped, False))
        graphs.update(dict.fromkeys(delta.created, True))
        quads.update(dict.fromkeys(delta.deleted, False))
        quads.update(dict.fromkeys(delta.inserted, True))
        if len(deltas) > 1:
            # A graph comes with its first quad, and stays when another change takes the quad away.
            graphs.update(dict.fromkeys(graphs_of(delta.inserted), True))
    return pickle.dumps(
        (
            [graph_text(graph) for graph, is_there in graphs.items() if not is_there],
            [graph_text(graph) for graph, is_there in graphs.items() if is_there],
            lines([quad for quad, is_there in quads.items() if not is_there]),
            lines([quad for quad, is_there in quads.items() if is_there]),
        )
    )


def write_change(store: pyoxigraph.Store, change: bytes) -> None:
    """Make `store` be what it is after it; nobody else may use the store."""
    dropped, created, deleted, inserted = pickle.loads(change)  # noqa: S301 - the broker's own
    for quad in read_lines(deleted):
        store.remove(quad)
    for graph in dropped:
        store.remove_graph(read_graph(graph))
    for graph in created:
        store.add_graph(read_graph(graph))
    if inserted:
        store.extend(read_lines(inserted))
