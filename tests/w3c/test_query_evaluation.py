"""Every query evaluation test of SPARQL 1.0 and 1.1, through the gate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import pytest

from w3c.manifests import cases
from w3c.results import MEDIA_TYPES, TRIPLE, Answer, Disagreement, check, read
from w3c.skips import parametrize, parametrize_listed

if TYPE_CHECKING:
    from w3c.manifests import Case

pytestmark = pytest.mark.xdist_group("w3c")

# Those with remote endpoints are in test_federated_query.py.
CASES = [case for case in cases("QueryEvaluationTest", "CSVResultFormatTest") if "/service/" not in case.name]


@parametrize(CASES)
def test_the_gate_gives_the_expected_answer(gate, case):
    """In each results format the broker's answer is the suite's, up to the names of blank nodes."""
    check(answer(gate, case), expected(case), lax=case.lax)


@parametrize_listed(CASES)
def test_the_engine_alone_gives_the_same_wrong_answer(gate, engine, case):
    """A listed test fails without the gate as well, and the gate's answer is the engine's."""
    alone = replace(answer(engine, case), columns_ordered=False)

    with pytest.raises(Disagreement):
        check(alone, replace(expected(case), columns_ordered=False), lax=case.lax)
    check(answer(gate, case), alone)


def answer(endpoint, case: Case) -> Answer:
    """What the endpoint says to the test's query."""
    endpoint.hold(case.data)
    return endpoint.query(case.based_text, accept(case))


def accept(case: Case) -> str:
    """The format of the expected answer; a result set in RDF is DAWG's own, so JSON will do for it."""
    suffix = PurePosixPath(case.result).suffix
    media_type = MEDIA_TYPES[suffix]
    return f"{MEDIA_TYPES['.srj']}, {media_type}" if suffix in {".ttl", ".rdf"} else media_type


def expected(case: Case) -> Answer:
    """The suite's answer; the order of its rows counts where the query asks for one."""
    found = read(case.result)
    return replace(found, ordered=found.ordered or (case.is_sorted and found.variables != TRIPLE))
