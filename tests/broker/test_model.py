"""Answers are bags, and changes add up."""

from __future__ import annotations

from collections import Counter
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad

from triplewire.broker.model import Bindings, BindingsDelta, QuadDelta, Query, QueryForm, bag

VARS = ("x",)
rows = st.lists(st.tuples(st.none() | st.integers(0, 3).map(Literal)), max_size=8)
bags = rows.map(Counter)
QUAD = Quad(NamedNode("urn:s"), NamedNode("urn:p"), Literal(1))


@given(bags, bags)
def test_a_delta_turns_the_old_answer_into_the_new_one(before, after):
    """Whatever the two are, duplicates included; neither is touched."""
    kept = Counter(before), Counter(after)
    delta = BindingsDelta.between(VARS, before, after)
    assert delta.apply(before) == after
    assert (before, after) == kept


@given(bags, bags)
def test_no_row_both_comes_and_goes(before, after):
    """The two bags are disjoint, and hold nothing that is not there."""
    delta = BindingsDelta.between(VARS, before, after)
    assert not delta.added.keys() & delta.removed.keys()
    assert delta.added <= after
    assert delta.removed <= before
    assert all(count > 0 for count in (*delta.added.values(), *delta.removed.values()))


@given(bags, bags)
def test_a_delta_is_true_where_something_changed(before, after):
    """False is no message."""
    assert bool(BindingsDelta.between(VARS, before, after)) == (before != after)


@given(bags, bags)
def test_the_way_back_is_the_delta_turned_around(before, after):
    """Added and removed exchanged."""
    there, back = BindingsDelta.between(VARS, before, after), BindingsDelta.between(VARS, after, before)
    assert (there.added, there.removed) == (back.removed, back.added)


@given(bags, bags, bags)
def test_changes_add_up(first, second, third):
    """Two in turn are as good as one."""
    one, two = BindingsDelta.between(VARS, first, second), BindingsDelta.between(VARS, second, third)
    assert two.apply(one.apply(first)) == BindingsDelta.between(VARS, first, third).apply(first)


@given(rows)
def test_first_results_are_the_answer_in_its_order(found):
    """Everything is added to nothing; equal rows stand together."""
    answer = Bindings(VARS, tuple(found))
    first = BindingsDelta.first(answer)
    assert first.apply(Counter()) == answer.bag() == bag(found)
    assert list(first.added) == list(dict.fromkeys(found))
    assert not first.removed
    assert bool(first) == bool(found)


def test_the_encoded_form_is_no_part_of_a_delta():
    """Two deltas are equal whether or not one was sent already."""
    one, two = (BindingsDelta(VARS, Counter([(None,)]), Counter()) for _ in range(2))
    one.encoded.append(b"x")
    assert one == two
    assert "encoded" not in repr(one)
    assert two.encoded == []


@pytest.mark.parametrize(
    ("delta", "true"),
    [
        (QuadDelta(frozenset(), frozenset()), False),
        (QuadDelta(frozenset([QUAD]), frozenset()), True),
        (QuadDelta(frozenset(), frozenset([QUAD])), True),
        (QuadDelta(frozenset(), frozenset(), created=frozenset([NamedNode("urn:g")])), True),
        (QuadDelta(frozenset(), frozenset(), dropped=frozenset([NamedNode("urn:g")])), True),
    ],
)
def test_a_change_of_the_dataset_is_true_where_something_changed(delta, true):
    """An empty graph that comes or goes is a change."""
    assert bool(delta) is true


def test_queries_are_equal_by_text_and_dataset():
    """So they are shared, and can't change under those who share them."""
    assert Query("ASK {}", ("urn:g",)) == Query("ASK {}", ("urn:g",))
    assert hash(Query("ASK {}")) == hash(Query("ASK {}"))
    assert (
        len({Query("ASK {}"), Query("ASK {} "), Query("ASK {}", ("urn:g",)), Query("ASK {}", (), ("urn:g",))})
        == 4
    )
    with pytest.raises(FrozenInstanceError):
        Query("ASK {}").sparql = "x"


@pytest.mark.parametrize(
    ("form", "graph"), [("SELECT", False), ("ASK", False), ("CONSTRUCT", True), ("DESCRIBE", True)]
)
def test_forms_that_answer_with_triples(form, graph):
    """CONSTRUCT and DESCRIBE."""
    assert QueryForm(form).is_graph is graph
