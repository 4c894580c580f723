"""A unit and those who hold its queries: many cases, of each one subscription or many."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from pyoxigraph import Literal
from support.cores import Double
from support.stores import EX, PROLOGUE, embedded

from triplewire.broker.held import Held
from triplewire.broker.model import Query, Subscription, Update
from triplewire.spu.analysis.analysis import analyse
from triplewire.spu.choice import chosen

ROOMS = ("a", "b", "c")
QUERIES = {room: Query(f"{PROLOGUE} SELECT ?s {{ ?s :room :{room} }}") for room in ROOMS}


def shaped():
    """A unit for all rooms, that nobody holds yet."""
    choice = chosen(analyse(QUERIES["a"]), analyse, 1000)
    assert choice is not None
    return Held(choice.key, choice.unit, choice.analysis)


def single():
    """A unit of one query, that has no cases."""
    return Held(QUERIES["a"], Double(QUERIES["a"]))


def subscription(spuid, room="a", subscriber=1):
    """One of a connection."""
    return Subscription(spuid, QUERIES[room], subscriber, None)


def joined(held, room, spuid, store=None):
    """Join as the core does; the case."""
    query = QUERIES[room]
    case = held.case_of(query, analyse(query))
    held.first(query, case, store or embedded())
    held.join(subscription(spuid, room), case)
    return case


def told(held, store, text):
    """Write an update; who hears of how many rows."""
    delta = store.apply(Update(PROLOGUE + text), lambda change: held.unit.before(change, store))
    found = {}
    for change, subscriptions in held.changes(delta, store):
        for one in subscriptions:
            assert one.spuid not in found
            found[one.spuid] = (change.added.total(), change.removed.total())
    return found


def test_a_unit_without_cases():
    """All its subscriptions hear the same; there is nothing to be told about cases."""
    held, store = single(), embedded()
    case = held.case_of(QUERIES["a"], None)
    assert case is None
    assert held.first(QUERIES["a"], case, store).vars == ("o",)
    assert not held.cases
    for spuid in ("one", "two", "three"):
        held.join(subscription(spuid), case)
    ((change, heard),) = held.changes(None, store)
    assert change.added == Counter([(Literal(2),)])
    assert [one.spuid for one in heard] == ["one", "two", "three"]
    for spuid in ("two", "one", "three"):
        assert held.cases
        held.leave(spuid, case)
    assert not held.cases
    assert held.unit.calls == ["first", "after"]


def test_a_unit_that_tells_nothing_wakes_nobody():
    """An answer that stays."""
    held = single()
    held.unit.after = lambda *_: None
    held.join(subscription("one"), None)
    assert not list(held.changes(None, embedded()))


def test_each_case_hears_its_own_change():
    """And all its subscriptions do, if there is one or are many."""
    held, store = shaped(), embedded()
    cases = {spuid: joined(held, room, spuid, store) for spuid, room in (("1", "a"), ("2", "b"), ("3", "a"))}
    assert cases["1"] == cases["3"] != cases["2"]
    assert told(held, store, "INSERT DATA { :x :room :a , :b . :y :room :a , :c }") == {
        "1": (2, 0),
        "3": (2, 0),
        "2": (1, 0),
    }
    assert told(held, store, "DELETE DATA { :x :room :b } ; INSERT DATA { :z :room :b }") == {"2": (1, 1)}
    assert held.first(QUERIES["a"], cases["1"], store).bag().total() == 2


def test_a_case_that_somebody_left_is_heard_by_the_others():
    """Until the last has left; then it is asked for nothing, and can come again."""
    held, store = shaped(), embedded()
    case = joined(held, "a", "1", store)
    assert joined(held, "a", "2", store) == case
    joined(held, "b", "3", store)
    held.leave("1", case)
    assert told(held, store, "INSERT DATA { :x :room :a }") == {"2": (1, 0)}
    held.leave("2", case)
    assert told(held, store, "INSERT DATA { :y :room :a , :b }") == {"3": (1, 0)}
    joined(held, "a", "4", store)
    assert told(held, store, "INSERT DATA { :z :room :a }") == {"4": (1, 0)}


@pytest.mark.parametrize("spuids", [["1"], ["1", "2"], ["1", "2", "3"]])
def test_the_unit_is_told_once_of_each_case(spuids):
    """When the first of its subscriptions comes, and when the last has gone."""
    held, calls = shaped(), []
    case = held.case_of(QUERIES["a"], analyse(QUERIES["a"]))
    held.unit.join = lambda case: calls.append(("join", case))
    held.unit.leave = lambda case: calls.append(("leave", case))
    for spuid in spuids:
        held.join(subscription(spuid), case)
        assert calls == [("join", case)]
    for spuid in reversed(spuids):
        assert calls == [("join", case)]
        held.leave(spuid, case)
    assert calls == [("join", case), ("leave", case)]


def test_one_subscription_stands_for_itself():
    """There can be a million cases: a dictionary for each would be half of the memory."""
    held = shaped()
    case = joined(held, "a", "1")
    assert isinstance(held.cases[case], Subscription)


def test_who_leaves_must_be_there():
    """Nobody leaves a case that nobody holds, or that others hold."""
    held = shaped()
    case = joined(held, "a", "1")
    joined(held, "a", "2")
    with pytest.raises(KeyError):
        held.leave("3", case)
    with pytest.raises(KeyError):
        held.leave("1", held.case_of(QUERIES["b"], analyse(QUERIES["b"])))
    assert [one.spuid for one in held.subscriptions] == ["1", "2"]


def test_an_example_is_one_of_the_queries_that_it_serves():
    """None where there is none."""
    held = shaped()
    assert held.example is None
    case = joined(held, "b", "1")
    assert held.example == QUERIES["b"]
    joined(held, "b", "2")
    assert held.example == QUERIES["b"]
    held.leave("1", case)
    held.leave("2", case)
    joined(held, "c", "3")
    assert held.example == QUERIES["c"]


class Bookkeeping(RuleBasedStateMachine):
    """Joining and leaving in any order, against a plain dictionary; the unit serves the cases that are held."""

    def __init__(self):
        super().__init__()
        self.held = shaped()
        self.store = embedded()
        self.cases = {room: self.held.case_of(query, analyse(query)) for room, query in QUERIES.items()}
        self.model = {}
        self.count = 0

    @rule(room=st.sampled_from(ROOMS))
    def join(self, room):
        self.count += 1
        spuid = str(self.count)
        assert joined(self.held, room, spuid, self.store) == self.cases[room]
        self.model[spuid] = room

    @rule(data=st.data())
    def leave(self, data):
        if self.model:
            spuid = data.draw(st.sampled_from(sorted(self.model)))
            self.held.leave(spuid, self.cases[self.model.pop(spuid)])

    @invariant()
    def agrees(self):
        assert {one.spuid: one.query for one in self.held.subscriptions} == {
            spuid: QUERIES[room] for spuid, room in self.model.items()
        }
        assert len(self.held.subscriptions) == len(self.model)
        assert all(
            self.held.find(spuid, self.cases[room]).spuid == spuid for spuid, room in self.model.items()
        )
        assert set(self.held.cases) == {self.cases[room] for room in self.model.values()}

    @invariant()
    def all_and_no_others_hear(self):
        self.count += 1
        text = f"INSERT DATA {{ <{EX}x{self.count}> :room :a , :c }}"
        heard = {spuid: (1, 0) for spuid, room in self.model.items() if room != "b"}
        assert told(self.held, self.store, text) == heard


TestBookkeeping = Bookkeeping.TestCase
TestBookkeeping.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
