"""Where it asks for a stream, and whom it believes that there is none."""

import pytest
from support.followed_by_hand import (
    AGAIN,
    EARLIER,
    OK,
    ONE,
    TRACKER,
    TWO,
    followed_for,
    following,
    sent_to,
    tracked,
    wire,
)

from triplewire.broker.errors import BrokerRefused, ConnectionLost
from triplewire.clients.authorization import Authorize, Token
from triplewire.clients.flows import Call, Reply, Wait
from triplewire.clients.streams.following import Read
from triplewire.clients.streams.settings import StreamSettings


@pytest.mark.parametrize("status", [400, 403, 404, 406, 410, 429])
def test_an_error_of_ours_ends_it(status):
    """Any 4xx."""
    flow = following().flow()
    next(flow)

    with pytest.raises(BrokerRefused) as caught:
        flow.send(Reply(status))
    assert caught.value.status == status


def test_a_server_that_sheds_load_is_asked_again():
    """After its Retry-After and a little more."""
    flow = following().flow()
    next(flow)

    assert flow.send(Reply(503, {"retry-after": "7"})).seconds > 7
    assert isinstance(next(flow), Call)
    assert flow.send(Reply(500)).seconds < 1


def test_nobody_there_at_first_ends_it():
    """Later it is tried again, with growing waits."""
    flow = following().flow()
    next(flow)
    with pytest.raises(ConnectionLost):
        flow.throw(ConnectionLost("nobody"))

    flow = following().flow()
    next(flow), flow.send(OK), flow.send(b"")
    waits = []
    for _ in range(30):
        next(flow)
        waits.append(flow.throw(ConnectionLost("nobody")).seconds)
    assert max(waits) > 3 * waits[0]
    assert max(waits) <= 30


def test_a_refused_token_is_followed_by_another():
    """Once."""

    class Source:
        def known(self, refused=None):
            return Token("old") if refused is None else None

    flow = following(authorization=Source()).flow()
    assert next(flow).headers["authorization"] == "Bearer old"
    step = flow.send(Reply(401))
    assert isinstance(step, Authorize)
    assert step.refused == "old"
    assert flow.send(Token("new")).headers["authorization"] == "Bearer new"
    with pytest.raises(BrokerRefused):
        flow.send(Reply(401))


def test_the_same_token_again_is_the_end():
    """There is nothing better to try."""
    flow = following(authorization=lambda: "only").flow()
    next(flow)
    with pytest.raises(BrokerRefused):
        flow.send(Reply(401, {}, b"no"))


def test_a_tracker_sends_it_to_a_relay(item):
    """It asks there as it asked the tracker, but for what only trackers are told."""
    flow = tracked(settings=StreamSettings(region="eu"))[0].flow()

    step = next(flow)
    assert (step.url, step.params) == (TRACKER, (("region", "eu"),))
    step = flow.send(sent_to(ONE))
    assert (step.url, step.params) == (ONE, ())
    assert flow.send(OK) == Read(OK)
    assert flow.send(wire(item(1))) == (item(1),)


@pytest.mark.parametrize(
    "silence",
    [ConnectionLost("dead"), Reply(503, {"retry-after": "7"}), Reply(502)],
    ids=["dead", "503", "502"],
)
def test_where_the_tracker_does_not_answer_it_goes_to_the_relay_that_it_had(item, silence):
    """Then to the other places, and when all have failed it waits."""
    follower, clock = tracked("http://plain/events/stream")
    flow = follower.flow()
    followed_for(60, flow, clock, item)
    flow.send(b"")

    def fails(step):
        return flow.send(silence) if isinstance(silence, Reply) else flow.throw(silence)

    step = next(flow)
    assert step.url == TRACKER
    step = fails(step)
    assert (step.url, step.params) == (ONE, AGAIN)
    step = fails(step)
    assert (step.url, step.params) == ("http://plain/events/stream", EARLIER)
    step = fails(step)
    assert isinstance(step, Wait)
    assert (step.seconds > 7) is (isinstance(silence, Reply) and silence.status == 503)
    assert next(flow).url == TRACKER


