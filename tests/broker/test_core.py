"""One request after the other: what is written, and who is told what, in which order."""

from __future__ import annotations

from collections import Counter

import pytest
from support.cores import ALL, NEVER, insert, subscribe, values
from support.stores import PROLOGUE

from triplewire.broker.errors import (
    RequestError,
    TooManyRequests,
    UnknownSubscription,
)
from triplewire.broker.model import (
    Leave,
    Notification,
    Outcome,
    Query,
    Subscribe,
    Unsubscribe,
    Unsubscribed,
    Update,
    Updated,
)


def test_subscribing_is_answered_by_the_first_results(core):
    """Sequence 0, everything added, alias and id named."""
    core.handle(insert(1, 2))
    first = subscribe(core, alias="a")
    assert (first.alias, first.sequence, values(first.delta.added), first.delta.removed) == (
        "a",
        0,
        [1, 2],
        Counter(),
    )
    assert subscribe(core).spuid != first.spuid


def test_first_results_keep_the_answers_order(core):
    """As ORDER BY wants it, whoever comes first or later."""
    core.handle(insert(2, 3, 1))
    query = Query(ALL.sparql + " ORDER BY DESC(?o)")
    for _ in range(2):
        assert [int(term.value) for (term,) in subscribe(core, query).delta.added] == [3, 2, 1]


def test_each_update_is_one_message_to_each_subscription_that_it_touches(core):
    """In order, without gaps; the reply counts them."""
    told = {
        subscribe(core, subscriber=subscriber, alias=str(subscriber)).spuid: 0 for subscriber in (1, 1, 2)
    }
    subscribe(core, NEVER)
    for number in range(1, 4):
        outcome = core.handle(Update(f"{insert(number).sparql} ; DELETE DATA {{ :s :p {number - 1} }}"))
        assert outcome.reply == Updated(notified=3)
        assert [subscriber for subscriber, _ in outcome.messages] == [1, 1, 2]
        for subscriber, message in outcome.messages:
            assert isinstance(message, Notification)
            assert (message.sequence, message.alias) == (number, str(subscriber))
            assert values(message.delta.added) == [number]
            assert values(message.delta.removed) == ([number - 1] if number > 1 else [])
            told[message.spuid] += 1
    assert set(told.values()) == {3}


def test_messages_stand_in_the_order_of_the_subscriptions(doubles):
    """Units in the order they came, and within a unit its subscriptions."""
    core, _ = doubles
    spuids = [
        subscribe(core, query, subscriber).spuid
        for query, subscriber in ((ALL, 1), (NEVER, 2), (ALL, 3), (NEVER, 1))
    ]
    outcome = core.handle(insert(1))
    assert [message.spuid for _, message in outcome.messages] == [spuids[0], spuids[2], spuids[1], spuids[3]]


def test_one_delta_for_all_who_hold_a_query(core):
    """So that it is encoded once."""
    for subscriber in range(3):
        subscribe(core, subscriber=subscriber)
    deltas = [message.delta for _, message in core.handle(insert(1)).messages]
    assert all(delta is deltas[0] for delta in deltas)


@pytest.mark.parametrize(
    "update",
    [
        insert(1),
        Update(f"{PROLOGUE} INSERT DATA {{ :s :q 1 }}"),
        Update(f"{PROLOGUE} DELETE DATA {{ :s :p 9 }}"),
        Update("CLEAR ALL ; " + insert(1).sparql),
    ],
)
def test_no_change_is_no_message(core, update):
    """What was there already, what nobody asks for, what comes to the same; the sequence stays."""
    core.handle(insert(1))
    subscribe(core)
    assert core.handle(update) == Outcome(Updated(), ())
    ((_, message),) = core.handle(insert(2)).messages
    assert message.sequence == 1


def test_each_unit_is_asked_before_and_after(doubles):
    """Once for one update, however many hold it, and never for reading requests."""
    core, made = doubles
    spuid = subscribe(core).spuid
    subscribe(core, subscriber=2)
    core.handle(insert(1))
    core.handle(Unsubscribe(spuid, 1))
    core.handle(Leave(1))
    assert made[ALL].calls == ["first", "first", "before", "after"]


def test_unsubscribing_is_answered_and_ends_it(core):
    """By the owner only; then it is told no more."""
    spuid = subscribe(core).spuid
    with pytest.raises(UnknownSubscription):
        core.handle(Unsubscribe(spuid, 2))
    assert core.handle(Unsubscribe(spuid, 1)) == Outcome(None, ((1, Unsubscribed(spuid)),))
    assert core.handle(insert(1)).messages == ()
    with pytest.raises(UnknownSubscription):
        core.handle(Unsubscribe(spuid, 1))


def test_leaving_ends_all_of_a_connection(core):
    """Without a message; the others go on."""
    for subscriber in (1, 1, 2):
        subscribe(core, subscriber=subscriber)
    assert core.handle(Leave(1)) == Outcome()
    assert [subscriber for subscriber, _ in core.handle(insert(1)).messages] == [2]


@pytest.mark.parametrize(
    "query", [Query("SELECT nonsense"), Query("ASK { ?s ?p }"), Query("ASK {}", ("relative",))]
)
def test_a_query_that_can_not_be_evaluated_is_not_held(core, query):
    """The subscriber is refused, and nothing remains."""
    with pytest.raises(RequestError):
        core.handle(Subscribe(query, 1))
    assert core.handle(insert(1)).messages == ()
    assert len(core._subscriptions) == core._subscriptions.units == 0


def test_limits_are_told(core):
    """Nothing is evaluated for a subscription that there is no room for."""
    for _ in range(50):
        subscribe(core)
    with pytest.raises(TooManyRequests, match="subscriptions_per_socket"):
        core.handle(Subscribe(Query("nonsense"), 1))
