"""Which of very many triple patterns a quad meets: an index over the patterns' constants.

A pattern has a term or nothing in each place, and a graph: a term, or one of three kinds.  For a quad at most eight
combinations of its subject, predicate and object are looked up in at most three graphs each, however many patterns
there are; and of those only the combinations that some pattern has.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from pyoxigraph import BlankNode, DefaultGraph, NamedNode

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from pyoxigraph import Quad

    from triplewire.broker.model import Term

K = TypeVar("K", bound="Hashable")


class Graphs(Enum):
    """Kinds of graphs that a pattern looks into."""

    DEFAULT = "the default graph"
    NAMED = "any named graph"
    ANY = "any graph"


GraphPlace: TypeAlias = "NamedNode | BlankNode | Graphs"


@dataclass(frozen=True, slots=True)
class Mask:
    """A triple pattern with its constants; None is any term."""

    subject: Term | None
    predicate: Term | None
    object: Term | None
    graph: GraphPlace

    def matches(self, quad: Quad) -> bool:
        """Whether the quad meets it."""
        return (
            self.subject in {None, quad.subject}
            and self.predicate in {None, quad.predicate}
            and self.object in {None, quad.object}
            and self.graph in _graphs(quad)
        )


def _graphs(quad: Quad) -> tuple[GraphPlace, ...]:
    if isinstance(quad.graph_name, DefaultGraph):
        return (Graphs.DEFAULT, Graphs.ANY)
    return (quad.graph_name, Graphs.NAMED, Graphs.ANY)


class Router(Generic[K]):
    """Keys by the masks they were added with; adding and removing cost as much as there are masks."""

    def __init__(self) -> None:
        self._keys: dict[Mask, dict[K, None]] = {}
        # How many masks there are of each combination of places, so that no other is looked up.
        self._combinations: Counter[tuple[bool, bool, bool]] = Counter()

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: K, masks: Iterable[Mask]) -> None:
        """From now on, what meets one of `masks` leads to `key`."""
        for mask in masks:
            keys = self._keys.get(mask)
            if keys is None:
                keys = self._keys[mask] = {}
                self._combinations[_combination(mask)] += 1
            keys[key] = None

    def remove(self, key: K, masks: Iterable[Mask]) -> None:
        """The contrary; `masks` are those that it was added with."""
        for mask in masks:
            keys = self._keys.get(mask)
            if keys is None or key not in keys:
                continue
            del keys[key]
            if not keys:
                del self._keys[mask]
                combination = _combination(mask)
                self._combinations[combination] -= 1
                if not self._combinations[combination]:
                    del self._combinations[combination]

    def met(self, quad: Quad) -> Iterator[tuple[Mask, Iterable[K]]]:
        """The masks that a quad meets, and their keys."""
        subject, predicate, object_ = quad.subject, quad.predicate, quad.object
        graphs = _graphs(quad)
        for with_subject, with_predicate, with_object in self._combinations:
            for graph in graphs:
                mask = Mask(
                    subject if with_subject else None,
                    predicate if with_predicate else None,
                    object_ if with_object else None,
                    graph,
                )
                keys = self._keys.get(mask)
                if keys:
                    yield mask, keys

    def touched(self, quads: Iterable[Quad]) -> dict[K, None]:
        """The keys that any of the quads leads to, in the order in which they are met."""
        found: dict[K, None] = {}
        for quad in quads:
            for _, keys in self.met(quad):
                found.update(dict.fromkeys(keys))
        return found


def _combination(mask: Mask) -> tuple[bool, bool, bool]:
    return mask.subject is not None, mask.predicate is not None, mask.object is not None
