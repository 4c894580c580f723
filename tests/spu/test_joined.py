"""The solutions that come and go, joined from the changed quads, are those that Oxigraph finds by looking at all."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad
from support.deltas import World
from support.stores import EX, PROLOGUE, embedded

from triplewire.broker.config import LimitsConfig
from triplewire.broker.errors import RequestTooLarge
from triplewire.broker.model import QuadDelta, Query, Replay, Update
from triplewire.spu.analysis.analysis import analyse
from triplewire.spu.joined import JoinedRows

# --- data: few terms, so that they meet; predicates are nodes, too --------------------------------------------------

DEFAULT = DefaultGraph()
A, B, C, D, P, Q, R, G, H, WIDE, POINTS = (
    NamedNode(EX + name) for name in ("a", "b", "c", "d", "p", "q", "r", "g", "h", "wide", "points")
)
M, K = BlankNode("m"), BlankNode("k")
UNIVERSE = [
    *(Quad(s, p, o, DEFAULT) for s in (A, B, C, M) for p in (P, Q) for o in (A, B, C, M, Literal(1))),
    *(Quad(s, R, o, DEFAULT) for s in (A, B) for o in (A, C, M, Literal(1))),
    *(
        Quad(s, p, o, DEFAULT)
        for s, p, o in ((P, P, A), (P, Q, P), (A, P, P), (B, Q, P), (P, P, P), (A, Q, Q))
    ),
    *(Quad(s, p, o, G) for s in (A, B) for p in (P, Q) for o in (A, B, Literal(1))),
    *(Quad(s, p, o, g) for s, p, o in ((A, P, B), (B, Q, A), (A, Q, Literal(1))) for g in (H, K)),
]
# Much about a subject, and many to whom an object belongs.
WIDTH = frozenset(Quad(A, WIDE, Literal(number), DEFAULT) for number in range(40))
HUB = frozenset(Quad(NamedNode(f"{EX}n{number}"), R, B, DEFAULT) for number in range(40))
masks = st.binary(min_size=len(UNIVERSE) // 8 + 1, max_size=len(UNIVERSE) // 8 + 1)


@st.composite
def some(draw):
    """A half of all quads, or a quarter, an eighth; drawn as bits, as each in turn would be few at most."""
    bits = int.from_bytes(draw(masks), "big")
    for _ in range(draw(st.integers(0, 3))):
        bits &= int.from_bytes(draw(masks), "big")
    return frozenset(quad for number, quad in enumerate(UNIVERSE) if bits >> number & 1)


@st.composite
def histories(draw):
    """Changes of many quads at once: what is there goes, what is not comes; the first fills the store."""
    world, deltas = World(), []
    broad = draw(st.sampled_from([frozenset(), frozenset(), WIDTH, HUB, WIDTH | HUB]))
    for turned in [draw(some()) | broad, *draw(st.lists(some(), min_size=1, max_size=4))]:
        delta = world.exact(turned & world.quads, turned - world.quads, frozenset(), frozenset())
        world = world.after(delta)
        deltas.append(delta)
    return deltas


# --- patterns -----------------------------------------------------------------------------------------------------

VARIABLES = ["?s", "?o", "?x", "?y"]
BLANKS = ["_:b", "_:c"]
subjects = st.sampled_from([*VARIABLES, *VARIABLES, *BLANKS, "[]", ":a", ":b"])
predicates = st.sampled_from([":p", ":q", ":p", ":q", ":r", "?v", "?s"])
objects = st.sampled_from([*VARIABLES, *VARIABLES, *BLANKS, "[]", ":a", ":p", "1"])
triples = st.builds("{} {} {}".format, subjects, predicates, objects)
said = st.lists(st.builds("{} {}".format, predicates, objects), min_size=2, max_size=4).map(" ; ".join)
stars = st.builds("{} {}".format, subjects, said)
shapes = st.sampled_from(
    [
        "?s :p ?o . ?o :q ?x . ?x :p ?y",
        "?s :p ?o ; :q ?x . ?o :p ?y ; :q ?x",
        "?s :p ?o ; :q ?x . ?x :r ?y",
        "?x :r ?s . ?s :p ?o ; :q ?y . ?o :r ?x",
        "?s :p ?o . ?x :q ?y",
        "?s :p ?s ; :q ?s",
        "?s :p ?o . ?x :q ?x",
        "?s :p ?o . ?x ?x ?y",
        "?s :p ?x . ?o ?v ?o",
        "?s :p ?o , ?x , _:b",
        "?s :p ?o . ?s :p ?o",
        "?s ?v ?s . ?s :q ?v",
        "?s ?v ?o ; ?v ?x",
        ":a :p ?o ; :q :b ; :r ?x",
        ":a :p :b . :b :q :c",
        "[] ?v []",
        "?s :p [ :q ?o ; :r [] ]",
        "?s :p ( ?o :a )",
        "?s :p ?o ; ?v ?x . ?x :q ?s , :a",
    ]
)
patterns = st.one_of(
    shapes, stars, st.lists(st.one_of(triples, triples, stars), min_size=1, max_size=3).map(" . ".join)
)
wrappers = st.sampled_from(
    ["SELECT * {{ {} }}"] * 4
    + [
        "SELECT * {{ GRAPH :g {{ {} }} }}",
        "SELECT * {{ GRAPH ?g {{ {} }} }}",
        "SELECT * {{ GRAPH ?g {{ {} }} }}",
        "SELECT * FROM :g {{ {} }}",
        "SELECT * FROM NAMED :g FROM NAMED :h {{ GRAPH ?g {{ {} }} }}",
    ]
)
queries = st.builds(lambda wrapper, pattern: Query(PROLOGUE + wrapper.format(pattern)), wrappers, patterns)


MOST = 1500  # rows; some are products of all with all


def joined(query, most_rows=10_000):
    """The unit's way to its rows."""
    pattern = analyse(query).pattern
    assert pattern is not None
    return JoinedRows(pattern, most_rows)


