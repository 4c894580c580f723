import json

import pytest
from pyoxigraph import Literal

from triplewire.broker.errors import BrokerMisbehaved, BrokerRefused, ConnectionLost
from triplewire.broker.model import (
    Bindings,
    BindingsDelta,
    Failure,
    Notification,
    Query,
    Resume,
    Unsubscribed,
)
from triplewire.broker.wire.subscribe import (
    SubscribeMessage,
    UnsubscribeMessage,
    decode_client,
    encode_broker,
)
from triplewire.clients.callbacks import Callbacks, Changed, Ended, Failed, FirstResults
from triplewire.clients.live_query import State
from triplewire.clients.session import Session

QUERY = Query("SELECT ?x { ?x ?p ?o }", ("http://g/1",))
ONE, TWO, THREE = ((Literal(number),) for number in (1, 2, 3))
LOST = ConnectionLost("gone")


@pytest.fixture
def session():
    session = Session()
    session.opened()
    return session


def outgoing(session):
    return [decode_client(text) for text in session.outgoing()]


def asked(label, resume=None):
    return SubscribeMessage(QUERY, label, None, resumable=True, resume=resume)


def answer(session, label, spuid, *rows):
    first = BindingsDelta.first(Bindings(("x",), rows))
    return session.received(encode_broker(Notification(spuid, label, 0, first)))


def change(session, spuid, sequence, added=(), removed=()):
    delta = BindingsDelta.between(("x",), Bindings((), removed).bag(), Bindings((), added).bag())
    return session.received(encode_broker(Notification(spuid, None, sequence, delta)))


def fail(session, code="parsing failed", status=400, **where):
    return session.received(encode_broker(Failure(code, status, "no", **where)))


def subscribe(session, alias=None, *rows):
    live = session.subscribe(QUERY, alias, Callbacks())
    session.outgoing()
    answer(session, live.label, f"spuid:{live.label}", *rows)
    return live


def test_a_subscribe_says_the_query_and_its_dataset(session):
    """With the alias."""
    session.subscribe(QUERY, "mine", Callbacks())

    assert outgoing(session) == [asked("mine")]
    assert outgoing(session) == []


def test_before_there_is_a_connection_nothing_is_said():
    """When there is one, all of it is."""
    session = Session()
    session.subscribe(QUERY, "a", Callbacks())
    session.subscribe(QUERY, "b", Callbacks())

    before = outgoing(session)
    session.opened()

    assert before == []
    assert outgoing(session) == [asked("a"), asked("b")]


def test_first_results_come_once(session):
    """And the changes after them as they are."""
    live = session.subscribe(QUERY, "mine", Callbacks())

    (first,) = answer(session, "mine", "spuid:1", ONE, ONE)
    (changed,) = change(session, "spuid:1", 1, [TWO], [ONE])

    assert isinstance(first, FirstResults)
    assert first.notification.delta == BindingsDelta.first(Bindings(("x",), (ONE, ONE)))
    assert isinstance(changed, Changed)
    assert (changed.notification.sequence, changed.notification.alias) == (1, "mine")
    assert (live.state, live.spuid, live.sequence) == (State.LIVE, "spuid:1", 1)
    assert live.answer == [{"x": Literal(1)}, {"x": Literal(2)}]


def test_two_with_one_alias_are_told_apart(session):
    """On the wire their aliases differ."""
    one = session.subscribe(QUERY, "mine", Callbacks())
    other = session.subscribe(QUERY, "mine", Callbacks())
    labels = [message.alias for message in outgoing(session)]

    (second,) = answer(session, labels[1], "spuid:2")
    (first,) = answer(session, labels[0], "spuid:1")

    assert (second.live, first.live) == (other, one)
    assert second.notification.alias == first.notification.alias == "mine"


def test_many_without_an_alias_are_told_apart(session):
    """Users need not give one."""
    lives = [session.subscribe(QUERY, None, Callbacks()) for _ in range(3)]

    assert len({message.alias for message in outgoing(session)}) == 3
    for live in lives:
        (first,) = answer(session, live.label, f"spuid:{live.label}")
        assert first.live is live
        assert first.notification.alias is None


