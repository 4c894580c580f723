"""The unit that every other is measured by."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal
from support.stores import PROLOGUE, embedded

from triplewire.broker.errors import RequestError
from triplewire.broker.model import Bindings, BindingsDelta, QuadDelta, Query, Update
from triplewire.spu.naive import NaiveSpu

SELECT = Query("SELECT ?o { ?s ?p ?o }")
rows = st.lists(
    st.tuples(st.none() | st.integers(0, 3).map(Literal) | st.sampled_from("ab").map(BlankNode)), max_size=6
)


class Script:
    """A dataset that gives its answers in turn, and counts."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def evaluate(self, query):
        self.asked.append(query)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return Bindings(("o",), tuple(answer))


@given(rows, st.lists(rows, max_size=5))
def test_its_deltas_are_those_of_the_bags(first, later):
    """A row that comes twice has come twice; the order is no change; blank nodes compare by identity."""
    dataset, unit = Script(first, *later), NaiveSpu(SELECT)
    bag = unit.first(dataset).bag()
    for answer in later:
        unit.before(None, dataset)
        delta = unit.after(None, dataset)
        assert delta == BindingsDelta.between(("o",), bag, Counter(answer))
        bag = delta.apply(bag)
    assert bag == Counter([first, *later][-1])
    assert dataset.asked == [SELECT] * (1 + len(later))


def test_first_is_evaluated_once():
    """Later subscribers get the same answer, in its order, until an update changes it."""
    one, two = [(Literal(2),), (Literal(1),)], [(Literal(1),), (Literal(2),), (Literal(3),)]
    dataset, unit = Script(one, two), NaiveSpu(SELECT)
    assert unit.first(dataset).rows == unit.first(dataset).rows == tuple(one)
    unit.after(None, dataset)
    assert unit.first(dataset).rows == tuple(two)
    assert len(dataset.asked) == 2


def test_before_costs_nothing():
    """The answer is kept."""
    dataset = Script()
    unit = NaiveSpu(SELECT)
    unit.before(None, dataset)
    unit.before(QuadDelta(frozenset(), frozenset()), dataset)
    assert dataset.asked == []


def test_an_answer_in_another_order_is_kept():
    """No message, but the next subscriber gets it as it now is."""
    one, two = [(Literal(1),), (Literal(2),)], [(Literal(2),), (Literal(1),)]
    dataset, unit = Script(one, two), NaiveSpu(SELECT)
    unit.first(dataset)
    assert not unit.after(None, dataset)
    assert unit.first(dataset).rows == tuple(two)


def test_a_failure_is_raised_and_keeps_what_was():
    """The core ends the unit; a failed first answer is asked anew."""
    dataset, unit = (
        Script(RequestError("no"), [(Literal(1),)], RequestError("no"), [(Literal(2),)]),
        NaiveSpu(SELECT),
    )
    with pytest.raises(RequestError):
        unit.first(dataset)
    unit.first(dataset)
    with pytest.raises(RequestError):
        unit.after(None, dataset)
    delta = unit.after(None, dataset)
    assert (delta.added, delta.removed) == (Counter([(Literal(2),)]), Counter([(Literal(1),)]))


@pytest.mark.parametrize(
    ("text", "added", "removed"),
    [
        ("SELECT ?o { ?s :p ?o }", 1, 0),
        ("SELECT (COUNT(*) AS ?n) { ?s :p ?o }", 1, 1),
        ("ASK { ?s :p 2 }", 1, 1),
        ("ASK { ?s :p 1 }", 0, 0),
        ("CONSTRUCT { ?s :q ?o } WHERE { ?s :p ?o }", 1, 0),
        ("CONSTRUCT { ?s :q [ :r ?o ] } WHERE { ?s :p ?o }", 2, 0),
        ("DESCRIBE :s", 1, 0),
        ("SELECT ?o { ?s :p ?o } ORDER BY DESC(?o) LIMIT 1", 1, 1),
    ],
)
def test_every_form_is_compared(text, added, removed):
    """Over a real store: one triple more."""
    store, unit = embedded(), NaiveSpu(Query(PROLOGUE + text))
    store.apply(Update(f"{PROLOGUE} INSERT DATA {{ :s :p 1 }}"))
    unit.first(store)
    assert not unit.after(None, store)
    store.apply(Update(f"{PROLOGUE} INSERT DATA {{ :s :p 2 }}"))
    delta = unit.after(None, store)
    assert (delta.added.total(), delta.removed.total()) == (added, removed)
    assert not unit.after(None, store)
