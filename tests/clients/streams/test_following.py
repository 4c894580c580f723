import random

import pytest

from triplewire.broker.errors import BrokerMisbehaved, BrokerRefused, ConnectionLost
from triplewire.broker.wire.gap_items import GAP, Missing, gap_item
from triplewire.broker.wire.items import Item, command_item, encode_item
from triplewire.clients.authorization import Authorize, Token
from triplewire.clients.flows import Call, Reply, Wait
from triplewire.clients.streams.following import Following, Gap, Read, Told
from triplewire.clients.streams.last_seen import LastSeen, LastSeenFile
from triplewire.clients.streams.settings import StreamSettings

URL = "http://host/events/stream"
OK = Reply(200)


def following(told=None, settings=None, **options):
    return Following(
        [URL], settings or StreamSettings(), told=told or Told(), rng=random.Random(1), **options
    )


def wire(*items):
    return b"".join(map(encode_item, items))


def test_it_asks_reads_and_gives(item):
    """A call, reads of its reply, and a batch for each."""
    flow = following().flow()

    call = next(flow)
    assert (call.method, call.url, call.params, call.streamed) == ("GET", URL, (), True)
    assert flow.send(OK) == Read(OK)
    assert flow.send(wire(item(1), item(2))) == (item(1), item(2))
    assert flow.send(None) == Read(OK)


@pytest.mark.parametrize("end", [b"", ConnectionLost("broken")])
def test_after_an_end_or_a_loss_it_goes_on_behind_what_was_had(item, end):
    """By the item before the last, so that the last comes again first."""
    lost = []
    flow = following(Told(on_disconnect=lost.append)).flow()
    next(flow), flow.send(OK), flow.send(wire(item(1), item(2), item(3))), flow.send(None)

    step = flow.send(end) if end == b"" else flow.throw(end)
    assert isinstance(step, Wait)
    assert lost == [None if end == b"" else end]
    assert next(flow).params == (("last-seen", "e2"),)
    flow.send(OK)
    assert flow.send(wire(item(3), item(4))) == (item(4),)


def test_half_an_item_comes_again(item):
    """What was cut off is no item, and no error."""
    flow = following().flow()
    next(flow), flow.send(OK), flow.send(wire(item(1)) + wire(item(2))[:20]), flow.send(None)
    flow.send(b""), next(flow), flow.send(OK)

    assert flow.send(wire(item(2))) == (item(2),)


def test_a_gap_is_told_where_something_else_comes_first(item):
    """And the items are given."""
    gaps = []
    flow = following(Told(on_gap=gaps.append)).flow()
    next(flow), flow.send(OK), flow.send(wire(item(1), item(2))), flow.send(None)
    flow.send(b""), next(flow), flow.send(OK)

    assert flow.send(wire(item(7), item(8))) == (item(7), item(8))
    assert [(gap.last_seen, gap.first.event_id) for gap in gaps] == [("e2", "e7")]


def test_a_history_that_reaches_back_is_no_gap(item):
    """Also where the server knew none of the ids and sent all that it has."""
    gaps = []
    flow = following(Told(on_gap=gaps.append)).flow()
    next(flow), flow.send(OK), flow.send(wire(*map(item, range(1, 6)))), flow.send(None)
    flow.send(b""), next(flow), flow.send(OK)

    assert flow.send(wire(*map(item, range(3, 8)))) == (item(6), item(7))
    assert gaps == []


def test_with_one_item_a_gap_can_not_be_known(item):
    """So none is told; what comes after it is asked for."""
    gaps = []
    flow = following(Told(on_gap=gaps.append), last_seen="e1").flow()

    assert next(flow).params == (("last-seen", "e1"),)
    flow.send(OK), flow.send(wire(item(7)))
    assert gaps == []


