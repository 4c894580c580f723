"""Who holds which query, and who shares a unit with whom."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from triplewire.broker.config import LimitsConfig
from triplewire.broker.errors import TooManyRequests, UnknownSubscription
from triplewire.broker.model import QuadDelta, Query, Resume, Subscribe
from triplewire.broker.subscriptions import Subscriptions
from triplewire.spu.analysis.analysis import analyse

ONE, TWO = Query("ASK { 1 }"), Query("ASK { 2 }")


def subscribe(held, query, subscriber, alias=None):
    """A subscription, as the core makes it."""
    held.check_room(subscriber)
    return held.add(*held.unit_of(query), Subscribe(query, subscriber, alias))


def subscriptions(**limits):
    """None yet, with units that know only their query."""
    return Subscriptions(LimitsConfig(**limits), unit=lambda query: [query])


def test_equal_queries_share_a_unit():
    """Of one subscriber or of many."""
    held = subscriptions()
    for subscriber in (1, 1, 2):
        subscribe(held, ONE, subscriber)
    subscribe(held, TWO, 2)
    assert (len(held), held.units) == (4, 2)
    assert held.unit_of(Query(ONE.sparql))[0] is held.unit_of(ONE)[0]
    assert held.unit_of(ONE)[0].unit == [ONE]


@pytest.mark.parametrize(
    "other",
    [Query(ONE.sparql, ("http://x/g",)), Query(ONE.sparql, (), ("http://x/g",)), Query(ONE.sparql + " ")],
)
def test_another_text_or_dataset_is_another_unit(other):
    """Whatever they may have in common."""
    held = subscriptions()
    subscribe(held, ONE, 1)
    subscribe(held, other, 1)
    assert held.units == 2


def test_a_unit_that_nobody_holds_is_not_kept():
    """Where its first answer fails, nothing remains."""
    held = subscriptions()
    first, _ = held.unit_of(ONE)
    assert (len(held), held.units, list(held.touched(None))) == (0, 0, [])
    assert held.unit_of(ONE)[0] is not first


def test_a_subscription_has_an_id_of_its_own():
    """In SEPA's form; with the subscriber's alias, at sequence 0."""
    held = subscriptions()
    made = [subscribe(held, ONE, 7, "a") for _ in range(50)]
    assert len({one.spuid for one in made}) == 50
    assert all(one.spuid.startswith("sepa://subscription/") and len(one.spuid) == 56 for one in made)
    assert {(one.query, one.subscriber, one.alias, one.sequence) for one in made} == {(ONE, 7, "a", 0)}


def test_only_its_owner_ends_a_subscription():
    """For others, and a second time, it is not there; the id is cut in the sentence."""
    held = subscriptions()
    spuid = subscribe(held, ONE, 1).spuid
    for subscriber, wrong in ((2, spuid), (1, spuid + "x"), (1, ""), (1, "y" * 10_000)):
        with pytest.raises(UnknownSubscription) as caught:
            held.remove(wrong, subscriber)
        assert len(caught.value.description) < 300
    held.remove(spuid, 1)
    with pytest.raises(UnknownSubscription):
        held.remove(spuid, 1)


def test_a_connection_that_leaves_takes_its_subscriptions_with_it():
    """And only its own; leaving twice is nothing."""
    held = subscriptions()
    kept = subscribe(held, ONE, 2)
    for query in (ONE, ONE, TWO):
        subscribe(held, query, 1)
    assert held.leave(1) == 3
    assert (len(held), held.units) == (1, 1)
    assert held.leave(1) == 0
    assert held.leave(99) == 0
    held.remove(kept.spuid, 2)
    assert held.units == 0


def test_ending_a_unit_ends_all_that_hold_it():
    """Of all subscribers; the other queries go on."""
    held = subscriptions()
    ended = [subscribe(held, ONE, subscriber) for subscriber in (1, 2, 2)]
    kept = subscribe(held, TWO, 2)
    held.end(held.unit_of(ONE)[0])
    assert (len(held), held.units) == (1, 1)
    for one in ended:
        with pytest.raises(UnknownSubscription):
            held.remove(one.spuid, one.subscriber)
    held.remove(kept.spuid, 2)


@pytest.mark.parametrize(
    ("limits", "said"),
    [({"subscriptions": 2}, "subscriptions"), ({"subscriptions_per_socket": 2}, "per_socket")],
)
def test_one_too_many_is_refused(limits, said):
    """Of the broker, or of one connection; there is room again when one ends."""
    held = subscriptions(**limits)
    first = subscribe(held, ONE, 1)
    subscribe(held, ONE, 1)
    with pytest.raises(TooManyRequests, match=f"limits.*{said}"):
        subscribe(held, TWO, 1)
    if said == "per_socket":
        subscribe(held, TWO, 2)
    held.remove(first.spuid, 1)
    subscribe(held, TWO, 1)


def test_a_change_of_nothing_touches_nobody():
    """Any other, and one that is not known, may touch all; the units can end while they are gone through."""
    held = subscriptions()
    for query in (ONE, TWO):
        subscribe(held, query, 1)
    assert list(held.touched(QuadDelta(frozenset(), frozenset()))) == []
    assert [one.key for one in held.touched(None)] == [ONE, TWO]
    for one in held.touched(None):
        held.end(one)
    assert len(held) == 0


def test_what_comes_instead_of_another_needs_no_room():
    """limits.subscriptions counts it once."""
    held = subscriptions(subscriptions=1)
    spuid = subscribe(held, ONE, 1).spuid
    with pytest.raises(TooManyRequests):
        held.check_room(2)
    with pytest.raises(TooManyRequests):
        held.check_room(2, "unknown")
    held.check_room(2, spuid)


@pytest.mark.parametrize("resume", [Resume("unknown", 0), Resume("", None)])
def test_only_what_is_there_can_be_taken_over(resume):
    """And only where it is known what its client saw last."""
    held = subscriptions()
    spuid = subscribe(held, ONE, 1).spuid
    resume = resume if resume.spuid else Resume(spuid, None)
    assert not held.take_over(Subscribe(ONE, 2, None, resumable=True, resume=resume))
    held.remove(spuid, 1)


class Bookkeeping(RuleBasedStateMachine):
    """Any order of subscribing, ending and leaving, against a plain list."""

    def __init__(self):
        super().__init__()
        self.held = subscriptions()
        self.model = []

    @rule(query=st.sampled_from([ONE, TWO]), subscriber=st.integers(1, 3))
    def subscribe(self, query, subscriber):
        self.model.append(subscribe(self.held, query, subscriber))

    @rule(data=st.data(), subscriber=st.integers(1, 3))
    def remove(self, data, subscriber):
        if self.model:
            one = data.draw(st.sampled_from(self.model))
            if one.subscriber == subscriber:
                self.held.remove(one.spuid, subscriber)
                self.model.remove(one)
            else:
                with pytest.raises(UnknownSubscription):
                    self.held.remove(one.spuid, subscriber)

    @rule(subscriber=st.integers(1, 3))
    def leave(self, subscriber):
        mine = [one for one in self.model if one.subscriber == subscriber]
        assert self.held.leave(subscriber) == len(mine)
        self.model = [one for one in self.model if one not in mine]

    @rule(data=st.data(), subscriber=st.integers(1, 3))
    def leave_but_some(self, data, subscriber):
        """What is to be kept stays its own."""
        mine = [one for one in self.model if one.subscriber == subscriber]
        kept = data.draw(st.frozensets(st.sampled_from([one.spuid for one in mine]))) if mine else frozenset()
        assert self.held.leave(subscriber, kept) == len(mine) - len(kept)
        self.model = [one for one in self.model if one.subscriber != subscriber or one.spuid in kept]

    @rule(data=st.data(), query=st.sampled_from([ONE, TWO]), subscriber=st.integers(1, 3))
    def take_over(self, data, query, subscriber):
        """One with that query; to the other it is not there."""
        if self.model:
            one = data.draw(st.sampled_from(self.model))
            request = Subscribe(query, subscriber, "new", resumable=True, resume=Resume(one.spuid, 0))
            assert self.held.take_over(request) == (one.query == query)
            assert (one.subscriber == subscriber and one.alias == "new") or one.query != query

    @rule(data=st.data())
    def end_one(self, data):
        if self.model:
            one = data.draw(st.sampled_from(self.model))
            self.model.remove(one)
            self.held.end_one(one.spuid)
            self.held.end_one(one.spuid)

    @rule(query=st.sampled_from([ONE, TWO]))
    def end(self, query):
        if any(one.query == query for one in self.model):
            self.held.end(self.held.unit_of(query)[0])
            self.model = [one for one in self.model if one.query != query]

    @invariant()
    def agrees(self):
        assert len(self.held) == len(self.model)
        assert self.held.units == len({one.query for one in self.model})
        found = [one for unit in self.held.touched(None) for one in unit.subscriptions]
        assert sorted(one.spuid for one in found) == sorted(one.spuid for one in self.model)


TestBookkeeping = Bookkeeping.TestCase
TestBookkeeping.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)


def test_how_many_of_each_kind_there_are():
    """Subscriptions and units, by how their answers are followed and the form of the query."""
    held = Subscriptions(LimitsConfig(), analyse=analyse)
    one, like, whole = (
        Query("SELECT ?o { <urn:a> <urn:p> ?o }"),
        Query("SELECT ?o { <urn:b> <urn:p> ?o }"),
        Query("ASK { ?s <urn:p> ?o FILTER(RAND() > 0.5) }"),
    )
    made = [subscribe(held, query, number) for number, query in enumerate((one, one, like, whole))]
    assert {
        (kind["followed"], kind["form"]): (kind["subscriptions"], kind["units"]) for kind in held.kinds()
    } == {
        ("joined", "select"): (3, 1),
        ("whole", "ask"): (1, 1),
    }
    for number, subscription in enumerate(made):
        held.remove(subscription.spuid, number)
    assert {(kind["subscriptions"], kind["units"]) for kind in held.kinds()} == {(0, 0)}
