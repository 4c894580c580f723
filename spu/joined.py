"""The solutions of a basic graph pattern that come and go, joined from the changed quads outwards; no SPARQL.

A pattern has no negation: a solution that comes uses a quad that came, and holds after; one that goes used a quad that
went, and held before.  So each changed quad is put into each triple pattern that it fits, and the others are looked up.
That finds a solution once for each changed quad in it; hence the patterns have an order, and where a changed quad is in
the i-th, no changed quad is taken into one before it.

The order in which the other patterns are looked up is fixed beforehand: the one with the most places known is next.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from pyoxigraph import BlankNode, DefaultGraph, NamedNode

from triplewire.broker.errors import RequestTooLarge

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyoxigraph import Quad

    from triplewire.broker.model import Dataset, Match, QuadDelta, Row, Term

    from .analysis.analysis import BasicPattern

# How much a known place narrows a look-up: subjects have few quads, predicates many.
_SUBJECT, _OBJECT, _PREDICATE = 4, 3, 2


class _Place(NamedTuple):
    """One place of a pattern: a term, or the slot of a variable."""

    term: Term | None
    slot: int


class _Step(NamedTuple):
    """A pattern to be looked up: its places, which slots it fills by which place, and what it must not take."""

    subject: _Place
    predicate: _Place
    object: _Place
    fills: tuple[tuple[int, int], ...]
    repeats: tuple[tuple[int, int], ...]  # places of one variable that is in the pattern twice
    old: bool  # no changed quad


class _Start(NamedTuple):
    """A pattern that a changed quad is put into, and the others in their order."""

    terms: tuple[tuple[int, Term], ...]
    fills: tuple[tuple[int, int], ...]
    repeats: tuple[tuple[int, int], ...]
    steps: tuple[_Step, ...]


class JoinedRows:
    """See the module; keeps nothing between updates."""

    def __init__(self, pattern: BasicPattern, most_rows: int) -> None:
        """At most `most_rows` solutions come or go with one update."""
        names = dict.fromkeys(
            place for triple in pattern.triples for place in triple if isinstance(place, str)
        )
        graphs = pattern.graphs
        self._graphs = graphs
        self._each = graphs.is_each
        slots = {name: slot for slot, name in enumerate(names)}
        shown = {name: slot for name, slot in slots.items() if not name.startswith("_:")}
        if graphs.variable is not None:
            shown[graphs.variable.value] = len(slots)
        self.places = {name: place for place, name in enumerate(shown)}
        self._shown = tuple(shown.values())
        self._slots = len(slots) + 1  # the last is the graph
        self._most_rows = most_rows
        self._removed: Counter[Row] = Counter()
        places = [tuple(_place(place, slots) for place in triple) for triple in pattern.triples]
        # By predicate, None where that is a variable: what a quad can be put into.
        self._starts: dict[Term | None, list[_Start]] = {}
        for number, triple in enumerate(places):
            self._starts.setdefault(triple[1].term, []).append(_start(places, number))

    def before(self, delta: QuadDelta | None, dataset: Dataset) -> None:
        """See `Changes`."""
        assert delta is not None, "a store that tells its changes"
        self._removed = self._rows(delta.deleted, dataset) if delta.deleted else Counter()

    def after(self, delta: QuadDelta | None, dataset: Dataset) -> tuple[Counter[Row], Counter[Row]]:
        """See `Changes`."""
        assert delta is not None, "a store that tells its changes"
        removed, self._removed = self._removed, Counter()
        added = self._rows(delta.inserted, dataset) if delta.inserted else Counter()
        return added, removed

    def _rows(self, changed: frozenset[Quad], dataset: Dataset) -> Counter[Row]:
        join = _Join(dataset.match, changed, self._shown, self._most_rows)
        for_any = self._starts.get(None, [])
        for quad in changed:
            starts = [*self._starts.get(quad.predicate, ()), *for_any]
            if starts and quad.graph_name in self._graphs:
                for start in starts:
                    slots = self._put(quad, start)
                    if slots is not None:
                        join.extend(slots, start.steps, 0, quad.graph_name)
        return join.found

    def _put(self, quad: Quad, start: _Start) -> list[Term | None] | None:
        terms = (quad.subject, quad.predicate, quad.object)
        for place, term in start.terms:
            if terms[place] != term:
                return None
        for first, second in start.repeats:
            if terms[first] != terms[second]:
                return None
        slots: list[Term | None] = [None] * self._slots
        for slot, place in start.fills:
            slots[slot] = terms[place]
        if self._each:
            slots[-1] = quad.graph_name  # type: ignore[assignment]  # the unnamed graph is none of them
        return slots


class _Join:
    """One look for solutions."""

    def __init__(self, match: Match, changed: frozenset[Quad], shown: Sequence[int], most_rows: int) -> None:
        self.found: Counter[Row] = Counter()
        self._match = match
        self._changed = changed
        self._shown = shown
        self._most_rows = most_rows
        self._count = 0

    def extend(
        self,
        slots: list[Term | None],
        steps: Sequence[_Step],
        depth: int,
        graph: NamedNode | BlankNode | DefaultGraph,
    ) -> None:
        """Take what fits into the patterns from `depth` on; `slots` are as they were in the end."""
        if depth == len(steps):
            self._take(slots)
            return
        step = steps[depth]
        subject, predicate, object_ = [
            place.term if place.slot < 0 else slots[place.slot]
            for place in (step.subject, step.predicate, step.object)
        ]
        if not isinstance(subject, NamedNode | BlankNode | None) or not isinstance(
            predicate, NamedNode | None
        ):
            return  # a literal that would have to be a subject
        for quad in self._match(subject, predicate, object_, graph):
            if step.old and quad in self._changed:
                continue
            if step.fills:
                terms = (quad.subject, quad.predicate, quad.object)
                if step.repeats and any(terms[first] != terms[second] for first, second in step.repeats):
                    continue
                for slot, place in step.fills:
                    slots[slot] = terms[place]
            self.extend(slots, steps, depth + 1, graph)
        for slot, _ in step.fills:
            slots[slot] = None

    def _take(self, slots: list[Term | None]) -> None:
        self._count += 1
        if self._count > self._most_rows:
            raise RequestTooLarge(
                f"more than {self._most_rows} rows of the answer changed (limits.answer_rows)"
            )
        self.found[tuple([slots[slot] for slot in self._shown])] += 1


def _place(place: Term | str, slots: dict[str, int]) -> _Place:
    return _Place(None, slots[place]) if isinstance(place, str) else _Place(place, -1)


def _start(patterns: Sequence[tuple[_Place, ...]], number: int) -> _Start:
    first = patterns[number]
    known = {place.slot for place in first}
    steps: list[_Step] = []
    rest = [place for place in range(len(patterns)) if place != number]
    while rest:
        # Where it narrows as much, one that can't take a changed quad: it often ends the search.
        best = max(rest, key=lambda one: (_narrowing(patterns[one], known), one < number, -one))
        rest.remove(best)
        pattern = patterns[best]
        subject, predicate, object_ = pattern
        steps.append(_Step(subject, predicate, object_, *_unknown(pattern, known), best < number))
        known |= {place.slot for place in pattern}
    terms = tuple((place, part.term) for place, part in enumerate(first) if part.term is not None)
    return _Start(terms, *_unknown(first, set()), tuple(steps))


def _unknown(
    pattern: Iterable[_Place], known: set[int]
) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """What a pattern fills, and the places that must be equal."""
    filled: dict[int, int] = {}
    repeats: list[tuple[int, int]] = []
    for place, part in enumerate(pattern):
        if part.slot < 0 or part.slot in known:
            continue
        if part.slot in filled:
            repeats.append((filled[part.slot], place))
        else:
            filled[part.slot] = place
    return tuple(filled.items()), tuple(repeats)


def _narrowing(pattern: tuple[_Place, ...], known: set[int]) -> int:
    weights = zip(pattern, (_SUBJECT, _PREDICATE, _OBJECT), strict=True)
    return sum(weight for place, weight in weights if place.slot < 0 or place.slot in known)
