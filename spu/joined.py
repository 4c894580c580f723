"""The solutions of a basic graph pattern that come and go, joined from the changed quads outwards; no SPARQL.

A pattern has no negation: a solution that comes uses a quad that came, and holds after; one that goes used a quad that
went, and held before.  So each changed quad is put into each triple pattern that it fits, and the others are looked up.
That finds a solution once for each changed quad in it; hence the patterns have an order, and where a changed quad is in
the i-th, no changed quad is taken into one before it.

Several patterns about one subject are a *star*: they are looked up at once, as one look costs as much as three quads, and
begun at once for all changed quads of a subject.  Stars follow each other in the patterns' order, so that the same rule
holds for them: no changed quad in a star before.

The order in which the other patterns are looked up is fixed beforehand: the one with the most places known is next.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pyoxigraph import Literal, NamedNode, Triple

from triplewire.broker.errors import RequestTooLarge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyoxigraph import Quad

    from triplewire.broker.model import Dataset, GraphName, Match, QuadDelta, Row, Term

    from .analysis.analysis import BasicPattern

    About: TypeAlias = dict[Term | None, list[tuple[Term, bool]]]
    Slots: TypeAlias = list[Term | None]
    # Of subjects in graphs: what was said before the write and still is, and what was added; None where it is much.
    Earlier: TypeAlias = dict[tuple[Term, GraphName], tuple[list[Quad] | None, list[Quad]]]

# How much a known place narrows a look-up: subjects have few quads, predicates many.
_SUBJECT, _OBJECT, _PREDICATE = 4, 3, 2
# A subject's quads are read all at once, where there are no more, and several patterns are about it.
_MUCH = 32
_NO_SUBJECT = (Literal, Triple)


class _Place(NamedTuple):
    """One place of a pattern: a term, or the slot of a variable."""

    term: Term | None
    slot: int


Pattern: TypeAlias = tuple[_Place, _Place, _Place]


class _Step(NamedTuple):
    """A pattern to be looked up: its places, which slots it fills by which place, and what it must not take."""

    subject: _Place
    predicate: _Place
    object: _Place
    fills: tuple[tuple[int, int], ...]
    repeats: tuple[tuple[int, int], ...]  # places of one variable that is in the pattern twice
    old: bool  # no changed quad
    in_star: bool  # its subject is known, and in other patterns too; its predicate is fixed


class _Star(NamedTuple):
    """Two patterns or more about one subject, with fixed predicates, and the steps after them."""

    number: int
    subject: _Place
    patterns: tuple[tuple[Term, _Place], ...]  # predicate and object, fixed objects first
    steps: tuple[_Step, ...]


class _Start(NamedTuple):
    """A pattern that a changed quad is put into, and the steps after it; the star that it is part of, if any."""

    terms: tuple[tuple[int, Term], ...]
    fills: tuple[tuple[int, int], ...]
    repeats: tuple[tuple[int, int], ...]
    steps: tuple[_Step, ...]
    star: _Star | None


class JoinedRows:
    """See the module; keeps nothing between updates."""

    def __init__(self, pattern: BasicPattern, most_rows: int) -> None:
        """At most `most_rows` solutions come or go with one update."""
        names = dict.fromkeys(
            place for triple in pattern.triples for place in triple if isinstance(place, str)
        )
        graphs = pattern.graphs
        self._graphs = graphs
        self._patterns = len(pattern.triples)
        self._each = graphs.is_each
        slots = {name: slot for slot, name in enumerate(names)}
        shown = {name: slot for name, slot in slots.items() if not name.startswith("_:")}
        if graphs.variable is not None:
            shown[graphs.variable.value] = len(slots)
        self.places = {name: place for place, name in enumerate(shown)}
        self._shown = _picker(tuple(shown.values()))
        self._empty: Slots = [None] * (len(slots) + 1)  # the last is the graph
        self._most_rows = most_rows
        self._removed: Counter[Row] = Counter()
        self._earlier: Earlier = {}
        # By predicate, None where that is a variable: what a quad can be put into.
        self._starts: dict[Term | None, list[_Start]] = {}
        starts = _starts([_places(triple, slots) for triple in pattern.triples])
        self._has_stars = any(start.star is not None for _, start in starts)
        for_any = [start for predicate, start in starts if predicate is None]
        for predicate in {predicate for predicate, _ in starts}:
            own = [start for known, start in starts if known == predicate and known is not None]
            self._starts[predicate] = [*own, *for_any]

    @property
    def words(self) -> str:
        """See `Changes`."""
        how = "one pattern" if self._patterns == 1 else "joined from the change outwards"
        return f"{how}, no query needed"

    def before(self, delta: QuadDelta | None, dataset: Dataset) -> None:
        """See `Changes`."""
        assert delta is not None, "a store that tells its changes"
        self._removed = Counter()
        if delta.deleted:
            self._removed = self._rows(delta.deleted, self._join(dataset, delta.deleted))
        self._earlier = self._read(delta, dataset.match) if self._has_stars else {}

    def after(self, delta: QuadDelta | None, dataset: Dataset) -> tuple[Counter[Row], Counter[Row]]:
        """See `Changes`."""
        assert delta is not None, "a store that tells its changes"
        removed, self._removed = self._removed, Counter()
        added: Counter[Row] = Counter()
        if delta.inserted:
            join = self._join(dataset, delta.inserted)
            join.earlier, self._earlier = self._earlier, {}
            added = self._rows(delta.inserted, join)
        return added, removed

    def _join(self, dataset: Dataset, changed: frozenset[Quad]) -> _Join:
        return _Join(dataset.match, changed, self._shown, self._most_rows)

    def _read(self, delta: QuadDelta, match: Match) -> Earlier:
        """What is said, before the write, of the subjects that more will be said of, and that.

        Of a new subject nothing is read then; after the write all of it would be.
        """
        found: Earlier = {}
        for quad in delta.inserted:
            if quad.predicate in self._starts:
                key = (quad.subject, quad.graph_name)
                if key not in found:
                    there = _about(quad.subject, quad.graph_name, match)
                    if there and delta.deleted:
                        there = [one for one in there if one not in delta.deleted]
                    found[key] = there, []
                found[key][1].append(quad)
        return found

    def _rows(self, changed: frozenset[Quad], join: _Join) -> Counter[Row]:
        starts_of, for_any, begun = self._starts.get, self._starts.get(None), join.begun
        for quad in changed:
            starts = starts_of(quad.predicate, for_any)
            if starts is None:
                continue
            subject = quad.subject
            for start in starts:
                # The other quads of a star: most often there is nothing more to be done for them.
                if start.star is None or (start.star.number, subject, quad.graph_name) not in begun:
                    self._begin(quad, start, join)
        return Counter(join.found)

    def _begin(self, quad: Quad, start: _Start, join: _Join) -> None:
        subject, graph = quad.subject, quad.graph_name
        if graph not in self._graphs:
            return
        terms = (subject, quad.predicate, quad.object)
        for place, term in start.terms:
            if terms[place] != term:
                return
        slots = self._empty.copy()
        if self._each:
            slots[-1] = graph  # type: ignore[assignment]  # the unnamed graph is none of them
        if start.star is not None and join.has_begun(start.star, slots, subject, graph):
            return
        for first, second in start.repeats:
            if terms[first] != terms[second]:
                return
        for slot, place in start.fills:
            slots[slot] = terms[place]
        join.extend(slots, start.steps, 0, graph)


class _Join:
    """One look for solutions."""

    def __init__(
        self, match: Match, changed: frozenset[Quad], shown: Callable[[Slots], Row], most_rows: int
    ) -> None:
        self.found: dict[Row, int] = {}
        self._match = match
        self._changed = changed
        self._shown = shown
        self._most_rows = most_rows
        self._count = 0
        self._about: dict[tuple[Term, GraphName], About | None] = {}
        self.earlier: Earlier = {}  # what is known of subjects without asking the store again
        self.begun: set[tuple[int, Term, GraphName]] = set()  # stars, by number, and subjects

    def has_begun(self, star: _Star, slots: Slots, subject: Term, graph: GraphName) -> bool:
        """Look for the solutions with this subject in the star; false where too much is said of it for that."""
        about = self._of(subject, graph)
        if about is None:
            return False
        self.begun.add((star.number, subject, graph))
        if star.subject.slot >= 0:
            slots[star.subject.slot] = subject
        self._fill(star, 0, about, slots, graph, is_new=False)
        return True

    def _fill(  # noqa: PLR0913, PLR0917 - where it is, and where it has come from
        self, star: _Star, number: int, about: About, slots: Slots, graph: GraphName, is_new: bool
    ) -> None:
        """Take objects into the star's patterns from `number` on; `is_new` where one of a changed quad has been."""
        if number == len(star.patterns):
            if is_new:
                self.extend(slots, star.steps, 0, graph)
            return
        predicate, place = star.patterns[number]
        known = place.term if place.slot < 0 else slots[place.slot]
        for object_, is_changed in about.get(predicate, ()):
            if known is None:
                slots[place.slot] = object_
            elif known != object_:
                continue
            self._fill(star, number + 1, about, slots, graph, is_new or is_changed)
        if known is None:
            slots[place.slot] = None

    def extend(self, slots: Slots, steps: Sequence[_Step], depth: int, graph: GraphName) -> None:
        """Take what fits into the patterns from `depth` on; `slots` are as they were in the end."""
        if depth == len(steps):
            self._take(slots)
            return
        step = steps[depth]
        if step.in_star:
            place = step.subject
            subject = place.term if place.slot < 0 else slots[place.slot]
            assert subject is not None, "it is known in a star"
            about = self._of(subject, graph)
            if about is not None:
                self._extend_by(about.get(step.predicate.term, ()), slots, steps, depth, graph)
                return
        for quad in self._matches(step, slots, graph):
            if step.old and quad in self._changed:
                continue
            if step.fills:
                terms = (quad.subject, quad.predicate, quad.object)
                if step.repeats and any(terms[first] != terms[second] for first, second in step.repeats):
                    continue
                for slot, number in step.fills:
                    slots[slot] = terms[number]
            self.extend(slots, steps, depth + 1, graph)
        for slot, _ in step.fills:
            slots[slot] = None

    def _matches(self, step: _Step, slots: Slots, graph: GraphName) -> Iterable[Quad]:
        subject, predicate, object_ = [
            place.term if place.slot < 0 else slots[place.slot]
            for place in (step.subject, step.predicate, step.object)
        ]
        if isinstance(subject, _NO_SUBJECT) or not (predicate is None or isinstance(predicate, NamedNode)):
            return ()
        return self._match(subject, predicate, object_, graph)

    def _extend_by(
        self,
        objects: Iterable[tuple[Term, bool]],
        slots: Slots,
        steps: Sequence[_Step],
        depth: int,
        graph: GraphName,
    ) -> None:
        """The same where subject and predicate are known: `objects` with whether each is of a changed quad."""
        step = steps[depth]
        place = step.object
        known = place.term if place.slot < 0 else slots[place.slot]
        for object_, is_changed in objects:
            if step.old and is_changed:
                continue
            if known is None:
                slots[place.slot] = object_
            elif known != object_:
                continue
            self.extend(slots, steps, depth + 1, graph)
        if known is None:
            slots[place.slot] = None

    def _of(self, subject: Term, graph: GraphName) -> About | None:
        """All that is said of a subject; None where that is much."""
        key = (subject, graph)
        if key in self._about:
            return self._about[key]
        earlier = self.earlier.get(key)
        new: list[Quad] = []
        if earlier is None:
            there = _about(subject, graph, self._match)
        else:
            there, new = earlier
        found: About | None = None
        if there is not None:
            found = {}
            for quad in there:
                is_changed = earlier is None and quad in self._changed
                found.setdefault(quad.predicate, []).append((quad.object, is_changed))
            for quad in new:
                found.setdefault(quad.predicate, []).append((quad.object, True))
        self._about[key] = found
        return found

    def _take(self, slots: Slots) -> None:
        self._count += 1
        if self._count > self._most_rows:
            raise RequestTooLarge(
                f"more than {self._most_rows} rows of the answer changed (limits.answer_rows)"
            )
        row = self._shown(slots)
        self.found[row] = self.found.get(row, 0) + 1


