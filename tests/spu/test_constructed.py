"""CONSTRUCT by its changed solutions: the triples that come and go are those of two whole answers."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.sparql_strategies import PROLOGUE, data_blocks, updates
from support.stores import embedded

from triplewire.broker.config import LimitsConfig
from triplewire.broker.errors import BrokerError, SparqlSyntaxError
from triplewire.broker.model import Query, Update
from triplewire.spu.analysis.analysis import analyse
from triplewire.spu.choice import chosen
from triplewire.spu.constructed import ConstructedSpu
from triplewire.spu.naive import NaiveSpu

# Several solutions make one triple, or one solution one triple twice; places unbound, or of a kind that is no triple.
TEMPLATES = [
    "?s :made ?o",
    "?s a :Thing",
    ":all :have ?s , ?o",
    "?s :made ?o . ?o :of ?s",
    "?s :made ?x . ?s :made ?o",
    "?s :made ?o , ?o . ?o :made ?s",
    "?s ?x ?o",
    "?s :made ?never",
    ":a :made :one",
    "?s :made [ :value ?o ]",
    "?o :made _:node . _:node :of ?s , ?x",
    "?s :list ( ?o ?x )",
    "?x :made _:one ; :made [ ]",
]
PATTERNS = [
    "?s :p ?o",
    "?s ?x ?o . ?s :p _:any",
    "?s :p ?o , _:b ; :q ?x",
    "?s :p ?o OPTIONAL { ?o :q ?x }",
    "{ ?s :p ?o } UNION { ?s :q ?o }",
    "?s :p ?o . ?o :q ?x FILTER(?s != ?x)",
    "?s :p ?o MINUS { ?s :q ?o }",
    "GRAPH ?x { ?s :p ?o }",
    "GRAPH :g { ?s :p ?o ; :q ?x }",
    "?s :p ?o BIND(STR(?o) AS ?x)",
    "{ SELECT DISTINCT ?s ?x { ?s :p ?o . ?s :q ?x } } ?s :p ?o",
    "?s :p ?o . ?s :q ?x",
]
queries = st.one_of(
    st.builds(
        "CONSTRUCT {{ {} }} WHERE {{ {} }}".format, st.sampled_from(TEMPLATES), st.sampled_from(PATTERNS)
    ),
    st.builds("CONSTRUCT {{ {} }} {{ {} }}".format, st.sampled_from(TEMPLATES), st.sampled_from(PATTERNS)),
    st.sampled_from(
        [
            "CONSTRUCT WHERE { ?s :p ?o }",
            "CONSTRUCT WHERE { ?s :p ?o ; :q ?x . ?o :p ?y }",
            "CONSTRUCT FROM :g WHERE { ?s :p ?o . ?s ?x ?o }",
        ]
    ),
).map(lambda text: Query(PROLOGUE + text))
blocks = st.lists(data_blocks(), min_size=1, max_size=4).map(" . ".join)
changes = st.one_of(
    updates,
    blocks.map(f"{PROLOGUE} INSERT DATA {{{{ {{}} }}}}".format),
    st.sampled_from([":p", ":q"]).map(lambda p: f"{PROLOGUE} DELETE WHERE {{ ?s {p} ?o }}"),
    st.sampled_from([":a", ":b"]).map(
        lambda s: f"{PROLOGUE} DELETE {{ {s} ?p ?o }} INSERT {{ {s} ?p :c }} WHERE {{ {s} ?p ?o }}"
    ),
)


def unit_of(query):
    """The unit that serves it, which must be of this kind."""
    choice = chosen(analyse(query), analyse, LimitsConfig().answer_rows)
    assert choice is not None, query.sparql
    assert isinstance(choice.unit, ConstructedSpu), query.sparql
    return choice.unit


def changed(store, text, *units):
    """Write an update; what each unit tells."""
    delta = store.apply(
        Update(PROLOGUE + text), lambda change: [unit.before(change, store) for unit in units]
    )
    return [unit.after(delta, store) for unit in units]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(queries, min_size=2, max_size=5, unique=True),
    st.lists(data_blocks(), max_size=5),
    st.lists(changes, min_size=1, max_size=5),
)
def test_it_tells_what_the_naive_unit_tells(asked, data, texts):
    """Blank nodes included, by name; and who subscribes later gets all that there is, once."""
    store = embedded()
    for block in data:
        store.apply(Update(f"{PROLOGUE} INSERT DATA {{ {block} }}"))
    pairs = [(unit_of(query), NaiveSpu(query)) for query in asked]
    for unit, naive in pairs:
        assert unit.first(store).bag() == naive.first(store).bag()
    for text in texts:
        try:
            told = changed(store, text, *(unit for pair in pairs for unit in pair))
        except BrokerError:
            continue  # refused: nothing has changed
        for query, ours, theirs, (unit, naive) in zip(asked, told[::2], told[1::2], pairs, strict=True):
            assert ours == theirs, query.sparql
            first = unit.first(store)
            assert (first.vars, first.bag()) == (ours.vars, naive.first(store).bag()), query.sparql


def sizes(told):
    """How many triples came, and how many went."""
    return told.added.total(), told.removed.total()


@pytest.mark.parametrize("pattern", ["?s :p ?o", "?s :p _:any", "?s :p _:any FILTER(?s != :z)"])
def test_a_triple_goes_with_the_last_solution_that_makes_it(pattern):
    """And comes with the first; be the solutions equal or not."""
    store, unit = embedded(), unit_of(Query(f"{PROLOGUE} CONSTRUCT {{ ?s a :Thing }} {{ {pattern} }}"))
    assert not unit.first(store).rows
    for text, expected in (
        ("INSERT DATA { :a :p 1 , 2 }", (1, 0)),
        ("INSERT DATA { :a :p 3 }", (0, 0)),
        ("DELETE DATA { :a :p 1 } ; INSERT DATA { :b :p 1 }", (1, 0)),
        ("DELETE DATA { :a :p 2 } ; INSERT DATA { :a :p 4 }", (0, 0)),
        ("DELETE DATA { :a :p 3 , 4 }", (0, 1)),
        ("DELETE DATA { :b :p 1 }", (0, 1)),
    ):
        assert sizes(*changed(store, text, unit)) == expected, text
    assert not unit.first(store).rows


def test_equal_solutions_have_blank_nodes_of_their_own():
    """As many as there are solutions, each with a name that it keeps."""
    query = Query(f"{PROLOGUE} CONSTRUCT {{ ?s :made [] }} {{ ?s :p _:any }}")
    store, unit = embedded(), unit_of(query)
    unit.first(store)
    (come,) = changed(store, "INSERT DATA { :a :p 1 , 2 }", unit)
    (third,) = changed(store, "INSERT DATA { :a :p 3 }", unit)
    (gone,) = changed(store, "DELETE DATA { :a :p 1 }", unit)
    assert [sizes(told) for told in (come, third, gone)] == [(2, 0), (1, 0), (0, 1)]
    assert gone.removed == third.added, "the last is taken away, whichever solution went"
    (back,) = changed(store, "INSERT DATA { :a :p 4 }", unit)
    assert back.added == gone.removed
    assert unit.first(store).bag() == come.added + third.added


def test_what_is_unbound_or_no_triple_is_left_out():
    """By solution: others that bind it make it (SPARQL 1.1 Query, 16.2)."""
    text = "CONSTRUCT { ?s :made ?x . ?o :of ?s . ?s ?x :b } { ?s :p ?o OPTIONAL { ?s :q ?x } }"
    store, unit = embedded(), unit_of(Query(PROLOGUE + text))
    unit.first(store)
    assert sizes(*changed(store, "INSERT DATA { :a :p 1 }", unit)) == (0, 0)
    assert sizes(*changed(store, "INSERT DATA { :a :p :b }", unit)) == (1, 0)
    assert sizes(*changed(store, "INSERT DATA { :a :q 1 }", unit)) == (1, 0)
    assert sizes(*changed(store, "INSERT DATA { :a :q :r }", unit)) == (2, 0)
    assert sizes(*changed(store, "DELETE WHERE { :a :q ?x }", unit)) == (0, 3)


def test_what_is_wrong_is_told_of_the_senders_own_text():
    """Not of the texts that are made of it."""
    query = Query(f"{PROLOGUE} CONSTRUCT {{ ?s :made ?o }} {{ ?s :p ?o BIND(1 AS ?o) }}")
    choice = chosen(analyse(query), analyse, 100)
    assert choice is not None
    assert isinstance(choice.unit, ConstructedSpu)
    with pytest.raises(SparqlSyntaxError) as ours:
        choice.unit.first(embedded())
    with pytest.raises(SparqlSyntaxError) as theirs:
        embedded().evaluate(query)
    assert ours.value.description == theirs.value.description


def test_nothing_is_kept_of_what_has_gone():
    """Neither counts nor names."""
    store = embedded()
    plain, blank = (
        unit_of(Query(f"{PROLOGUE} CONSTRUCT {{ {template} }} {{ ?s :p ?o }}"))
        for template in ("?s :made ?o", "?s :made [ :value ?o ]")
    )
    for unit in (plain, blank):
        unit.first(store)
    changed(store, "INSERT DATA { :a :p 1 , 2 . :b :p 3 }", plain, blank)
    changed(store, "DELETE WHERE { ?s :p ?o }", plain, blank)
    for unit in (plain, blank):
        assert (unit._triples, unit._seen) == (Counter(), Counter())
        assert not dict(unit._triples)
        assert not dict(unit._seen)
