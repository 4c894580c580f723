"""Which unit for which query, and how it finds what has changed."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest
from pyoxigraph import Literal, NamedNode, Quad
from support.stores import EX, PROLOGUE, embedded

from triplewire.broker.errors import RequestTooLarge
from triplewire.broker.model import QuadDelta, Query, QueryForm, Replay
from triplewire.spu.analysis.analysis import analyse
from triplewire.spu.choice import chosen, shared_key
from triplewire.spu.constructed import ConstructedSpu
from triplewire.spu.counted import CountedSpu
from triplewire.spu.grouped import GroupedSpu
from triplewire.spu.joined import JoinedRows
from triplewire.spu.keyed import KeyedRows
from triplewire.spu.shaped import ShapedSpu

# What a query is served by: the unit, its way to changed rows, and whether it is shared by all that differ in constants.
OWN, SHARED = False, True
TABLE = [
    # basic graph patterns
    ("SELECT ?s ?o { ?s :p ?o }", ShapedSpu, JoinedRows, OWN),
    ("SELECT * { ?s ?p ?o }", ShapedSpu, JoinedRows, OWN),
    ("SELECT ?s { ?s :p ?o ; :q ?x . ?o :r ?y }", ShapedSpu, JoinedRows, OWN),
    ("SELECT ?s { ?s :p [ :q ?o ] }", ShapedSpu, JoinedRows, OWN),
    ("SELECT ?s { GRAPH ?g { ?s :p ?o } }", ShapedSpu, JoinedRows, OWN),
    ("SELECT ?s { ?s :p ?o } ORDER BY ?o", ShapedSpu, JoinedRows, OWN),
    ("SELECT ?o { :a :p ?o }", ShapedSpu, JoinedRows, SHARED),
    ("SELECT ?o { ?s :p ?o ; :q 'x' }", ShapedSpu, JoinedRows, SHARED),
    ("SELECT ?s { ?s :p ?v FILTER(?v > 30) }", ShapedSpu, JoinedRows, SHARED),
    ("SELECT ?s { ?s :p ?v ; :q :a FILTER(?v > 30 && ?v <= 40) }", ShapedSpu, JoinedRows, SHARED),
    ("ASK { ?s :p ?o }", ShapedSpu, JoinedRows, OWN),
    ("ASK { :a :p ?o }", ShapedSpu, JoinedRows, SHARED),
    # more than that, where each pattern has keys
    ("SELECT ?s { ?s :p ?o FILTER(?o != :z) }", ShapedSpu, KeyedRows, OWN),
    ("SELECT ?s ?x { ?s :p ?o OPTIONAL { ?s :q ?x } }", ShapedSpu, KeyedRows, OWN),
    ("SELECT DISTINCT ?s { ?s :p ?o }", ShapedSpu, KeyedRows, OWN),
    ("SELECT ?s ?o { ?s :p/:q ?o }", ShapedSpu, KeyedRows, OWN),
    ("SELECT ?s (STR(?o) AS ?t) { ?s :p ?o }", ShapedSpu, KeyedRows, OWN),
    ("SELECT ?s { ?s :p ?o . GRAPH :g { ?s :q ?x } }", ShapedSpu, KeyedRows, OWN),
    ("SELECT ?s { ?s :p ?o MINUS { ?s :q ?o } }", ShapedSpu, KeyedRows, OWN),
    ("SELECT ?s ?x { ?s :p :a OPTIONAL { ?s :q ?x } }", ShapedSpu, KeyedRows, SHARED),
    ("ASK { ?s :p :a FILTER NOT EXISTS { ?s :q ?x } }", ShapedSpu, KeyedRows, SHARED),
    # keys for some of its patterns: not for very many queries at once
    ("SELECT ?s ?x { ?s :p ?o . ?o :q+ ?x }", ShapedSpu, KeyedRows, OWN),
    ("SELECT ?s ?x { ?s :p :a . ?s :q+ ?x }", ShapedSpu, KeyedRows, OWN),
    ("SELECT ?s ?x { ?s :p :a OPTIONAL { ?x :q ?y } }", ShapedSpu, KeyedRows, OWN),
    # aggregates
    ("SELECT ?s (COUNT(*) AS ?n) { ?s :p ?o } GROUP BY ?s", CountedSpu, JoinedRows, OWN),
    ("SELECT (COUNT(?o) AS ?n) { ?s :p ?o }", CountedSpu, JoinedRows, OWN),
    ("SELECT (COUNT(*) AS ?n) { ?s :p :a OPTIONAL { ?s :q ?x } }", CountedSpu, KeyedRows, OWN),
    ("SELECT ?s (COUNT(*) AS ?n) { ?s :p :a ; :q ?x } GROUP BY ?s", CountedSpu, JoinedRows, SHARED),
    ("SELECT ?s (AVG(?o) AS ?n) { ?s :p ?o } GROUP BY ?s", GroupedSpu, JoinedRows, OWN),
    ("SELECT ?s (SUM(?v) AS ?n) { ?s :p ?v ; :q :a } GROUP BY ?s", GroupedSpu, JoinedRows, SHARED),
    ("SELECT ?s (MAX(?x) AS ?n) { ?s :p ?o OPTIONAL { ?o :q ?x } } GROUP BY ?s", GroupedSpu, KeyedRows, OWN),
    (
        "SELECT ?s (COUNT(?x) AS ?n) { ?s :p ?o OPTIONAL { ?s :q ?x } } GROUP BY ?s",
        GroupedSpu,
        KeyedRows,
        OWN,
    ),
    # templates
    ("CONSTRUCT { ?s :made ?o } { ?s :p ?o ; :q ?x }", ConstructedSpu, JoinedRows, OWN),
    ("CONSTRUCT WHERE { ?s :p ?o }", ConstructedSpu, JoinedRows, OWN),
    ("CONSTRUCT { ?s :made [] } { ?s :p ?o OPTIONAL { ?s :q ?x } }", ConstructedSpu, KeyedRows, OWN),
    ("CONSTRUCT { :a :made ?o } { :a :p ?o }", ConstructedSpu, JoinedRows, OWN),
]
WHOLE = [
    "SELECT ?s { ?s :p ?o } LIMIT 3",
    "SELECT ?s { ?s :p :a } LIMIT 3",
    "SELECT (SUM(?o) AS ?n) { ?s :p ?o }",
    "SELECT (COUNT(*) AS ?n) { ?s :p ?o OPTIONAL { ?x :q ?y } }",
    "SELECT ?x (COUNT(*) AS ?n) { ?s :p ?o OPTIONAL { ?s :q ?x } } GROUP BY ?x",
    "SELECT DISTINCT (SUM(?o) AS ?n) { ?s :p ?o } GROUP BY ?s",
    "SELECT DISTINCT (COUNT(*) AS ?n) { ?s :p ?o } GROUP BY ?s",
    "SELECT ?s (SAMPLE(?o) AS ?n) { ?s :p ?o } GROUP BY ?s",
    "SELECT ?s (NOW() AS ?t) { ?s :p ?o }",
    "SELECT ?s { ?s :p ?o FILTER(RAND() > 0.5) }",
    "SELECT * { { ?s :p ?o } UNION { ?x :q ?y } }",
    "SELECT ?s { { SELECT ?s { ?s :p ?o } LIMIT 1 } ?s :q ?x }",
    "SELECT ?s { ?s :p* ?o }",
    "SELECT ?s { << ?s :p ?o >> :q ?x }",
    "CONSTRUCT { << ?s :p ?o >> :q ?x } { ?s :p ?o ; :q ?x }",
    "SELECT * { VALUES ?s { :a :b } }",
    "ASK {}",
    "DESCRIBE :a",
    "DESCRIBE ?s { ?s :p ?o }",
    "CONSTRUCT { ?s :made ?o } { ?s :p ?o } LIMIT 3",
    "CONSTRUCT { ?s :made ?o } { ?s :p* ?o }",
    "SELECT nonsense",
]


def choice_of(text, most_rows=1000):
    """What is chosen for a query."""
    return chosen(analyse(Query(PROLOGUE + text)), analyse, most_rows)


@pytest.mark.parametrize(("text", "unit", "way", "shared"), TABLE)
def test_the_cheapest_unit_that_will_do(text, unit, way, shared):
    """By the table."""
    query = Query(PROLOGUE + text)
    choice = choice_of(text)
    assert choice is not None
    assert type(choice.unit) is unit
    assert type(choice.unit.way) is way
    assert (choice.key != query) is shared
    if shared:
        assert choice.key == shared_key(analyse(query))
        assert choice.analysis.query == analyse(query).lifted.query
    else:
        assert choice.analysis.query == query


@pytest.mark.parametrize("text", WHOLE)
def test_what_nothing_cheaper_will_do_for_is_evaluated_whole(text):
    """A slice, a whim, a path's closure, no variable that all rows bind, or no sense."""
    assert choice_of(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?s { ?s :p ?o }",
        "SELECT ?s { ?s :p ?o ; :q :a }",
        "ASK { ?s :p ?o }",
        "SELECT ?s (SUM(?o) AS ?n) { ?s :p ?o } GROUP BY ?s",
        "SELECT ?s (COUNT(*) AS ?n) { ?s :p ?o } GROUP BY ?s",
        "CONSTRUCT { ?s :made ?o } { ?s :p ?o }",
    ],
)
def test_what_is_joined_has_the_limit_of_rows(text):
    """Which Oxigraph's answers have by themselves."""
    quads = (Quad(NamedNode(f"{EX}{number}"), NamedNode(f"{EX}p"), Literal(1)) for number in range(6))
    rest = (Quad(NamedNode(f"{EX}{number}"), NamedNode(f"{EX}q"), NamedNode(f"{EX}a")) for number in range(6))
    delta = QuadDelta(frozenset((*quads, *rest)), frozenset())
    for most, refused in ((5, True), (6, False)):
        store, way = embedded(), choice_of(text, most).unit.way
        way.before(delta, store)
        store.replay(Replay(delta, 0, leap=True))
        with pytest.raises(RequestTooLarge) if refused else nullcontext():
            way.after(delta, store)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("SELECT ?s ?x { ?s :p ?o OPTIONAL { ?s :q ?x } }", 1000),
        ("SELECT ?s ?x { ?s :p :a OPTIONAL { ?s :q ?x } }", 2000),
    ],
)
def test_all_cases_at_once_are_thought_to_cost_more(text, keys):
    """Until it is measured: of very many queries the whole is very much."""
    costs = choice_of(text).unit.way._costs
    assert costs.is_worth(keys)
    assert not costs.is_worth(keys + 1)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("SELECT ?o { :a :p ?o }", "SELECT ?o { :b :p ?o }", True),
        ("SELECT ?o { :a :p ?o }", "SELECT ?o { 'a' :p ?o }", True),
        ("SELECT ?s { ?s :p ?v FILTER(?v > 1) }", "SELECT ?s { ?s :p ?v FILTER(?v > 2.5) }", True),
        ("SELECT ?o { :a :p ?o }", "SELECT ?o { :a :q ?o }", False),
        ("SELECT ?o { :a :p ?o }", "SELECT ?s { :a :p ?s }", False),
        ("SELECT ?s { :a :p ?s }", "ASK { :a :p ?s }", False),
        ("SELECT ?s { ?s :p :a }", "SELECT ?s { ?s :p ?a }", False),
    ],
)
def test_queries_that_differ_in_constants_only_have_a_key_in_common(one, other, alike):
    """Their form is part of it."""
    keys = [shared_key(analyse(Query(PROLOGUE + text))) for text in (one, other)]
    assert (keys[0] == keys[1]) is alike