def _about(subject: Term, graph: GraphName, match: Match) -> list[Quad] | None:
    """All that is said of a subject; None where that is much."""
    if isinstance(subject, _NO_SUBJECT):
        return []
    found = list(islice(match(subject, None, None, graph), _MUCH + 1))
    return found if len(found) <= _MUCH else None


def _picker(slots: tuple[int, ...]) -> Callable[[Slots], Row]:
    if len(slots) > 1:
        return itemgetter(*slots)
    return lambda values: tuple([values[slot] for slot in slots])


def _places(triple: tuple[Term | str, Term | str, Term | str], slots: dict[str, int]) -> Pattern:
    subject, predicate, object_ = [
        _Place(None, slots[place]) if isinstance(place, str) else _Place(place, -1) for place in triple
    ]
    return subject, predicate, object_


def _starts(patterns: Sequence[Pattern]) -> list[tuple[Term | None, _Start]]:
    """What quads of a predicate can be put into; None is any predicate."""
    found: list[tuple[Term | None, _Start]] = []
    groups: dict[object, list[Pattern]] = {}
    for number, pattern in enumerate(patterns):
        # A predicate that is a variable makes no star.
        groups.setdefault(number if pattern[1].term is None else pattern[0], []).append(pattern)
    ordered = [pattern for group in groups.values() for pattern in group]
    begin = 0
    for group in groups.values():
        star = None
        own = range(begin, begin + len(group))
        if len(group) > 1:
            objects = sorted(group, key=lambda pattern: pattern[2].term is None)
            about = [(pattern[1].term, pattern[2]) for pattern in objects if pattern[1].term is not None]
            star = _Star(begin, group[0][0], tuple(about), _steps(ordered, own))
        for number in own:
            first = ordered[number]
            terms = tuple((place, part.term) for place, part in enumerate(first) if part.term is not None)
            steps = _steps(ordered, range(number, number + 1))
            found.append((first[1].term, _Start(terms, *_unknown(first, set()), steps, star)))
        begin += len(group)
    return found


