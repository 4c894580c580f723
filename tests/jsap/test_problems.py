"""Problems as people read them."""

from __future__ import annotations

from triplewire.jsap.problems import error, warning


def test_a_problem_says_where_it_is():
    """Severity, path, line and column, then the sentence."""
    assert (
        str(error("queries.Q.sparql", "not SPARQL", 1, 7))
        == "error: queries.Q.sparql, line 1, column 7: not SPARQL"
    )
    assert str(warning("host", "missing")) == "warning: host: missing"
    assert str(error("", "not JSON", 3, 1)) == "error: line 3, column 1: not JSON"
    assert str(warning("", "nothing in it")) == "warning: nothing in it"