def test_a_label_of_ours_can_be_an_alias_of_the_users(session):
    """Whichever came first."""
    first = session.subscribe(QUERY, None, Callbacks())
    second = session.subscribe(QUERY, first.label, Callbacks())
    third = session.subscribe(QUERY, second.label, Callbacks())

    assert len({first.label, second.label, third.label}) == 3


def test_a_second_answer_to_one_question_is_passed_over(session):
    """The first one counts."""
    live = subscribe(session, "mine", ONE)

    assert answer(session, "mine", "spuid:other", TWO) == []
    assert live.spuid == "spuid:mine"
    assert change(session, "spuid:other", 1, [TWO]) == []


def test_what_was_not_sent_on_one_connection_is_not_sent_on_the_next(session):
    """Each begins with what it needs."""
    live = subscribe(session, "old")
    session.subscribe(QUERY, "new", Callbacks())
    session.unsubscribe(live)
    session.lost(LOST)
    session.opened()

    assert outgoing(session) == [asked("new")]


def test_a_message_for_nobody_is_passed_over(session):
    """As one that was on its way while we unsubscribed."""
    assert change(session, "spuid:unknown", 3, [ONE]) == []
    assert answer(session, "unknown", "spuid:unknown") == []
    assert session.received(encode_broker(Unsubscribed("spuid:unknown"))) == []
    assert fail(session) == []


def test_an_unsubscribe_ends_when_the_broker_says_so(session):
    """Until then nothing more is told."""
    live = subscribe(session, "mine", ONE)

    assert session.unsubscribe(live) == []
    said = outgoing(session)
    meanwhile = change(session, "spuid:mine", 1, [TWO])
    (ended,) = session.received(encode_broker(Unsubscribed("spuid:mine")))

    assert said == [UnsubscribeMessage("spuid:mine", "mine")]
    assert meanwhile == []
    assert ended == Ended(live, "spuid:mine")
    assert live.state is State.ENDED
    assert session.unsubscribe(live) == []


def test_unsubscribing_before_the_first_results_waits_for_them(session):
    """Only they tell the spuid; users never see them."""
    live = session.subscribe(QUERY, "mine", Callbacks())
    session.outgoing()
    session.unsubscribe(live)

    before = outgoing(session)
    events = answer(session, "mine", "spuid:1", ONE)

    assert (before, events) == ([], [])
    assert outgoing(session) == [UnsubscribeMessage("spuid:1", "mine")]
    assert session.received(encode_broker(Unsubscribed("spuid:1"))) == [Ended(live, "spuid:1")]


def test_unsubscribing_without_a_connection_needs_no_broker():
    """With the connection the subscription had gone."""
    session = Session()
    session.opened()
    live = subscribe(session, "mine", ONE)
    session.lost(LOST)

    assert session.unsubscribe(live) == [Ended(live, "spuid:mine")]
    session.opened()
    assert outgoing(session) == []


def test_an_alias_can_be_used_again(session):
    """After its live query has ended."""
    session.unsubscribe(subscribe(session, "mine"))
    session.received(encode_broker(Unsubscribed("spuid:mine")))

    assert session.subscribe(QUERY, "mine", Callbacks()).label == "mine"


def test_a_live_query_of_another_session_is_let_be(session):
    """Only its owner can end it."""
    other = Session()
    other.opened()
    live = subscribe(other, "mine")
    own = subscribe(session, "mine")

    assert session.unsubscribe(live) == []
    assert outgoing(session) == []
    assert own.state is live.state is State.LIVE


def test_a_refused_subscribe_fails_alone(session):
    """By its alias."""
    good = subscribe(session, "good")
    bad = session.subscribe(QUERY, "bad", Callbacks())

    (failed,) = fail(session, alias="bad")

    assert failed.live is bad
    assert isinstance(failed.error, BrokerRefused)
    assert (bad.state, good.state) == (State.ENDED, State.LIVE)


