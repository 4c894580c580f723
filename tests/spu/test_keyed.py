"""The rows that come and go, by keys, are those between two whole answers; and what is evaluated for them."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pyoxigraph import Variable
from support.sparql_strategies import PROLOGUE, data_blocks, queries, updates
from support.stores import embedded

from triplewire.broker.errors import BrokerError
from triplewire.broker.model import Query, Update
from triplewire.spu import keyed
from triplewire.spu.analysis.analysis import analyse
from triplewire.spu.keyed import KeyedRows

# Patterns with keys of their own, whose rows overlap: a row agrees with the keys of several changed quads.
SHAPES = [
    "SELECT * { ?s :p ?o . ?o :q ?x FILTER(?s != :z) }",
    "SELECT ?s { ?s :p ?o . ?o :q ?x FILTER(?s != :z) }",
    "SELECT ?o { ?s :p ?o . ?x :p ?o . ?x :q ?y FILTER(?y != :z) }",
    "SELECT ?s ?x { ?s :p ?o OPTIONAL { ?s :q ?x } }",
    "SELECT ?x { ?s :p ?o . ?o :p ?x OPTIONAL { ?x :q ?y } }",
    "SELECT ?s ?o { { ?s :p ?o } UNION { ?o :p ?s } UNION { ?s :q ?o } }",
    "SELECT ?s { ?s :p ?o MINUS { ?s :q ?o } FILTER NOT EXISTS { ?o :r ?x } }",
    "SELECT DISTINCT ?s { ?s :p ?o . ?o :q ?x }",
    "SELECT ?s ?o { ?s :p/:q ?o }",
    "SELECT ?g ?s { GRAPH ?g { ?s :p ?o FILTER(?o != :z) } ?s :q ?x }",
    "SELECT ?s ?n { ?s :p ?o . { SELECT ?s (COUNT(*) AS ?n) { ?s :q ?x } GROUP BY ?s } }",
    "SELECT ?s ?o { ?s :p ?o . ?o :q* ?x }",
    "ASK { ?s :p ?o OPTIONAL { ?o :q ?x } }",
    "CONSTRUCT { ?s :made ?x } { ?s :p ?o OPTIONAL { ?o :q ?x } }",
    "SELECT ?s ?k { ?s :p ?o , ?x BIND(STR(?o) AS ?k) }",
]
texts = st.one_of(
    st.sampled_from(SHAPES).map(PROLOGUE.__add__), st.sampled_from(SHAPES).map(PROLOGUE.__add__), queries
)
blocks = st.lists(data_blocks(), min_size=1, max_size=4).map(" . ".join)
changes = st.one_of(
    updates,
    blocks.map(f"{PROLOGUE} INSERT DATA {{{{ {{}} }}}}".format),
    st.sampled_from([":p", ":q"]).map(lambda p: f"{PROLOGUE} DELETE WHERE {{ ?s {p} ?o }}"),
    blocks.map(lambda block: f"{PROLOGUE} DELETE WHERE {{ ?s :p ?o }} ; INSERT DATA {{ {block} }}"),
)


def has_keys(analysis):
    """Whether it may be served so."""
    return not analysis.anything and not analysis.wellness and any(one.keys for one in analysis.occurrences)


def asked_by(analysis):
    """The query with all keys among its columns: what the rows are of."""
    return analysis.asking(tuple(dict.fromkeys(key for one in analysis.occurrences for key in one.keys)))


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(texts, min_size=3, max_size=6),
    st.sampled_from([0, 1, 2, 64, 64]),
    st.lists(data_blocks(), max_size=4),
    st.lists(changes, min_size=1, max_size=5),
)
def test_the_changes_are_those_between_two_answers(asked, whole_in_keys, data, updates_):
    """However many keys the whole is thought to cost, and whatever it has cost."""
    store = embedded()
    for block in data:
        store.apply(Update(f"{PROLOGUE} INSERT DATA {{ {block} }}"))
    ways, bags = {}, {}
    for analysis in map(analyse, map(Query, asked)):
        query = asked_by(analysis)
        if has_keys(analysis):
            with suppress(BrokerError):  # a random text that Oxigraph refuses
                bags[query] = store.evaluate(query).bag()
                ways[query] = KeyedRows(analysis, whole_in_keys)
    assume(ways)
    for text in updates_:
        try:
            delta = store.apply(
                Update(text), lambda delta: [way.before(delta, store) for way in ways.values()]
            )
        except BrokerError:
            continue  # refused: the next `before` starts anew
        for query, way in ways.items():
            after = store.evaluate(query).bag()
            assert way.after(delta, store) == (after - bags[query], bags[query] - after), query.sparql
            bags[query] = after


class Watched:
    """A store that writes down what is evaluated in it, and has a clock that only evaluations move."""

    def __init__(self, key_s=1.0, whole_s=10.0):
        self.store = embedded()
        self.given = []
        self._seconds = key_s, whole_s
        self._now = 0.0

    def evaluate(self, query, given=None, place=None):
        self.given += [None] if given is None else given
        self._now += self._seconds[1] if given is None else self._seconds[0] * len(given)
        return self.store.evaluate(query, given, place)

    def perf_counter(self):
        return self._now

    def change(self, text, way):
        """Write it; the rows that came and went, and what was given to each evaluation before it."""
        self.given.clear()
        delta = self.store.apply(Update(PROLOGUE + text), lambda change: way.before(change, self))
        before = self.given.copy()
        found = way.after(delta, self)
        assert self.given == before * 2, "the same is looked at before and after"
        return found, before


def way_of(text, *settings_):
    """The way of a query."""
    return KeyedRows(analyse(Query(PROLOGUE + text)), *settings_)


def test_a_row_that_agrees_with_several_keys_counts_once():
    """And as often as it is there."""
    watched, way = Watched(), way_of("SELECT ?s { ?s :p ?o . ?o :q ?x FILTER(?s != :z) }")
    (came, went), given = watched.change("INSERT DATA { :a :p :b . :b :q 1 , 2 . :c :p :b }", way)
    assert sorted(came.values()) == [1, 1, 1, 1]
    assert not went
    assert {tuple(sorted(keys, key=str)) for keys in given} == {
        (Variable("o"), Variable("s")),
        (Variable("o"), Variable("x")),
    }
    assert len(given) == 4


def test_keys_that_say_more_than_others_are_not_asked_for():
    """All that is looked for with two is found with one of them; nor counted."""
    watched, way = Watched(), way_of("SELECT ?s ?x { ?s :p ?o OPTIONAL { ?s :q ?x } }", 2)
    (came, _), given = watched.change("INSERT DATA { :a :p 1 , 2 ; :q 3 . :b :p 1 }", way)
    assert came.total() == 3
    assert sorted(map(len, given)) == [1, 2]


@pytest.mark.parametrize("text", ["INSERT DATA { :a :r 1 }", "INSERT DATA { GRAPH :g { :a :p 1 } }", ""])
def test_what_it_does_not_meet_is_not_evaluated(text):
    """Nor does it tell anything."""
    watched, way = Watched(), way_of("SELECT ?s { ?s :p ?o FILTER(?o > 0) }")
    assert watched.change(text, way) == ((Counter(), Counter()), [])


def test_what_has_no_keys_takes_the_whole():
    """A path's closure; the other pattern has its own."""
    watched, way = Watched(), way_of("SELECT ?s ?x { ?s :p ?o . ?o :q+ ?x }")
    assert None not in watched.change("INSERT DATA { :a :p :b }", way)[1]
    (came, _), given = watched.change("INSERT DATA { :b :q :c }", way)
    assert (came.total(), given) == (1, [None])


