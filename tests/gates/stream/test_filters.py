"""Filters in URLs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stepped import item

from triplewire.broker.config import LimitsConfig
from triplewire.broker.errors import RequestError
from triplewire.gates.stream.filters import NAMES, filter_of
from triplewire.gates.stream.looked import Looked

LIMITS = LimitsConfig()
BODY = b"<urn:a> <http://www.w3.org/ns/sosa/hasSimpleResult> 21 ."
ITEM = item("e", BODY, source_id="s1", application_id="app", event_type="alarm")


def passes(*pairs, of=ITEM):
    return filter_of(pairs, LIMITS).passes(Looked(of))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("source", "s1")], True),
        ([("source", "s2")], False),
        ([("source", "s2"), ("source", "s1")], True),
        ([("application", "app")], True),
        ([("application", "ap")], False),
        ([("event-type", "alarm"), ("event-type", "fire")], True),
        ([("event-type", "fire")], False),
        ([("source", "s1"), ("event-type", "fire")], False),
        ([("source", "s1"), ("event-type", "alarm")], True),
        ([("vocabulary", "http://www.w3.org/ns/sosa/")], True),
        ([("vocabulary", "http://www.w3.org/ns/ssn/")], False),
        ([("vocabulary", "urn:x"), ("vocabulary", "urn:")], True),
        ([("triple", "* * *")], True),
        ([("triple", "<urn:b> * *"), ("triple", "<urn:a> * *")], True),
        ([("ask", "ASK { ?s ?p ?o FILTER(?o > 20) }")], True),
        ([("ask", "ASK { ?s ?p ?o FILTER(?o > 30) }")], False),
        ([("triple", "* * *"), ("ask", "ASK { ?s ?p ?o FILTER(?o > 30) }")], False),
        ([("last-seen", "x"), ("source", "")], True),
    ],
)
def test_what_passes(pairs, expected):
    """Any value of one kind, all kinds; what is of another kind, or empty, is passed over."""
    assert passes(*pairs) is expected


def test_an_item_without_what_is_asked_for_does_not_pass():
    """Absent is not equal to anything."""
    bare = item("e", b"", syntax="text/plain")
    assert not passes(("application", "app"), of=bare)
    assert not passes(("event-type", "alarm"), of=bare)
    assert not passes(("vocabulary", "urn:"), of=bare)


def test_no_condition_is_no_filter():
    """And lets all pass."""
    assert not filter_of([("past-events-limit", "5")], LIMITS)
    assert passes()


@given(
    st.lists(
        st.sampled_from([("source", "a"), ("source", "b"), ("event-type", "x=&y"), ("vocabulary", "urn:")])
    ),
    st.randoms(),
)
def test_equal_filters_have_one_key(pairs, random):
    """Whatever the order, and however often something is said."""
    other = [*pairs, *pairs]
    random.shuffle(other)
    assert filter_of(pairs, LIMITS).key == filter_of(other, LIMITS).key


def test_different_filters_have_different_keys():
    """Also where a value holds what stands between values."""
    keys = {
        filter_of(pairs, LIMITS).key
        for pairs in (
            [("source", "a&event-type=b")],
            [("source", "a"), ("event-type", "b")],
            [("source", "a")],
            [],
        )
    }
    assert len(keys) == 4


@pytest.mark.parametrize(
    "pairs",
    [
        [("source", str(number)) for number in range(33)],
        [("source", "x" * 5000)],
        [("triple", "nonsense")],
        [("ask", "SELECT * { }")],
    ],
)
def test_what_is_refused(pairs):
    """Too many, too long, or not of its kind."""
    with pytest.raises(RequestError):
        filter_of(pairs, LIMITS)


def test_all_names_are_in_the_module_s_text():
    """The table at its top is complete."""
    from triplewire.gates.stream import filters

    assert all(f"{name}=" in filters.__doc__ for name in NAMES)