def test_a_keep_alive_is_neither_given_nor_remembered(item):
    """It is in no history; nor does it answer whether there is a gap."""
    gaps = []
    alive = encode_item(command_item("Test-Connection", "k"))
    flow = following(Told(on_gap=gaps.append, commands=True)).flow()
    next(flow), flow.send(OK), flow.send(wire(item(1), item(2)) + alive), flow.send(None)
    flow.send(b"")

    assert next(flow).params == (("last-seen", "e1"),)
    flow.send(OK)
    assert flow.send(alive + encode_item(command_item("Stream-Finished", "f"))) == Read(OK)
    assert flow.send(wire(item(2), item(3))) == (item(3),)
    assert gaps == []


@pytest.mark.parametrize("wanted", [True, False])
def test_commands_of_sources_are_given_on_demand(item, wanted):
    """In their place among the items, past the filters."""
    started = command_item("Event-Source-Started", "c", "s")
    flow = following(Told(filters=(lambda item: item.event_id == "e1",), commands=wanted)).flow()
    next(flow), flow.send(OK)

    assert flow.send(wire(started, item(1))) == ((started, item(1)) if wanted else (item(1),))


def test_what_a_filter_refuses_counts_as_had(item):
    """It is not asked for again, and is no gap when it comes."""
    gaps = []
    even = Told(filters=(lambda item: int(item.event_id[1:]) % 2 == 0,), on_gap=gaps.append)
    flow = following(even).flow()
    next(flow), flow.send(OK)

    assert flow.send(wire(item(1), item(2), item(3))) == (item(2),)
    flow.send(None), flow.send(b"")
    assert next(flow).params == (("last-seen", "e2"),)
    flow.send(OK)
    assert flow.send(wire(item(3), item(4))) == (item(4),)
    assert gaps == []


def test_what_was_interrupted_comes_again(item):
    """An item counts as had when the next is asked for, or by `done`."""
    follower = following()
    flow = follower.flow()
    next(flow), flow.send(OK)
    follower.gives(flow.send(wire(item(1), item(2), item(3)))[0])
    flow.close()
    assert follower.last_seen is None

    flow = follower.flow()
    next(flow), flow.send(OK)
    one, _, _ = flow.send(wire(item(1), item(2), item(3)))
    follower.gives(one)
    follower.done()
    flow.close()
    assert follower.last_seen == "e1"

    flow = follower.flow()
    next(flow), flow.send(OK)
    assert flow.send(wire(item(1), item(2))) == (item(2),)


def test_only_so_many_ids_are_remembered(item):
    """The oldest are forgotten."""
    flow = following(settings=StreamSettings(remembered_ids=2)).flow()
    next(flow), flow.send(OK), flow.send(wire(item(1), item(2), item(3))), flow.send(None)

    assert flow.send(wire(item(1), item(3))) == (item(1),)


def test_the_state_is_kept_for_each_piece_and_read_at_the_start(item, tmp_path):
    """With the id before, so that a gap can be known."""
    state = LastSeenFile(tmp_path / "seen")
    flow = following(state=state).flow()
    next(flow), flow.send(OK), flow.send(wire(item(1), item(2)))
    assert state.read() is None
    flow.send(None)
    assert state.read() == LastSeen("e2", "e1")

    gaps = []
    flow = following(Told(on_gap=gaps.append), state=state, last_seen="other").flow()
    assert next(flow).params == (("last-seen", "e1"),)
    flow.send(OK)
    assert flow.send(wire(item(3))) == (item(3),)
    assert gaps[0].last_seen == "e2"


def test_what_was_had_is_kept_when_it_is_broken_off(item, tmp_path):
    """Not what is being dealt with."""
    state = LastSeenFile(tmp_path / "seen")
    follower = following(state=state)
    flow = follower.flow()
    next(flow), flow.send(OK)
    batch = flow.send(wire(item(1), item(2), item(3)))
    for each in batch[:2]:
        follower.gives(each)
        follower.had()
    follower.gives(batch[2])
    flow.close()
    assert state.read() == LastSeen("e2", "e1")


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


