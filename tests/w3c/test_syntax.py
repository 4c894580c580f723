"""Every syntax test of SPARQL 1.0 and 1.1, through the gate."""

from __future__ import annotations

import pytest

from w3c.endpoints import Verdict
from w3c.manifests import Data, cases
from w3c.results import Disagreement
from w3c.skips import parametrize, parametrize_listed

pytestmark = pytest.mark.xdist_group("w3c")

POSITIVE = cases("PositiveSyntaxTest", "PositiveSyntaxTest11", "PositiveUpdateSyntaxTest11")
NEGATIVE = cases("NegativeSyntaxTest", "NegativeSyntaxTest11", "NegativeUpdateSyntaxTest11")


@parametrize(POSITIVE)
def test_sparql_is_not_called_a_syntax_error(gate, case):
    """What is SPARQL is evaluated, or refused for what it asks."""
    if verdict(gate, case) is Verdict.NOT_SPARQL:
        raise Disagreement("refused as a syntax error")


@parametrize(NEGATIVE)
def test_what_is_not_sparql_is_refused(gate, case):
    """What is not SPARQL gets 400 and the code of syntax errors, if not for LOAD before."""
    if verdict(gate, case) is Verdict.SPARQL:
        raise Disagreement("taken as SPARQL")


@parametrize_listed(POSITIVE + NEGATIVE)
def test_the_engine_alone_is_of_the_same_opinion(gate, engine, case):
    """A listed test fails without the gate as well."""
    wrong = Verdict.SPARQL if case.kind.startswith("Negative") else Verdict.NOT_SPARQL

    assert (verdict(engine, case), verdict(gate, case)) == (wrong, wrong)


def verdict(endpoint, case) -> Verdict:
    """What the endpoint says of the test's text."""
    endpoint.hold(Data())
    return endpoint.verdict(case.text, update=case.is_update)
