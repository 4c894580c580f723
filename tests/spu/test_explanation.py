"""What is said of how queries are followed."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.stores import PROLOGUE

from triplewire.broker.model import Query
from triplewire.jsap import Profile
from triplewire.jsap.check_entries import sample_values
from triplewire.spu.analysis.analysis import analyse
from triplewire.spu.choice import chosen
from triplewire.spu.explanation import METHODS, explain, method
from triplewire.spu.naive import NaiveSpu

TABLE = Path(__file__).with_name("explanations.txt")
PROFILES = ("chat", "explorer", "irrigation", "notifications", "qudt.org", "sepatest", "wikidata.federation")


def explained(text):
    return explain(analyse(Query(PROLOGUE + text)), analyse)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT * { ?s :p ?o }", "one pattern, no query needed"),
        ("SELECT * { ?s :p ?o ; :q ?x }", "joined from the change outwards, no query needed"),
        ("ASK { ?s :p ?o ; :q ?x }", "joined from the change outwards, no query needed"),
        ("SELECT * { ?s :p ?o OPTIONAL { ?s :q ?x } }", "keyed on ?o ?s; keyed on ?s"),
        (
            "SELECT ?s (AVG(?o) AS ?a) { ?s :p ?o } GROUP BY ?s",
            "by group, ?s, of solutions that are one pattern",
        ),
        ("CONSTRUCT { ?s :r ?o } { ?s :p ?o }", "the template filled with solutions that are one pattern"),
        ("SELECT * { ?s :p ?o } LIMIT 3", "full: LIMIT or OFFSET"),
        ("SELECT * { { ?s :p ?o } UNION { ?x :q ?y } }", "full: full by any quad with predicate"),
        ("SELECT * { ?s :p <urn:x> }", "one pattern, no query needed; shared by all that differ in <urn:x>"),
        (
            "SELECT * { ?s :p ?o FILTER(?o > 3) }",
            "one pattern, no query needed; shared by all that differ in ?o > ",
        ),
        ("SELECT nonsense", "full: not understood"),
    ],
)
def test_one_line_of_words(text, words):
    """The unit, and why."""
    assert explained(text).startswith(words)


def explanations(folder):
    for name in PROFILES:
        profile = Profile.load(folder / "jsap" / f"{name}.jsap")
        for query_id, entry in profile.queries.items():
            query = profile.query(query_id, sample_values(entry, profile.namespaces))
            yield f"{name} {query_id.rpartition('/')[2]}: {explain(analyse(query), analyse)}"


def test_the_explanations_of_the_applications_queries(shared):
    """All of them, as they stand in the table beside this file."""
    assert TABLE.read_text(encoding="utf-8").splitlines() == list(explanations(shared))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("SELECT * { ?s :p ?o ; :q ?x }", "joined"),
        ("ASK { ?s :p 'x' }", "joined"),
        ("SELECT * { ?s :p ?o OPTIONAL { ?s :q ?x } }", "keyed"),
        ("SELECT (COUNT(*) AS ?n) { ?s :p ?o }", "counted"),
        ("SELECT ?s (MIN(?o) AS ?least) { ?s :p ?o } GROUP BY ?s", "grouped"),
        ("CONSTRUCT { ?s :r ?o } WHERE { ?s :p ?o }", "constructed"),
        ("SELECT * { ?s :p ?o } LIMIT 1", "whole"),
    ],
)
def test_one_word_for_figures(text, word):
    """One of METHODS for each way there is."""
    analysis = analyse(Query(PROLOGUE + text))
    choice = chosen(analysis, analyse, 1000)
    unit = choice.unit if choice is not None else NaiveSpu(analysis.query)
    assert method(unit) == word
    assert word in METHODS
