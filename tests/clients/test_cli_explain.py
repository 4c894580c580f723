"""`triplewire explain`."""

from __future__ import annotations

import pytest

from triplewire.clients import cli


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        (
            "SELECT ?v { ?s <urn:p> ?v . ?s a <urn:T> }",
            ["touched by ?s <urn:p> ?v in the default graph"],
        ),
        ("SELECT * { GRAPH <urn:g> { ?s ?p 'x' } }", ['touched by ?s ?p "x" in <urn:g>']),
        ("SELECT * { GRAPH ?g { ?s ?p ?o } } LIMIT 3", ["touched by ?s ?p ?o in any named graph"]),
        ("SELECT (NOW() AS ?t) { ?s ?p ?o }", ["touched by every change"]),
    ],
)
def test_it_says_what_touches_a_query(capsys, query, lines):
    """One line in words, then one for each pattern."""
    assert cli.run(["explain", query]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0]
    assert set(lines) <= set(said[1:])


def test_why_a_query_is_evaluated_fully(capsys):
    """In words."""
    assert cli.run(["explain", "SELECT * { ?s <urn:p> ?o } LIMIT 1"]) == 0
    assert capsys.readouterr().out.startswith("full: LIMIT")