def test_a_relay_that_has_just_left_is_left_out(item):
    """A tracker learns of it some seconds later; what is no stream from the beginning is an error of ours."""
    follower, clock = tracked()
    flow = follower.flow()
    followed_for(60, flow, clock, item, node="r1")
    flow.send(b""), next(flow), flow.send(sent_to(TWO, "r2"))
    assert flow.send(Reply(404)).url == ONE
    assert isinstance(flow.throw(ConnectionLost("gone")), Wait)
    assert next(flow).params[-1] == ("avoid", "r2")

    flow = tracked()[0].flow()
    next(flow), flow.send(sent_to(TWO))
    with pytest.raises(BrokerRefused):
        flow.send(Reply(404))


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_relay_that_refuses_us_may_be_alone_with_that(status):
    """The tracker knows another; when that says the same, it is so."""
    follower, _ = tracked(authorization=lambda: "secret")
    flow = follower.flow()
    next(flow), flow.send(sent_to(ONE, "r1"))
    assert isinstance(flow.send(Reply(status)), Wait)
    assert next(flow).params == (("avoid", "r1"),)
    flow.send(sent_to(TWO, "r2"))
    with pytest.raises(BrokerRefused) as caught:
        flow.send(Reply(status))
    assert caught.value.status == status

    flow = tracked(authorization=lambda: "secret")[0].flow()
    next(flow), flow.send(sent_to(ONE, "r1")), flow.send(Reply(status)), next(flow)
    flow.send(sent_to(TWO, "r2"))
    assert flow.send(OK) == Read(OK)
    flow.send(b""), next(flow), flow.send(sent_to(ONE, "r1"))
    assert flow.send(Reply(403)) != Read(OK), "it is forgotten when another was followed"


def test_a_tracker_that_refuses_us_is_believed():
    """Also when a relay did, for another reason."""
    flow = tracked(authorization=lambda: "secret")[0].flow()
    next(flow), flow.send(sent_to(ONE, "r1")), flow.send(Reply(404)), next(flow)
    with pytest.raises(BrokerRefused):
        flow.send(Reply(403))


def test_the_only_relay_that_refuses_us_is_believed_when_it_says_so_again():
    """As soon as the tracker has no other."""
    flow = tracked(authorization=lambda: "secret")[0].flow()
    next(flow), flow.send(sent_to(ONE, "r1")), flow.send(Reply(403))
    assert next(flow).params == (("avoid", "r1"),)
    assert isinstance(flow.send(Reply(503)), Wait)
    assert next(flow).params == ()
    flow.send(sent_to(ONE, "r1"))
    with pytest.raises(BrokerRefused):
        flow.send(Reply(403))


def test_the_relay_that_we_had_can_not_say_it_twice(item):
    """Nobody but it says so, until a tracker does, or another relay, or the tracker has no other."""

    def refused_twice():
        follower, clock = tracked(authorization=lambda: "secret")
        flow = follower.flow()
        followed_for(3, flow, clock, item, node="r1")
        flow.send(b"")
        for _ in range(3):
            assert next(flow).url == TRACKER
            assert flow.throw(ConnectionLost("away")).url == ONE
            assert isinstance(flow.send(Reply(403)), Wait)
        assert next(flow).url == TRACKER
        return flow

    with pytest.raises(BrokerRefused):
        refused_twice().send(Reply(403))
    flow = refused_twice()
    flow.send(sent_to(TWO, "r2"))
    with pytest.raises(BrokerRefused):
        flow.send(Reply(403))
    flow = refused_twice()
    flow.send(sent_to(TWO, "r2"))
    assert flow.send(OK) == Read(OK)

    flow = refused_twice()
    flow.send(sent_to(ONE, "r1"))
    assert flow.send(Reply(403)).url == ONE
    assert isinstance(flow.send(Reply(403)), Wait)
    assert next(flow).params[-1] == ("avoid", "r1")
    flow.send(sent_to(ONE, "r1"))
    with pytest.raises(BrokerRefused):
        flow.send(Reply(403))


def test_without_reconnecting_a_relay_that_refuses_us_is_the_end():
    """There is no second one."""
    flow = tracked(settings=StreamSettings(reconnect=False))[0].flow()
    next(flow), flow.send(sent_to(ONE, "r1"))
    with pytest.raises(BrokerRefused):
        flow.send(Reply(403))


@pytest.mark.parametrize(
    "location", ["http://two/events/compressed", "https://tracker/consume/events/compressed"]
)
def test_a_relay_that_nobody_can_go_to_is_left_out(location):
    """It said to the tracker that it is somewhere else, or sends us back: others are well."""
    url = "https://tracker/consume/events/compressed"
    flow = tracked(url=url)[0].flow()
    next(flow)
    assert isinstance(flow.send(sent_to(location, "r1")), Wait)
    assert next(flow).params == (("avoid", "r1"),)
    flow.send(sent_to("https://two/events/compressed", "r2"))
    with pytest.raises(BrokerRefused, match="in a circle"):
        flow.send(sent_to(url))


