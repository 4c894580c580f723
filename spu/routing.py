"""Which of very many triple patterns a quad meets: an index over the patterns' constants.

A pattern has a term or nothing in each place, and a graph: a term, or one of three kinds.  For a quad at most eight
combinations of its subject, predicate and object are looked up in at most three graphs each, however many patterns
there are; and of those only the combinations that some pattern has.

Where of the quads themselves only some terms are known (`QuadPattern`), the masks are looked up by those of their
constants that the known terms stand against, in indexes that are made when they are first needed.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeAlias, TypeVar

from pyoxigraph import BlankNode, DefaultGraph, NamedNode

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from pyoxigraph import Quad

    from triplewire.broker.model import QuadPattern, Term

K = TypeVar("K", bound="Hashable")


class Graphs:
    """Kinds of graphs that a pattern looks into; texts, as their hashes are known beforehand."""

    DEFAULT: Final = "the default graph"
    NAMED: Final = "any named graph"
    ANY: Final = "any graph"


GraphPlace: TypeAlias = "NamedNode | BlankNode | str"
# Which places are looked at, and the kind of graph; None is a graph by its name.
_Combination: TypeAlias = tuple[bool, bool, bool, str | None]
# Which of subject, predicate, object and graph name are looked at, of those that a combination has.
_Part: TypeAlias = tuple[bool, bool, bool, bool]
_Place: TypeAlias = "tuple[Term | None, Term | None, Term | None, GraphPlace | DefaultGraph | None]"


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
        self._partly: dict[_Combination, dict[_Part, _PartIndex[K]]] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: K, masks: Iterable[Mask]) -> None:
        """From now on, what meets one of `masks` leads to `key`."""
        for mask in masks:
            keys = self._keys.get(mask)
            if keys is None:
                keys = self._keys[mask] = {}
                combination = _combination(mask)
                self._combinations[combination] += 1
                for index in self._partly.get(combination, {}).values():
                    index.add(mask, keys)
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
                for index in self._partly.get(combination, {}).values():
                    index.remove(mask)
                self._combinations[combination] -= 1
                if not self._combinations[combination]:
                    del self._combinations[combination]
                    self._partly.pop(combination, None)

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

    def met_partly(self, patterns: Iterable[QuadPattern]) -> Iterator[dict[K, None]]:
        """The keys of each mask that some quad of one of the patterns could meet."""
        combinations = list(self._combinations)
        for pattern in patterns:
            for combination in combinations:
                part = _part(pattern, combination)
                if part is None:
                    continue
                place = _looked_up(pattern, combination, part)
                if part == (*combination[:3], combination[3] is None):  # all that the masks have
                    keys = self._keys.get(place)  # type: ignore[call-overload]  # equal to a mask
                    if keys is not None:
                        yield keys
                else:
                    yield from self._index(combination, part).found(place)

    def _index(self, combination: _Combination, part: _Part) -> _PartIndex[K]:
        indexes = self._partly.setdefault(combination, {})
        index = indexes.get(part)
        if index is None:
            index = indexes[part] = _PartIndex(combination, part)
            for mask, keys in self._keys.items():
                if _combination(mask) == combination:
                    index.add(mask, keys)
        return index

    def touched(self, quads: Iterable[Quad]) -> dict[K, None]:
        """The keys that any of the quads leads to, in the order in which they are met."""
        return _united(self.met(quads))

    def touched_partly(self, patterns: Iterable[QuadPattern]) -> dict[K, None]:
        """The keys that any quad of the patterns could lead to."""
        return _united(self.met_partly(patterns))


class _PartIndex(Generic[K]):
    """The masks of one combination, by a part of their constants."""

    def __init__(self, combination: _Combination, part: _Part) -> None:
        self._combination = combination
        self._part = part
        self._masks: dict[_Place, dict[Mask, dict[K, None]]] = {}

    def add(self, mask: Mask, keys: dict[K, None]) -> None:
        """Lead to `keys`, which may change."""
        self._masks.setdefault(_looked_up(mask, self._combination, self._part), {})[mask] = keys

    def remove(self, mask: Mask) -> None:
        """The contrary."""
        place = _looked_up(mask, self._combination, self._part)
        del self._masks[place][mask]
        if not self._masks[place]:
            del self._masks[place]

    def found(self, place: _Place) -> Iterable[dict[K, None]]:
        """The keys of the masks that have these constants."""
        return self._masks.get(place, {}).values()


def _united(found: Iterator[dict[K, None]]) -> dict[K, None]:
    united: dict[K, None] = {}
    done: set[int] = set()
    for keys in found:
        if id(keys) not in done:
            done.add(id(keys))
            united.update(keys)
    return united


def _part(pattern: QuadPattern, combination: _Combination) -> _Part | None:
    """What of a combination's constants is known of the pattern's quads; None where they look into other graphs."""
    subject, predicate, object_, graph = pattern
    kind = combination[3]
    if (
        graph is not None
        and kind != Graphs.ANY
        and (kind == Graphs.DEFAULT) != isinstance(graph, DefaultGraph)
    ):
        return None
    return (
        combination[0] and subject is not None,
        combination[1] and predicate is not None,
        combination[2] and object_ is not None,
        kind is None and graph is not None,
    )


def _looked_up(terms: QuadPattern | Mask, combination: _Combination, part: _Part) -> _Place:
    subject, predicate, object_, graph = terms
    return (
        subject if part[0] else None,
        predicate if part[1] else None,
        object_ if part[2] else None,
        graph if part[3] else combination[3],
    )


def _combination(mask: Mask) -> _Combination:
    kind = mask.graph if isinstance(mask.graph, str) else None
    return mask.subject is not None, mask.predicate is not None, mask.object is not None, kind