def test_without_reconnecting_it_ends_with_the_stream():
    """A loss is an error, an end is none."""
    settings = StreamSettings(reconnect=False)
    flow = following(settings=settings).flow()
    next(flow), flow.send(OK)
    with pytest.raises(StopIteration):
        flow.send(b"")

    flow = following(settings=settings).flow()
    next(flow), flow.send(OK)
    with pytest.raises(ConnectionLost):
        flow.throw(ConnectionLost("broken"))


def test_what_is_no_item_ends_it(item):
    """After the items before it."""
    flow = following().flow()
    next(flow), flow.send(OK)

    assert flow.send(wire(item(1)) + b"\r\n") == (item(1),)
    with pytest.raises(BrokerMisbehaved, match="no stream of items"):
        flow.send(None)


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


def test_a_reconnect_is_told():
    """Not the first connect."""
    told = []
    flow = following(Told(on_reconnect=lambda: told.append(1))).flow()
    next(flow), flow.send(OK)
    assert told == []
    flow.send(b""), next(flow), flow.send(OK)
    assert told == [1]


TRACKER = "http://tracker/consume/events/compressed"
ONE, TWO = "http://one/events/compressed", "http://two/events/compressed"
KNOWN = Reply(200, {"triplewire-overlap": "10.000"})


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def sent_to(url, node=""):
    return Reply(307, {"location": url, **({"triplewire-node": node} if node else {})})


def tracked(*others, told=None, settings=None, url=TRACKER, **options):
    """A follower of a tracker's, and its clock."""
    clock = Clock()
    settings = settings or StreamSettings()
    made = Following(
        [url, *others], settings, told=told or Told(), rng=random.Random(1), clock=clock, **options
    )
    return made, clock


def followed_for(seconds, flow, clock, item, node=""):
    """Follow at a relay, an item a second; the flow is at its next read then."""
    step = next(flow)
    assert step.url == TRACKER
    step = flow.send(sent_to(ONE, node))
    assert step.url == ONE
    flow.send(OK)
    for number in range(1, seconds + 1):
        clock.now += 1.0
        assert flow.send(wire(item(number))) == (item(number),)
        flow.send(None)
    return step


def test_a_tracker_sends_it_to_a_relay(item):
    """It asks there as it asked the tracker, but for what only trackers are told."""
    flow = tracked(settings=StreamSettings(region="eu"))[0].flow()

    step = next(flow)
    assert (step.url, step.params) == (TRACKER, (("region", "eu"),))
    step = flow.send(sent_to(ONE))
    assert (step.url, step.params) == (ONE, ())
    assert flow.send(OK) == Read(OK)
    assert flow.send(wire(item(1))) == (item(1),)


def test_at_another_relay_it_begins_earlier(item):
    """Behind an item that all have by now, and the overlap before that; the one that failed is avoided."""
    follower, clock = tracked(settings=StreamSettings(overlap_s=7.5))
    flow = follower.flow()
    followed_for(60, flow, clock, item, node="r1")
    assert isinstance(flow.throw(ConnectionLost("broken")), Wait)

    asked = (("last-seen", "e58"), ("overlap", "7.5"))
    step = next(flow)
    assert (step.url, step.params) == (TRACKER, (*asked, ("avoid", "r1")))
    query = "last-seen=e58&overlap=7.5&avoid=r1&source=a"
    step = flow.send(sent_to(f"{TWO}?{query}"))
    assert (step.url, step.params) == (f"{TWO}?source=a", asked)
    flow.send(KNOWN)
    assert flow.send(wire(item(57), item(70), item(58), item(60), item(61))) == (item(70), item(61))


def test_a_relay_that_has_begun_anew_has_another_order_too(item):
    """So it begins earlier there as well, where a tracker sent it."""
    follower, clock = tracked()
    flow = follower.flow()
    followed_for(60, flow, clock, item)
    flow.send(b""), next(flow)
    assert flow.send(sent_to(ONE)).params == (("last-seen", "e58"), ("overlap", "10"))


def test_a_stream_at_one_server_has_one_order(item):
    """Nothing is different there."""
    flow = following().flow()
    next(flow), flow.send(OK), flow.send(wire(item(1), item(2))), flow.send(None)
    flow.send(b"")
    assert next(flow).params == (("last-seen", "e1"),)