def _steps(patterns: Sequence[Pattern], begun: range) -> tuple[_Step, ...]:
    """How to go on from those that are begun with; of those before them no changed quad may be taken."""
    known = {place.slot for number in begun for place in patterns[number]}
    rest = [number for number in range(len(patterns)) if number not in begun]
    steps: list[_Step] = []
    while rest:
        # Where it narrows as much, one that can't take a changed quad: it often ends the search.
        best = max(rest, key=lambda one: (_narrowing(patterns[one], known), one < begun.start, -one))
        rest.remove(best)
        subject, predicate, object_ = patterns[best]
        in_star = (
            (subject.slot < 0 or subject.slot in known)
            and predicate.term is not None
            and sum(other[0] == subject for other in patterns) > 1
        )
        fills, repeats = _unknown(patterns[best], known)
        steps.append(_Step(subject, predicate, object_, fills, repeats, best < begun.start, in_star))
        known |= {place.slot for place in patterns[best]}
    return tuple(steps)


def _unknown(
    pattern: Pattern, known: set[int]
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


def _narrowing(pattern: Pattern, known: set[int]) -> int:
    weights = zip(pattern, (_SUBJECT, _PREDICATE, _OBJECT), strict=True)
    return sum(weight for place, weight in weights if place.slot < 0 or place.slot in known)
