"""The same that `triplewire explain` says."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from triplewire.broker.model import Query
from triplewire.clients.cli import cli
from triplewire.clients.mcp.explaining import explained


@pytest.mark.parametrize(
    "sparql",
    [
        "SELECT ?v { <http://x/a> <http://x/p> ?v }",
        "SELECT ?v FROM <http://x/g> FROM NAMED <http://x/h> { ?s ?p ?v GRAPH ?g { ?v a ?c } }",
        "SELECT (COUNT(*) AS ?n) { ?s a ?c } GROUP BY ?c",
        "SELECT * { ?s ?p",
    ],
)
def test_it_says_what_the_command_says(sparql):
    """The way first, then what touches it."""
    told = explained(Query(sparql))
    first, *others = CliRunner().invoke(cli, ["explain", sparql]).output.splitlines()
    assert told["followed"] == first
    assert [f"touched by {line}" for line in told["touched_by"]] == others
