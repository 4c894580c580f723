"""RML's own test cases for CSV and JSON, with the evaluator in plain Python; `test_rml_cases_on_spark.py` has the engine."""

from __future__ import annotations

import pytest
from support.rml_case import EXCEPTIONS, cases, plain


@pytest.mark.parametrize("case", cases(), ids=str)
def test_a_case_of_rml(case, tmp_path):
    """The mapping gives the quads of the case, or the error that it wants."""
    if str(case) in EXCEPTIONS:
        with pytest.raises(AssertionError):
            case.check(tmp_path, plain)
        return
    case.check(tmp_path, plain)