def test_a_refusal_without_an_alias_is_for_the_one_that_waits(session):
    """SEPA's engine forgets it where the query can't be parsed."""
    subscribe(session, "good")
    bad = session.subscribe(QUERY, "bad", Callbacks())

    assert [event.live for event in fail(session)] == [bad]


def test_a_refusal_without_an_alias_is_nobodys_where_two_wait(session):
    """A wrong guess would be worse than a wait."""
    session.subscribe(QUERY, "a", Callbacks())
    session.subscribe(QUERY, "b", Callbacks())

    assert fail(session) == []


def test_a_subscription_that_the_broker_ends_has_failed(session):
    """By its spuid."""
    live = subscribe(session, "mine")

    assert [event.live for event in fail(session, spuid="spuid:mine")] == [live]
    assert live.state is State.ENDED


def test_an_unsubscribe_that_the_broker_does_not_know_has_ended_all_the_same(session):
    """That is what was wanted."""
    live = subscribe(session, "mine")
    session.unsubscribe(live)

    assert fail(session, "sid_not_found", 500, alias="mine") == [Ended(live, "spuid:mine")]


def test_after_a_reconnection_only_the_difference_is_told(session):
    """As a change under the new spuid."""
    live = subscribe(session, "mine", ONE, ONE, TWO)

    assert session.lost(LOST) == []
    session.opened()
    assert outgoing(session) == [asked("mine", Resume("spuid:mine", 0))]
    (changed,) = answer(session, "mine", "spuid:new", THREE, ONE)

    assert isinstance(changed, Changed)
    assert changed.notification.delta == BindingsDelta(
        ("x",), Bindings((), (THREE,)).bag(), Bindings((), (ONE, TWO)).bag()
    )
    assert changed.notification.spuid == live.spuid == "spuid:new"


def test_after_a_reconnection_nothing_is_told_where_nothing_is_different(session):
    """Users need not know that the connection was away."""
    subscribe(session, "mine", ONE, TWO)
    session.lost(LOST)
    session.opened()

    assert answer(session, "mine", "spuid:new", TWO, ONE) == []


def test_changes_after_a_reconnection_go_on_from_there(session):
    """With the broker's own sequence."""
    live = subscribe(session, "mine", ONE)
    session.lost(LOST)
    session.opened()
    answer(session, "mine", "spuid:new", ONE)

    (changed,) = change(session, "spuid:new", 1, [TWO])

    assert changed.notification.sequence == 1
    assert live.answer == [{"x": Literal(1)}, {"x": Literal(2)}]


def test_the_old_spuid_means_nothing_on_a_new_connection(session):
    """It belonged to the old one."""
    subscribe(session, "mine", ONE)
    session.lost(LOST)
    session.opened()

    assert change(session, "spuid:mine", 1, [TWO]) == []


def test_first_results_that_never_came_come_with_the_next_connection(session):
    """As first results."""
    session.subscribe(QUERY, "mine", Callbacks())
    session.lost(LOST)
    session.opened()

    (first,) = answer(session, "mine", "spuid:new", ONE)

    assert isinstance(first, FirstResults)


def test_a_broker_may_begin_an_answer_anew(session):
    """Sequence 0 is always the whole answer."""
    live = subscribe(session, "mine", ONE)

    (changed,) = answer(session, "mine", "spuid:mine", TWO)

    assert (changed.notification.delta.added, changed.notification.delta.removed) == (
        Bindings((), (TWO,)).bag(),
        Bindings((), (ONE,)).bag(),
    )
    assert live.answer == [{"x": Literal(2)}]


def test_an_unsubscribe_under_way_ends_with_the_connection(session):
    """The broker drops the subscription anyway."""
    live = subscribe(session, "mine")
    session.unsubscribe(live)

    assert session.lost(LOST) == [Ended(live, "spuid:mine")]


def test_without_reconnection_everything_fails_with_the_connection():
    """And nothing is asked for again."""
    session = Session(reconnect=False)
    session.opened()
    live = subscribe(session, "mine")

    assert session.lost(LOST) == [Failed(live, LOST)]
    session.opened()
    assert outgoing(session) == []