def test_a_relay_that_sends_us_to_a_dead_one_is_left_out():
    """And not only where it sends us to, of which the tracker may know nothing."""
    flow = tracked()[0].flow()
    next(flow), flow.send(sent_to(ONE, "r1")), flow.send(sent_to(TWO))
    assert isinstance(flow.throw(ConnectionLost("dead")), Wait)
    assert next(flow).params == (("avoid", "r1"),)


def test_when_no_relay_is_left_none_is_avoided():
    """Each was slow once: a tracker that knows no other would never name one again."""
    flow = tracked()[0].flow()
    next(flow)
    for node in ("r1", "r2"):
        flow.send(sent_to(f"http://{node}/events/compressed", node))
        assert isinstance(flow.throw(ConnectionLost("slow")), Wait)
        step = next(flow)
    assert step.params == (("avoid", "r1"), ("avoid", "r2"))
    assert isinstance(flow.send(Reply(503)), Wait)
    assert next(flow).params == ()


def test_while_another_tracker_names_relays_those_that_failed_are_avoided():
    """Or it would name the same one for ever."""
    other = "http://other/consume/events/compressed"
    flow = tracked(other)[0].flow()
    next(flow)
    for number in range(3):
        step = flow.send(Reply(503))
        assert (step.url, len(step.params)) == (other, number)
        flow.send(sent_to(f"http://r{number}/events/compressed", f"r{number}"))
        flow.throw(ConnectionLost("dead")), next(flow)


def test_a_dead_relay_at_the_beginning_is_left_out(item):
    """The tracker is there; without one nobody is."""
    flow = tracked()[0].flow()
    next(flow), flow.send(sent_to(ONE))
    assert isinstance(flow.throw(ConnectionLost("dead")), Wait)
    assert next(flow).params == (("avoid", "http://one"),)

    flow = tracked("http://plain/events")[0].flow()
    next(flow)
    assert flow.throw(ConnectionLost("first")).url == "http://plain/events"
    with pytest.raises(ConnectionLost, match="first"):
        flow.throw(ConnectionLost("second"))


def test_of_several_trackers_one_may_not_know_the_stream():
    """The others are asked; it is an error where none does."""
    flow = tracked("http://other/consume/events/compressed")[0].flow()
    next(flow)
    assert flow.send(Reply(404)).url == "http://other/consume/events/compressed"
    with pytest.raises(BrokerRefused):
        flow.send(Reply(404))


def test_without_reconnecting_the_first_failure_is_told():
    """After all places were tried."""
    flow = tracked("http://plain/events", settings=StreamSettings(reconnect=False))[0].flow()
    next(flow), flow.send(Reply(503))
    with pytest.raises(BrokerRefused) as caught:
        flow.throw(ConnectionLost("dead"))
    assert caught.value.status == 503


def test_the_token_goes_to_the_relay_that_the_tracker_names():
    """And no further; what the server there says of it tells why."""
    flow = tracked(authorization=lambda: "secret")[0].flow()
    assert next(flow).headers["authorization"] == "Bearer secret"
    assert flow.send(sent_to(ONE)).headers["authorization"] == "Bearer secret"
    step = flow.send(sent_to("http://third/events/compressed"))
    assert "authorization" not in step.headers
    with pytest.raises(BrokerRefused, match=r"no token is sent on to http://third/.*trusted_redirects"):
        flow.send(Reply(401))


def test_a_server_that_is_no_tracker_can_not_send_a_token_on():
    """Unless its user trusts the other one."""
    url = "http://host/events/compressed"
    flow = tracked(url=url, authorization=lambda: "secret")[0].flow()
    next(flow)
    assert "authorization" not in flow.send(sent_to(ONE)).headers
    settings = StreamSettings(trusted_redirects=("http://one",))
    flow = tracked(url=url, settings=settings, authorization=lambda: "secret")[0].flow()
    next(flow)
    assert flow.send(sent_to(ONE)).headers["authorization"] == "Bearer secret"


def test_a_token_that_a_relay_refuses_is_followed_by_another():
    """Once, and at the relay."""

    class Source:
        def known(self, refused=None):
            return Token("old") if refused is None else Token("new")

    flow = tracked(authorization=Source())[0].flow()
    next(flow), flow.send(sent_to(ONE))
    step = flow.send(Reply(401))
    assert (step.url, step.headers["authorization"]) == (ONE, "Bearer new")
    assert flow.send(OK) == Read(OK)
