from __future__ import annotations

import pytest

from triplewire.clients.historic.plan import (
    Constant,
    Mapping,
    Moment,
    Reference,
    Rule,
    Source,
    TermMap,
    TermType,
)


def test_a_source_is_found_by_its_name():
    """Rules name their sources; one that is not there is a mistake of ours."""
    source = Source("a.csv", "/data/a.csv", "csv")
    mapping = Mapping((source,), ())
    assert mapping.source("a.csv") is source
    with pytest.raises(StopIteration):
        mapping.source("b.csv")


def test_equal_rules_are_one():
    """Rules can be compared and put into sets, readings within references included."""

    def rule() -> Rule:
        when = Reference("t", reading=Moment(("yyyy",), "UTC"))
        term = TermMap(when, TermType.IRI)
        return Rule("a", term, TermMap(Constant("urn:p"), TermType.IRI), term, given=(when,))

    assert len({rule(), rule()}) == 1
