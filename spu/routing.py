"""Which of very many triple patterns a quad meets: an index over the patterns' constants.

A pattern has a term or nothing in each place, and a graph: a term, or one of three kinds.  For a quad at most eight
combinations of its subject, predicate and object are looked up in at most three graphs each, however many patterns
there are; and of those only the combinations that some pattern has.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeAlias, TypeVar

from pyoxigraph import BlankNode, DefaultGraph, NamedNode

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from pyoxigraph import Quad

    from triplewire.broker.model import Term

K = TypeVar("K", bound="Hashable")


class Graphs:
    """Kinds of graphs that a pattern looks into; texts, as their hashes are known beforehand."""

    DEFAULT: Final = "the default graph"
    NAMED: Final = "any named graph"
    ANY: Final = "any graph"


GraphPlace: TypeAlias = "NamedNode | BlankNode | str"
# Which places are looked at, and the kind of graph; None is a graph by its name.
_Combination: TypeAlias = tuple[bool, bool, bool, str | None]


class Mask(NamedTuple):
    """A triple pattern with its constants; None is any term.  It is looked up as a plain tuple, to which it is equal."""

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
        self._combinations: Counter[_Combination] = Counter()

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

    def met(self, quads: Iterable[Quad]) -> Iterator[dict[K, None]]:
        """The keys of each mask that one of the quads meets."""
        default = [one for one in self._combinations if one[3] in {Graphs.DEFAULT, Graphs.ANY}]
        named = [one for one in self._combinations if one[3] != Graphs.DEFAULT]
        found = self._keys.get
        for quad in quads:
            subject, predicate, object_, graph = quad.subject, quad.predicate, quad.object, quad.graph_name
            for with_subject, with_predicate, with_object, kind in (
                default if isinstance(graph, DefaultGraph) else named
            ):
                keys = found(
                    (  # type: ignore[call-overload]  # equal to a mask
                        subject if with_subject else None,
                        predicate if with_predicate else None,
                        object_ if with_object else None,
                        graph if kind is None else kind,
                    )
                )
                if keys is not None:
                    yield keys

    def touched(self, quads: Iterable[Quad]) -> dict[K, None]:
        """The keys that any of the quads leads to, in the order in which they are met."""
        found: dict[K, None] = {}
        done: set[int] = set()
        for keys in self.met(quads):
            if id(keys) not in done:
                done.add(id(keys))
                found.update(keys)
        return found


def _combination(mask: Mask) -> _Combination:
    kind = mask.graph if isinstance(mask.graph, str) else None
    return mask.subject is not None, mask.predicate is not None, mask.object is not None, kind
