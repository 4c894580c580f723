"""On random queries of the kinds that applications hold: each subscription hears what `NaiveSpu` says, and nothing else."""

from __future__ import annotations

import os
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode
from support.equivalence import Disagreement, Gone, Judged, Tally, reproduction, shrunk
from support.query_strategies import (
    FULL,
    HUB,
    PLAIN_NUMBERS,
    PROLOGUE,
    aggregates,
    cases,
    changes,
    constant_cases,
    constants,
    counting_cases,
    queries,
)
from support.random_updates import NUMBERS, Updates, wishes

from triplewire.broker.model import Query, Update

EXAMPLES = int(os.environ.get("TRIPLEWIRE_EXAMPLES", "80"))
# What disagrees is made smaller by `shrunk`.
RELAXED = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
GRAPHS_THERE = [NamedNode("http://example.org/g"), NamedNode("http://example.org/h")]
TALLY = Tally()
FIRST = Update(f"{PROLOGUE}INSERT DATA {{ {FULL} }}")
# `1.0` is not among them, as `1` is.
PLAIN = tuple(
    number
    for number in NUMBERS
    if number.datatype.value.endswith(("integer", "decimal")) and number.value != "1.0"
)
seeds, unions = st.integers(0, 2**32), st.booleans()
plain = st.sampled_from(PLAIN_NUMBERS)

pytestmark = pytest.mark.timeout(0 if "TRIPLEWIRE_EXAMPLES" in os.environ else 120)


def play(asked, steps, seed, union, numbers=NUMBERS):
    """Fill, subscribe, go on with these steps, and then with updates that meet the queries."""
    judged = Judged(TALLY, union=union)
    rng = Random(seed)
    try:
        for step in [FIRST] * (rng.random() < 0.8) + [*asked, *steps]:
            judged.take(step)
        quads = list(judged.store.dataset.store)
        wanted = [wish for query in judged.queries for wish in wishes(judged.analyse(query), GRAPHS_THERE)]
        updates = Updates(rng, quads, wanted, numbers)
        for number in range(15):
            present = sorted(judged.store.dataset.store, key=str)
            judged.take(updates.any(present) if len(present) < 200 else Update("CLEAR ALL"))
            judged.take(FIRST if number % 6 == 5 else rng.choice(asked))
            judged.take(Gone(rng.choice(asked)))
    except Disagreement:
        pytest.fail(reproduction(shrunk(judged.steps, union=union), union=union), pytrace=False)
    finally:
        judged.store.close()


@RELAXED
@given(
    st.lists(queries, min_size=2, max_size=8),
    st.lists(st.one_of(changes(), changes(), changes(), queries), max_size=6),
    seeds,
    unions,
)
def test_queries_of_all_forms(asked, steps, seed, union):
    """SELECT, ASK, CONSTRUCT, DESCRIBE, on whatever dataset; some subscribe late."""
    play(asked, steps, seed, union)


@RELAXED
@given(
    st.lists(aggregates | counting_cases, min_size=2, max_size=8),
    st.lists(st.one_of(changes(plain), changes(plain), changes(plain), aggregates), max_size=6),
    seeds,
    unions,
)
def test_aggregates(asked, steps, seed, union):
    """Groups that come, go and flip, and those of a query without GROUP BY."""
    play(asked, steps, seed, union, PLAIN)


@RELAXED
@given(
    st.lists(cases(), min_size=4, max_size=16),
    st.lists(st.one_of(changes(), changes(), changes(), cases(), st.just(HUB)), max_size=6),
    seeds,
    unions,
)
def test_many_queries_that_differ_in_constants(asked, steps, seed, union):
    """Those that share a unit; they come and go."""
    play([*asked, asked[0]], steps, seed, union)


@RELAXED
@given(
    st.lists(constant_cases, min_size=8, max_size=24),
    st.lists(changes(constants), min_size=4, max_size=10),
    seeds,
    unions,
)
def test_constants_in_all_their_forms(asked, steps, seed, union):
    """`1` and `01` are one term in the store, and numbers, dates and languages are written in many ways."""
    play(asked, steps, seed, union)


def test_a_graph_s_name_around_a_sub_select():
    """Oxigraph leaves it unbound where nothing else binds it, so it is no key."""
    judged = Judged(TALLY)
    inner = "{ SELECT DISTINCT * { ?s :p ?o } } OPTIONAL { ?s :q ?s }"
    judged.take(Query(f"PREFIX : <http://example.org/> SELECT * {{ GRAPH ?g {{ {inner} }} }}"))
    for text in (
        "INSERT DATA { GRAPH :h { :m :p 'x' } }",
        "INSERT DATA { GRAPH :h { :m :q :m } }",
        "CLEAR ALL",
    ):
        judged.take(Update(f"PREFIX : <http://example.org/> {text}"))
    judged.store.close()


def test_there_was_enough_to_compare():
    """Pairs by the ten thousand, and not of one kind."""
    if not TALLY.pairs:
        pytest.skip("the tests above were not asked for")
    print(f"\n{TALLY.table()}")
    assert TALLY.pairs.total() > 10_000
    assert TALLY.changed.total() > TALLY.pairs.total() / 20
    units = {kind.unit.partition(",")[0] for kind, changed in TALLY.changed.items() if changed}
    assert units >= {
        "Naive",
        "Shaped of JoinedRows",
        "Shaped of KeyedRows",
        "Constructed of JoinedRows",
        "Grouped of JoinedRows",
    }
