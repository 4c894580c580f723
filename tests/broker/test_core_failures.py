"""What fails on the way: a unit, or the write; who is told, and what goes on."""

from __future__ import annotations

import pytest
from support.cores import ALL, NEVER, Double, insert, subscribe, values
from support.stores import EX, ask, embedded

from triplewire.broker.config import LimitsConfig
from triplewire.broker.core import Core
from triplewire.broker.errors import (
    BrokerError,
    EngineError,
    GraphNotFound,
    RequestTooLarge,
    UnknownSubscription,
)
from triplewire.broker.model import (
    Failure,
    GraphEdit,
    GraphWrite,
    Notification,
    Query,
    Unsubscribe,
    Update,
    Updated,
)
from triplewire.broker.subscriptions import Subscriptions
from triplewire.spu.naive import NaiveSpu


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize(
    ("error", "status", "description"),
    [
        (ValueError("secret"), 500, "the subscription's query failed"),
        (EngineError("the store is away"), 500, "the store is away"),
        (RequestTooLarge("too many rows"), 413, "too many rows"),
    ],
)
def test_a_unit_that_fails_ends_its_own_subscriptions_only(doubles, where, error, status, description):
    """Each is told by alias and id; the update is carried out, the other units go on, and later updates too."""
    core, made = doubles
    mine = [subscribe(core, ALL, subscriber, f"alias {subscriber}") for subscriber in (1, 2)]
    other = subscribe(core, NEVER, 1)
    made[ALL].fails[where] = error
    outcome = core.handle(insert(1))
    failures = [
        (subscriber, message) for subscriber, message in outcome.messages if isinstance(message, Failure)
    ]
    assert failures == [
        (number, Failure("subscription_failed", status, description, f"alias {number}", one.spuid))
        for number, one in enumerate(mine, 1)
    ]
    notified = [message for _, message in outcome.messages if isinstance(message, Notification)]
    assert [(message.spuid, message.sequence) for message in notified] == [(other.spuid, 1)]
    assert outcome.reply == Updated(notified=3)
    assert [message.spuid for _, message in core.handle(insert(2)).messages] == [other.spuid]
    with pytest.raises(UnknownSubscription):
        core.handle(Unsubscribe(mine[0].spuid, 1))


@pytest.mark.parametrize(("error", "lines"), [(ValueError("why"), 1), (RequestTooLarge("rows"), 0)])
def test_only_our_own_failures_are_logged(doubles, caplog, error, lines):
    """With the traceback; what a query does is its sender's affair."""
    core, made = doubles
    subscribe(core)
    made[ALL].fails["after"] = error
    core.handle(insert(1))
    assert len(caplog.records) == lines
    assert all(record.exc_info[1] is error for record in caplog.records)


def test_who_subscribes_again_gets_a_new_unit(memory):
    """The one that failed is of no more use."""
    made = []
    core = Core(memory, Subscriptions(LimitsConfig(), lambda query: made.append(Double(query)) or made[-1]))
    subscribe(core)
    made[0].fails["after"] = ValueError()
    core.handle(insert(1))
    subscribe(core)
    assert len(made) == 2
    assert len(core.handle(insert(2)).messages) == 1


WRITES = {
    "syntax": Update("INSERT DATA {"),
    "half-way": Update(f"{insert(7).sparql} ; CREATE GRAPH <{EX}g>"),
    "graph": GraphWrite(GraphEdit.DROP, f"{EX}nowhere"),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_write_that_fails_tells_nobody(core, memory, write):
    """Nothing has changed; the units are as good as before."""
    core.handle(Update(f"CREATE GRAPH <{EX}g>"))
    core.handle(insert(1))
    subscribe(core)
    with pytest.raises(GraphNotFound if write == "graph" else BrokerError):
        core.handle(WRITES[write])
    assert ask(memory, "SELECT ?o { ?s :p ?o }") == ["1"]
    ((_, message),) = core.handle(insert(2)).messages
    assert (message.sequence, values(message.delta.added)) == (1, [2])


def test_a_write_that_fails_does_not_end_a_unit_that_failed_before_it(doubles):
    """It is asked anew by the next update."""
    core, made = doubles
    subscribe(core)
    made[ALL].fails["before"] = ValueError()
    with pytest.raises(BrokerError):
        core.handle(WRITES["syntax"])
    del made[ALL].fails["before"]
    ((_, message),) = core.handle(insert(1)).messages
    assert isinstance(message, Notification)


def test_graph_writes_are_told_like_updates(core):
    """Whether the graph is new goes into the reply."""
    query = Query(f"SELECT ?o {{ GRAPH <{EX}g> {{ ?s ?p ?o }} }}")
    subscribe(core, query)
    write = GraphWrite(GraphEdit.REPLACE, f"{EX}g", f"<{EX}s> <{EX}p> <{EX}o> .")
    assert core.handle(write).reply == Updated(notified=1, created=True)
    assert core.handle(write).reply == Updated(notified=0, created=False)
    outcome = core.handle(GraphWrite(GraphEdit.DROP, f"{EX}g"))
    assert outcome.reply == Updated(notified=1)
    assert len(outcome.messages[0][1].delta.removed) == 1


def test_a_subscription_whose_answer_grows_too_large_ends():
    """With the limit in the sentence; others go on."""
    store = embedded(limits=LimitsConfig(answer_rows=2))
    core = Core(store, Subscriptions(LimitsConfig(), NaiveSpu))
    spuid = subscribe(core, alias="big").spuid
    assert isinstance(core.handle(insert(1, 2)).messages[0][1], Notification)
    ((_, message),) = core.handle(insert(3)).messages
    assert (message.code, message.status, message.alias, message.spuid) == (
        "subscription_failed",
        413,
        "big",
        spuid,
    )
    assert "limits.answer_rows" in message.description
    assert ask(store, "SELECT (COUNT(*) AS ?n) { ?s :p ?o }") == ["3"]