def replayed(store, delta, *ways):
    """Write a change; what each of the ways says of it."""
    store.replay(Replay(delta, 0, leap=True), lambda change: [way.before(change, store) for way in ways])
    return [way.after(delta, store) for way in ways]


def answered(store, query, places):
    """The present answer, as a bag, its columns in these places."""
    answer = store.evaluate(query)
    order = [answer.vars.index(name) for name in sorted(places, key=places.__getitem__)]
    assert len(order) == len(answer.vars)
    return Counter(tuple(row[place] for place in order) for row in answer.rows)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(queries, min_size=2, max_size=5), histories())
def test_the_changes_are_those_between_two_answers(asked, deltas):
    """Solutions that differ in blank nodes only may come and go alike, but nothing goes that was not there.

    Where both answers are within the limit, no change of more rows is seen.
    """
    store = embedded(limits=LimitsConfig(answer_rows=MOST))
    held = {query: (joined(query, MOST), Counter()) for query in asked}
    for delta in deltas:
        store.replay(
            Replay(delta, 0, leap=True),
            lambda change: [way.before(change, store) for way, _ in held.values()],
        )
        for query, (way, before) in tuple(held.items()):
            try:
                after = answered(store, query, way.places)
            except RequestTooLarge:
                del held[query]
                continue
            came, went = way.after(delta, store)
            assert not went - before, query.sparql
            assert not came - after, query.sparql
            assert came - went == after - before, query.sparql
            assert went - came == before - after, query.sparql
            held[query] = way, after


@pytest.mark.parametrize(
    "text",
    [
        "?s :points ?o ; :q ?x . ?o :r ?y",
        "?o :r ?y . ?s :points ?o ; :q ?x",
        "?s :points ?o . ?s ?v ?o",
        ":a :points ?o ; :q ?x",
        "?y :q ?s . ?s :points ?o , ?x",
    ],
)
@pytest.mark.parametrize("width", [30, 31, 32, 33, 34, 60])
def test_a_subject_of_whom_much_is_said_is_found_pattern_by_pattern(text, width):
    """On both sides of the line: it is crossed by the very change, either way, and back by what is not asked for."""
    query = Query(f"{PROLOGUE} SELECT * {{ {text} }}")
    few = {Quad(A, Q, B, DEFAULT), Quad(A, POINTS, C, DEFAULT), Quad(B, Q, A, DEFAULT)}
    few |= {Quad(C, R, Literal(1), DEFAULT), Quad(D, R, Literal(2), DEFAULT), Quad(A, POINTS, D, DEFAULT)}
    many = {Quad(A, POINTS, Literal(number), DEFAULT) for number in range(width)}
    store, way = embedded(), joined(query)
    world, bag = World(), answered(store, query, way.places)
    for gone, come in (
        (set(), few),
        (few, many),
        (many, few | many),
        (many, few),
        (set(), many),
        (few, set()),
    ):
        delta = world.exact(frozenset(gone), frozenset(come), frozenset(), frozenset())
        world = world.after(delta)
        ((came, went),) = replayed(store, delta, way)
        after = answered(store, query, way.places)
        assert (came, went) == (after - bag, bag - after)
        bag = after
    assert world.quads


class Counting:
    """A store that counts what is looked up in it."""

    def __init__(self, store):
        self._store = store
        self.looked = []
        self.taken = 0

    def match(self, *pattern):
        self.looked.append(pattern)
        for quad in self._store.match(*pattern):
            self.taken += 1
            yield quad


def inserted(*found):
    """A change of these."""
    return QuadDelta(frozenset(found), frozenset())


