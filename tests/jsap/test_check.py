"""The problems of profiles."""

from __future__ import annotations

import json

import pytest

from triplewire.jsap import Problem, check


@pytest.fixture
def problems(tmp_path):
    """Writes a document and says what is wrong with it."""

    def of(document):
        path = tmp_path / "p.jsap"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return [str(problem) for problem in check(path)]

    return of


def test_a_profile_as_it_should_be_has_no_problems(problems):
    """Then the list is empty."""
    assert problems({"host": "h", "queries": {"Q": {"sparql": "SELECT * {?s ?p ?o}"}}}) == []


def test_syntax_errors_have_their_line(problems, tmp_path):
    """In JSON and in YAML, by the name of the file."""
    assert problems('{"host": "h",\n "queries" {}}') == [
        f"error: line 2, column 12: {tmp_path}/p.jsap is not JSON: Expecting ':' delimiter"
    ]
    (tmp_path / "p.ysap").write_text("a: 1\nb: [\n")
    assert [(found.severity, found.line) for found in check(tmp_path / "p.ysap")] == [("error", 3)]


def test_files_that_are_not_there(problems, tmp_path):
    """The profile itself, or one that it includes."""
    assert [problem.severity for problem in check(tmp_path / "none.jsap")] == ["error"]
    (found,) = problems({"include": ["none.jsap"]})
    assert found.startswith("error: include[0]: there is no file")


def test_everything_is_reported_at_once(problems):
    """One part of the wrong shape does not hide the others."""
    document = {
        "oauth": [],
        "sparql11protocol": {"port": "x"},
        "sparql11seprotocol": 5,
        "namespaces": {"a": 5},
        "graphs": {"default-graph-uri": 5},
        "updates": [],
        "queries": {"Q": {}, "R": 5, "S": {"sparql": "FOO"}},
    }
    assert [found.partition(": ")[2].partition(":")[0] for found in problems(document)] == [
        "host",
        "oauth",
        "sparql11protocol.port",
        "sparql11seprotocol",
        "graphs.default-graph-uri",
        "namespaces.a",
        "updates",
        "queries.Q.sparql",
        "queries.R",
        "queries.S.sparql, line 1, column 1",
    ]


def test_members_that_nobody_reads(problems):
    """With the name that was probably meant."""
    document = {
        "host": "h",
        "updates_with": {},
        "queries": {
            "Q": {
                "sparql": "ASK {?x ?p ?o}",
                "forcedBinding": {},
                "forcedBindings": {"x": {"typ": "uri", "value": "urn:a"}},
            }
        },
    }
    assert problems(document) == [
        "warning: updates_with: not a member that is read; did you mean updates?",
        "warning: queries.Q.forcedBinding: not a member that is read; did you mean forcedBindings?",
        "warning: queries.Q.forcedBindings.x.typ: not a member that is read; did you mean type?",
        "warning: queries.Q.forcedBindings.x.type: missing; taken for a literal",
    ]


def test_a_profile_without_entries(problems):
    """It may be one to include."""
    assert problems({"host": "h"}) == ["warning: there are no updates and no queries"]


def test_problems_are_data():
    """The command line prints them; others may count them."""
    assert Problem("a", "error", "b").line is None
