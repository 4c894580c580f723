"""Every update evaluation test of SPARQL 1.1, through the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from w3c.endpoints import Engine
from w3c.manifests import cases
from w3c.results import Answer, check

if TYPE_CHECKING:
    from w3c.manifests import Case

pytestmark = pytest.mark.xdist_group("w3c")


@pytest.mark.parametrize("case", cases("UpdateEvaluationTest"), ids=lambda case: case.name)
def test_the_update_leaves_the_expected_dataset(gate, case):
    """After the update the broker holds the suite's quads, up to the names of blank nodes."""
    check(outcome(gate, case), expected(case))


def outcome(endpoint, case: Case) -> Answer:
    """The quads that the endpoint has after the test's update."""
    endpoint.hold(case.data)
    endpoint.update(case.based_text)
    return endpoint.everything()


def expected(case: Case) -> Answer:
    """The suite's dataset, read by an engine of its own."""
    reader = Engine()
    reader.hold(case.result)
    return reader.everything()