def test_a_change_that_is_not_known_takes_the_whole():
    """From a store that does not tell."""
    watched, way = Watched(), way_of("SELECT ?s { ?s :p ?o FILTER(?o > 0) }")
    way.before(None, watched)
    watched.store.apply(Update(f"{PROLOGUE} INSERT DATA {{ :a :p 1 }}"))
    came, went = way.after(None, watched)
    assert (came.total(), went, watched.given) == (1, Counter(), [None, None])


def test_an_update_that_was_not_written_leaves_nothing():
    """What was seen before it is forgotten by the next."""
    watched, way = Watched(), way_of("SELECT ?s ?o { ?s :p ?o FILTER(?o > 0) }")
    watched.change("INSERT DATA { :a :p 1 }", way)
    gone = watched.store.apply(Update(f"{PROLOGUE} DELETE DATA {{ :a :p 1 }}"))
    watched.store.apply(Update(f"{PROLOGUE} INSERT DATA {{ :a :p 1 }}"))
    way.before(gone, watched)
    (came, went), _ = watched.change("INSERT DATA { :b :p 2 }", way)
    assert (came.total(), went) == (1, Counter())


def several(count, value):
    """An update that meets so many keys."""
    return "INSERT DATA {{ {} }}".format(" . ".join(f":s{number} :p {value}" for number in range(count)))


def test_until_it_is_measured_the_whole_costs_a_number_of_keys():
    """As it is told."""
    watched, way = Watched(), way_of("SELECT ?s { ?s :p ?o FILTER(?o > 0) }", 3)
    assert watched.change(several(3, 1), way)[1] != [None]
    assert watched.change(several(4, 2), way)[1] == [None]


def test_the_cheaper_way_is_taken(monkeypatch):
    """By what both have cost; the rows are the same."""
    watched = Watched(key_s=1, whole_s=5)
    monkeypatch.setattr(keyed, "time", SimpleNamespace(perf_counter=watched.perf_counter))
    way = way_of("SELECT ?s ?o { ?s :p ?o FILTER(?o > 0) }", 3)
    assert None not in watched.change(several(1, 1), way)[1]
    assert watched.change(several(4, 2), way)[1] == [None]
    (came, _), given = watched.change(several(5, 3), way)
    assert (came.total(), len(given)) == (5, 5)
    (came, _), given = watched.change(several(6, 4), way)
    assert (came.total(), given) == (6, [None])


def test_of_very_many_keys_no_more_are_looked_for(monkeypatch):
    """However cheap each is."""
    monkeypatch.setattr(keyed, "_MOST_KEYS", 5)
    watched, way = Watched(), way_of("SELECT ?s { ?s :p ?o FILTER(?o > 0) }")
    assert len(watched.change(several(5, 1), way)[1]) == 5
    assert watched.change(several(6, 2), way)[1] == [None]


def test_the_keys_are_among_the_columns():
    """Also those that the query does not show; and `places` says where each column is."""
    watched, way = Watched(), way_of("SELECT ?x { ?s :p ?o . ?o :q ?x FILTER(?x > 0) }")
    (came, _), _ = watched.change("INSERT DATA { :a :p :b . :b :q 1 }", way)
    ((row, count),) = came.items()
    assert count == 1
    assert {name: row[place].value.rpartition("/")[2] for name, place in way.places.items()} == {
        "x": "1",
        "o": "b",
        "s": "a",
    }
