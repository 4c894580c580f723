"""COUNT by counting: what the whole query says."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.adding_up import adds_up
from support.sparql_strategies import PROLOGUE

from triplewire.broker.config import SparqlConfig
from triplewire.broker.model import Query
from triplewire.spu.analysis.analysis import analyse
from triplewire.spu.choice import chosen
from triplewire.spu.counted import CountedSpu

SPARQL = SparqlConfig()
ANALYSE = partial(analyse, base_iri=SPARQL.base_iri, prefixes=SPARQL.prefixes)
SHAPES = [
    "SELECT (COUNT(*) AS ?n) {{ ?m :to {who} }}",
    "SELECT (COUNT(?m) AS ?n) (COUNT( * ) AS ?all) {{ ?m :to {who} ; :text ?t }}",
    "SELECT ?w (COUNT(*) AS ?n) {{ ?m :to ?w }} GROUP BY ?w ORDER BY ?n",
    "SELECT ?w (COUNT(?t) AS ?n) {{ ?m :to ?w ; :text ?t . ?w :knows {who} }} GROUP BY ?w",
    "SELECT (COUNT(*) AS ?n) {{ ?m :to ?w OPTIONAL {{ ?m :text ?t }} }}",
    "SELECT (count(?m) as ?n) {{ {{ ?m :to ?w }} UNION {{ ?m :text ?t }} }}",
    "SELECT (COUNT(*) AS ?n) {{ GRAPH ?g {{ ?m :to ?w }} }}",
    "SELECT (COUNT(*) AS ?n) {{ ?m :to ?w FILTER NOT EXISTS {{ ?m :text ?t }} }}",
]
people = st.sampled_from(
    ["<http://example.org/a>", "<http://example.org/b>"]
)  # in full, so that they are lifted
cases = st.builds(lambda shape, who: PROLOGUE + shape.format(who=who), st.sampled_from(SHAPES), people)
triples = st.one_of(
    st.builds(":m{} :to {}".format, st.integers(0, 4), people),
    st.builds(":m{} :text 'x{}'".format, st.integers(0, 4), st.integers(0, 2)),
    st.builds("{} :knows {}".format, people, people),
)
blocks = st.lists(triples, min_size=1, max_size=6).map(" . ".join)
changes = st.one_of(
    blocks.map("INSERT DATA {{ {} }}".format),
    blocks.map("INSERT DATA {{ GRAPH :g {{ {} }} }}".format),
    blocks.map("DELETE DATA {{ {} }}".format),
    st.just("DELETE WHERE { ?m :text ?t }"),
    people.map(lambda who: f"DELETE {{ ?m :to ?w }} INSERT {{ ?m :to {who} }} WHERE {{ ?m :to ?w }}"),
    st.just("DROP SILENT GRAPH :g"),
)


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(blocks, st.lists(cases, min_size=1, max_size=6), st.lists(changes, min_size=1, max_size=8))
def test_the_counts_add_up(data, texts, updates):
    """Also of nothing, and of groups that come and go."""
    adds_up(ANALYSE, data, texts, updates)


@pytest.mark.parametrize("shape", SHAPES)
def test_they_are_served_so(shape):
    """Each of the above."""
    choice = chosen(ANALYSE(Query(PROLOGUE + shape.format(who="<urn:a>"))), ANALYSE, 1000)
    assert isinstance(choice.unit, CountedSpu)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT (COUNT(DISTINCT ?m) AS ?n) { ?m :to ?w }",
        "SELECT (COUNT(?m) + 1 AS ?n) { ?m :to ?w }",
        "SELECT (COUNT(?t) AS ?n) { ?m :to ?w OPTIONAL { ?m :text ?t } }",
        "SELECT (COUNT(*) AS ?n) { ?m :to ?w } GROUP BY ?w",
        "SELECT ?w (COUNT(*) AS ?n) { ?m :to ?w } GROUP BY ?w HAVING (COUNT(*) > 1)",
        "SELECT ?w (COUNT(*) AS ?n) { ?m :to ?w } GROUP BY ?w LIMIT 1",
        "SELECT (COUNT(*) AS ?n) (SUM(?w) AS ?s) { ?m :to ?w }",
        "SELECT (COUNT(*) AS ?n) { ?m :to ?w FILTER(?w > NOW()) }",
    ],
)
def test_what_is_more_than_that_is_not(text):
    """It is evaluated, whole or by group."""
    choice = chosen(ANALYSE(Query(PROLOGUE + text)), ANALYSE, 1000)
    assert choice is None or not isinstance(choice.unit, CountedSpu)