@pytest.mark.parametrize(
    ("code", "status"), [("too_many_requests", 500), ("shutting_down", 503), ("odd", 429)]
)
def test_a_busy_broker_is_asked_again_for_what_was_there_before(session, code, status):
    """A broker that has just come back has much to do."""
    live = subscribe(session, "mine", ONE)
    session.lost(LOST)
    session.opened()
    session.outgoing()

    assert fail(session, code, status, alias="mine") == []
    assert session.postponed
    session.ask_again()
    assert not session.postponed
    assert outgoing(session) == [asked("mine", Resume("spuid:mine", 0))]
    answer(session, "mine", "spuid:new", ONE)
    assert live.state is State.LIVE


def test_a_busy_broker_is_not_asked_again_for_what_is_new(session):
    """Whoever asked for it is there to decide."""
    session.subscribe(QUERY, "mine", Callbacks())

    (failed,) = fail(session, "too_many_requests", 500, alias="mine")

    assert failed.error.code == "too_many_requests"


def test_what_is_postponed_can_be_unsubscribed(session):
    """The broker does not hold it."""
    live = subscribe(session, "mine", ONE)
    session.lost(LOST)
    session.opened()
    session.outgoing()
    fail(session, "too_many_requests", 500, alias="mine")

    assert session.unsubscribe(live) == [Ended(live, None)]
    assert not session.postponed
    assert outgoing(session) == []


def test_only_so_many_subscribes_are_on_their_way():
    """Each answer makes room for one more."""
    session = Session(window=2)
    session.opened()
    lives = [session.subscribe(QUERY, name, Callbacks()) for name in "abcde"]

    asked = [message.alias for message in outgoing(session)]
    answer(session, "a", "spuid:a")
    fail(session, alias="b")

    assert asked == ["a", "b"]
    assert [message.alias for message in outgoing(session)] == ["c", "d"]
    assert session.unsubscribe(lives[4]) == [Ended(lives[4], None)]


def test_whoever_gives_up_waiting_makes_room():
    """A broker may have forgotten the alias in its refusal."""
    session = Session(window=1)
    session.opened()
    lost = session.subscribe(QUERY, "lost", Callbacks())
    session.subscribe(QUERY, "next", Callbacks())
    session.outgoing()

    session.unsubscribe(lost)

    assert [message.alias for message in outgoing(session)] == ["next"]


def test_after_a_reconnection_everything_is_asked_for_again_in_turn():
    """What was on its way on the old connection takes no room on the new one."""
    session = Session(window=1)
    session.opened()
    for name in "ab":
        session.subscribe(QUERY, name, Callbacks())
    session.outgoing()
    session.lost(LOST)
    session.opened()

    assert [message.alias for message in outgoing(session)] == ["a"]
    answer(session, "a", "spuid:a")
    assert [message.alias for message in outgoing(session)] == ["b"]


def test_the_present_token_goes_with_each_message():
    """It is asked for each time."""
    tokens = iter(["one", "two"])
    session = Session(authorization=lambda: next(tokens))
    session.opened()
    live = session.subscribe(QUERY, "mine", Callbacks())
    answer(session, "mine", "spuid:1")
    session.unsubscribe(live)

    assert [message.authorization for message in outgoing(session)] == ["one", "two"]


def test_abandoned_everything_fails(session):
    """Whatever state it is in."""
    lives = [subscribe(session, "live"), session.subscribe(QUERY, "waiting", Callbacks())]

    assert session.abandon(LOST) == [Failed(live, LOST) for live in lives]
    assert session.abandon(LOST) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "{",
        '{"notification":{}}',
        '{"notification":{"spuid":"s","sequence":1}}',
        '{"ping":1}',
        b"\xff",
    ],
)
def test_what_is_no_message_can_not_be_trusted(session, text):
    """The driver begins a new connection."""
    with pytest.raises(BrokerMisbehaved):
        session.received(text)