def test_no_gap_where_the_server_has_the_item(item):
    """Whatever comes first: it stands there in another order."""
    gaps = []
    follower, clock = tracked(told=Told(on_gap=gaps.append))
    flow = follower.flow()
    followed_for(60, flow, clock, item)
    flow.send(b""), next(flow), flow.send(sent_to(TWO)), flow.send(KNOWN)
    assert flow.send(wire(item(70), item(60), item(61))) == (item(70), item(61))
    assert gaps == []


def test_a_gap_where_the_server_has_not_got_the_item(item):
    """Nor another that we had first: it is not known what was between."""
    gaps = []
    follower, clock = tracked(told=Told(on_gap=gaps.append))
    flow = follower.flow()
    followed_for(60, flow, clock, item)
    flow.send(b""), next(flow), flow.send(sent_to(TWO)), flow.send(OK)
    assert flow.send(wire(item(70), item(71))) == (item(70), item(71))
    assert [(gap.last_seen, gap.first, gap.missing) for gap in gaps] == [("e60", item(70), None)]

    flow.send(None), flow.send(b""), next(flow), flow.send(sent_to(ONE)), flow.send(OK)
    assert flow.send(wire(item(71), item(72))) == (item(72),)
    assert len(gaps) == 1


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
    assert (step.url, step.params) == (ONE, (("last-seen", "e58"), ("overlap", "10")))
    step = fails(step)
    assert (step.url, step.params) == (
        "http://plain/events/stream",
        (("last-seen", "e58"), ("overlap", "10")),
    )
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


def test_the_relay_is_kept_with_the_state(item, tmp_path):
    """So that a process that goes on at another one begins earlier; at the same one it does not."""
    state = LastSeenFile(tmp_path / "seen")
    follower, clock = tracked(state=state)
    followed_for(3, follower.flow(), clock, item)
    assert state.read() == LastSeen("e3", "e2", ONE)

    flow = tracked(state=state)[0].flow()
    next(flow)
    assert flow.send(sent_to(ONE)).params == (("last-seen", "e2"),)
    flow = tracked(state=state)[0].flow()
    next(flow)
    assert flow.send(sent_to(TWO)).params == (("last-seen", "e2"), ("overlap", "10"))


MISSING = Missing("0011223344556677", "client-1", 7, 9)


@pytest.mark.parametrize("commands", [False, True])
def test_a_marker_of_a_gap_is_told_in_its_place(item, commands):
    """When what stands before it has been dealt with; it is an item only where commands are."""
    marker = gap_item(MISSING, "stream-1")
    told = []
    follower = following(Told(filters=(lambda _: True,), on_gap=told.append, commands=commands))
    flow = follower.flow()
    next(flow), flow.send(OK)

    assert flow.send(wire(item(1), marker, item(2))) == (item(1),)
    assert told == []
    assert flow.send(None) == ((marker, item(2)) if commands else (item(2),))
    assert told == [Gap("e1", marker, MISSING)]
    flow.send(None), flow.send(b"")
    assert next(flow).params == (("last-seen", "e1"),), "a marker is nothing to go on from"
    flow.send(OK)
    assert flow.send(wire(marker, item(2), item(3))) == (item(3),)
    assert len(told) == 1, "it is told once, and shows nothing of the history's reach"


def test_a_marker_can_be_the_first_that_comes():
    """Nothing was had before it then."""
    told = []
    flow = following(Told(on_gap=told.append)).flow()
    next(flow), flow.send(OK)
    flow.send(wire(gap_item(MISSING, "s")))
    assert [(gap.last_seen, gap.missing) for gap in told] == [("", MISSING)]


def test_what_only_looks_like_a_marker_is_an_item():
    """Anybody can publish items of any type."""
    other = Item("e", "s", "application/json", b'{"gap": "of the teeth"}', event_type=GAP)
    flow = following().flow()
    next(flow), flow.send(OK)
    assert flow.send(wire(other)) == (other,)
