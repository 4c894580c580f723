from __future__ import annotations

import pytest

from triplewire.clients.historic.mapping_problems import MappingError, Problems, near


def test_no_problem_raises_nothing():
    """A document that is right passes."""
    Problems("a.ttl").raise_if_any()


def test_one_problem_is_one_line():
    """The file, the part, and what is wrong."""
    problems = Problems("a.ttl")
    problems.add("<#A>", "there is no subject")
    with pytest.raises(MappingError, match=r"^a\.ttl: <#A>: there is no subject$"):
        problems.raise_if_any()


def test_all_problems_are_told_once():
    """Not the first only, and what two rules share is said once."""
    problems = Problems("a.ttl")
    problems.add("<#A>", "x")
    problems.add("", "y")
    problems.add("<#A>", "x")
    with pytest.raises(MappingError) as raised:
        problems.raise_if_any()
    assert str(raised.value) == "a.ttl: 2 problems\n  <#A>: x\n  y"


def test_near_misses_are_told():
    """What may have been meant, and nothing where nothing is near."""
    assert near("temlate", {"template", "constant"}) == "; did you mean template?"
    assert near("xyz", {"template"}) == ""