@pytest.mark.parametrize("known", [(), (P,), (P, Q)])
def test_a_star_is_looked_up_once_for_all_its_changed_quads(known):
    """However many of its patterns they are put into, and for before and after; a new subject as well."""
    store, way = embedded(), joined(Query(f"{PROLOGUE} SELECT * {{ ?s :p ?o ; :q ?x ; :r ?y }}"))
    store.replay(Replay(inserted(*(Quad(A, one, Literal(1), DEFAULT) for one in known)), 0, leap=True))
    delta = inserted(*(Quad(A, one, Literal(1), DEFAULT) for one in (P, Q, R) if one not in known))
    counting = Counting(store)
    store.replay(Replay(delta, 0, leap=True), lambda change: way.before(change, counting))
    assert way.after(delta, counting)[0].total() == 1
    assert counting.looked == [(A, None, None, DEFAULT)]


def test_of_a_subject_with_much_no_more_is_read_than_shows_it():
    """A hub costs what its patterns cost, not what it has."""
    store, way = embedded(), joined(Query(f"{PROLOGUE} SELECT * {{ ?s :p ?o ; :q ?x }}"))
    wide = [Quad(A, WIDE, Literal(number), DEFAULT) for number in range(1000)]
    delta = inserted(Quad(A, P, B, DEFAULT), Quad(A, Q, B, DEFAULT))
    store.replay(Replay(inserted(*wide), 0, leap=True))
    counting = Counting(store)
    store.replay(Replay(delta, 0, leap=True), lambda change: way.before(change, counting))
    assert way.after(delta, counting)[0].total() == 1
    assert counting.taken < 100


def test_what_meets_no_pattern_is_looked_up_nowhere():
    """Another graph, another predicate, another constant."""
    way = joined(Query(f"{PROLOGUE} SELECT * {{ ?s :p :a . ?s :q ?x }}"))
    counting = Counting(embedded())
    delta = inserted(Quad(A, P, A, G), Quad(A, R, A, DEFAULT), Quad(A, P, B, DEFAULT))
    assert way.after(delta, counting) == (Counter(), Counter())
    assert not [pattern for pattern in counting.looked if pattern[0] != A]


def test_what_is_no_star_is_looked_up_by_its_pattern():
    """Not all that is said of its subject."""
    store, way = embedded(), joined(Query(f"{PROLOGUE} SELECT * {{ ?s :p ?o . ?o :q ?x }}"))
    store.replay(Replay(inserted(Quad(B, Q, C, DEFAULT)), 0, leap=True))
    counting = Counting(store)
    delta = inserted(Quad(A, P, B, DEFAULT))
    store.replay(Replay(delta, 0, leap=True), lambda change: way.before(change, counting))
    assert way.after(delta, counting)[0].total() == 1
    assert counting.looked == [(B, Q, None, DEFAULT)]


def test_an_update_that_was_not_written_leaves_nothing():
    """What was seen before it is forgotten by the next."""
    store, way = embedded(), joined(Query(f"{PROLOGUE} SELECT * {{ ?s :p ?o ; :q ?x }}"))
    store.apply(Update(f"{PROLOGUE} INSERT DATA {{ :a :p 1 , 2 ; :q 3 }}"))
    one, four, five = (Quad(A, p, Literal(value), DEFAULT) for p, value in ((P, 1), (Q, 4), (P, 5)))
    way.before(QuadDelta(frozenset([four]), frozenset([one])), store)
    ((came, went),) = replayed(store, inserted(five), way)
    assert (came, went) == (Counter([(A, Literal(5), Literal(3))]), Counter())


@pytest.mark.parametrize("comes", [True, False])
def test_more_rows_than_the_limit_are_refused(comes):
    """As many as the limit are not; each solution counts, be they equal rows, and the next update starts anew."""
    store, way = embedded(), joined(Query(f"{PROLOGUE} SELECT ?x {{ ?s :p _:b ; :q ?x }}"), 12)
    four, three = (frozenset(Quad(A, Q, Literal(i), DEFAULT) for i in range(count)) for count in (4, 3))
    there = frozenset(Quad(A, P, Literal(i), DEFAULT) for i in range(4))
    store.replay(Replay(QuadDelta(there if comes else there | four, frozenset()), 0, leap=True))
    with pytest.raises(RequestTooLarge, match=r"limits\.answer_rows"):
        replayed(store, QuadDelta(four, frozenset()) if comes else QuadDelta(frozenset(), four), way)
    store.replay(
        Replay(QuadDelta(frozenset(), three) if comes else QuadDelta(three, frozenset()), 0, leap=True)
    )
    ((came, went),) = replayed(
        store, QuadDelta(three, frozenset()) if comes else QuadDelta(frozenset(), three), way
    )
    assert sorted(map(Counter.total, (came, went))) == [0, 12]
    assert bool(came) is comes


@pytest.mark.parametrize(
    ("text", "words"), [("?s :p ?o", "one pattern"), ("?s :p ?o ; :q ?x", "joined from the change outwards")]
)
def test_it_says_what_it_does(text, words):
    """In words."""
    assert joined(Query(f"{PROLOGUE} SELECT * {{ {text} }}")).words.startswith(words)