def test_queries_over_other_graphs_have_nothing_in_common():
    """Of the protocol's parameters, as of FROM."""
    text = f"{PROLOGUE} SELECT ?o {{ :a :p ?o }}"
    queries = [Query(text), Query(text, ("urn:g",)), Query(text, (), ("urn:g",))]
    assert len({shared_key(analyse(query)) for query in queries}) == 3


def test_another_form_is_another_key():
    """Whatever text both come to: of one rows are told, of the other flips."""
    analysis = analyse(Query(f"{PROLOGUE} SELECT ?o {{ :a :p ?o }}"))
    assert shared_key(replace(analysis, form=QueryForm.ASK)) != shared_key(analysis)


def test_a_query_without_constants_is_its_own_key():
    """There are equal ones only."""
    query = Query(f"{PROLOGUE} SELECT ?s {{ ?s :p ?o }}")
    assert shared_key(analyse(query)) == query


def test_a_pattern_of_very_many_triples_is_left_to_the_store():
    """To plan its joins would take longer than they do."""
    few, many = (" . ".join(f"?s :p{number} ?o{number}" for number in range(count)) for count in (16, 17))
    assert isinstance(choice_of(f"SELECT * {{ {few} }}").unit.way, JoinedRows)
    assert isinstance(choice_of(f"SELECT * {{ {many} }}").unit.way, KeyedRows)