def test_an_older_broker_may_leave_the_removed_side_empty(session):
    """`{}` rather than no rows, in the protocol's draft."""
    live = session.subscribe(QUERY, "mine", Callbacks())
    rows = {"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "uri", "value": "a:b"}}]}}
    body = {"spuid": "s", "alias": "mine", "sequence": 0, "addedResults": rows, "removedResults": {}}

    (first,) = session.received(json.dumps({"notification": body}))

    assert first.live is live
    assert len(first.notification.delta.added) == 1


# --- the broker kept the subscription ---------------------------------------------------------------------------


def resumed(session, spuid, sequence, added=(), removed=()):
    delta = BindingsDelta.between(("x",), Bindings((), removed).bag(), Bindings((), added).bag())
    return session.received(encode_broker(Notification(spuid, "mine", sequence, delta)))


def test_what_was_missed_comes_as_one_change(session):
    """Under the spuid that it had, with the number after the last."""
    live = subscribe(session, "mine", ONE)
    change(session, "spuid:mine", 1, [TWO])
    session.lost(LOST)
    session.opened()

    assert outgoing(session) == [asked("mine", Resume("spuid:mine", 1))]
    (changed,) = resumed(session, "spuid:mine", 2, [THREE], [ONE])
    (next_,) = change(session, "spuid:mine", 3, [ONE])

    assert isinstance(changed, Changed)
    assert changed.notification.delta == BindingsDelta(
        ("x",), Bindings((), (THREE,)).bag(), Bindings((), (ONE,)).bag()
    )
    assert (changed.notification.sequence, next_.notification.sequence) == (2, 3)
    assert (live.state, live.spuid, live.sequence) == (State.LIVE, "spuid:mine", 3)
    assert {row["x"].value for row in live.answer} == {"1", "2", "3"}


def test_whoever_missed_nothing_is_told_nothing(session):
    """The empty answer to its subscribe is for us."""
    live = subscribe(session, "mine", ONE)
    session.lost(LOST)
    session.opened()

    assert resumed(session, "spuid:mine", 1) == []
    assert (live.state, live.sequence) == (State.LIVE, 1)


def test_what_was_heard_is_said_again_on_each_connection(session):
    """Until the broker has answered."""
    subscribe(session, "mine", ONE)
    for _ in range(3):
        session.lost(LOST)
        session.opened()
        assert outgoing(session) == [asked("mine", Resume("spuid:mine", 0))]


@pytest.mark.parametrize(("spuid", "sequence"), [("spuid:mine", 5), ("spuid:other", 1)])
def test_an_answer_that_does_not_follow_on_is_passed_over(session, spuid, sequence):
    """It would not add up."""
    live = subscribe(session, "mine", ONE)
    session.lost(LOST)
    session.opened()

    assert resumed(session, spuid, sequence, [TWO]) == []
    assert live.state is State.WAITING


def test_after_nonsense_the_answer_is_asked_for_anew(session):
    """What we know may be wrong."""
    subscribe(session, "mine", ONE)
    with pytest.raises(BrokerMisbehaved):
        session.received("nonsense")
    session.lost(LOST)
    session.opened()
    assert outgoing(session) == [asked("mine")]
    answer(session, "mine", "spuid:new", ONE)
    session.lost(LOST)
    session.opened()
    assert outgoing(session) == [asked("mine", Resume("spuid:new", 0))]


def test_a_resumed_one_that_is_let_go_meanwhile_is_unsubscribed(session):
    """By the spuid that it has."""
    live = subscribe(session, "mine", ONE)
    session.lost(LOST)
    session.opened()
    session.outgoing()
    session.unsubscribe(live)

    assert resumed(session, "spuid:mine", 1, [TWO]) == []
    assert outgoing(session) == [UnsubscribeMessage("spuid:mine", "mine")]


def test_without_reconnection_there_is_nothing_to_resume():
    """The broker need not keep anything."""
    session = Session(reconnect=False)
    session.opened()
    session.subscribe(QUERY, "mine", Callbacks())

    assert outgoing(session) == [SubscribeMessage(QUERY, "mine")]
