"""Which of many queries a change can touch."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Generic, TypeVar

from pyoxigraph import Variable

from triplewire.broker.model import Candidates

from .routing import Graphs, Mask, Router

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from pyoxigraph import NamedNode

    from triplewire.broker.model import QuadDelta, Term

    from .analysis.analysis import Analysis
    from .analysis.occurrence import Occurrence, Place
    from .routing import GraphPlace

K = TypeVar("K", bound="Hashable")


class Watching(Generic[K]):
    """Keys by what their queries depend on; a change leads to those that it can touch, and to few others."""

    def __init__(self) -> None:
        self._router: Router[K] = Router()
        self._by_anything: dict[K, None] = {}
        self._by_graphs: dict[K, tuple[Occurrence, ...]] = {}

    def add(self, key: K, analysis: Analysis) -> None:
        """From now on, what can touch the query leads to `key`."""
        if analysis.anything:
            self._by_anything[key] = None
            return
        self._router.add(key, _masks(analysis))
        if by_graphs := tuple(one for one in analysis.occurrences if one.existence):
            self._by_graphs[key] = by_graphs

    def remove(self, key: K, analysis: Analysis) -> None:
        """The contrary; `analysis` is what it was added with."""
        self._by_anything.pop(key, None)
        self._by_graphs.pop(key, None)
        self._router.remove(key, _masks(analysis))

    def touched(self, change: QuadDelta | Candidates) -> dict[K, None]:
        """The keys whose queries the change can touch, or any change of which it is known what it can be at most."""
        found = dict(self._by_anything)
        if isinstance(change, Candidates):
            found.update(self._router.touched_partly(change.patterns))
            found.update(self._with_graphs(change.graphs))
            return found
        found.update(self._router.touched(chain(change.inserted, change.deleted)))
        if change.created or change.dropped:
            found.update(self._with_graphs((*change.created, *change.dropped)))
        return found

    def _with_graphs(self, graphs: Iterable[NamedNode]) -> dict[K, None]:
        found: dict[K, None] = {}
        for key, occurrences in self._by_graphs.items():
            if any(one.matches_graph(graph) for graph in graphs for one in occurrences):
                found[key] = None
        return found


def _masks(analysis: Analysis) -> Iterator[Mask]:
    for one in analysis.occurrences:
        for graph in _graphs(one):
            yield Mask(_constant(one.subject), _constant(one.predicate), _constant(one.object), graph)


def _graphs(occurrence: Occurrence) -> Iterator[GraphPlace]:
    graphs = occurrence.graphs
    if graphs.named is None:
        yield Graphs.ANY if graphs.unnamed else Graphs.NAMED
        return
    yield from graphs.named
    if graphs.unnamed:
        yield Graphs.DEFAULT


def _constant(place: Place) -> Term | None:
    return None if isinstance(place, Variable) else place
