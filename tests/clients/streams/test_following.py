"""What a follower asks for, gives and tells, told by hand what the servers answer."""

import pytest
from support.followed_by_hand import KNOWN, OK, ONE, TWO, URL, followed_for, following, sent_to, tracked, wire

from triplewire.broker.errors import BrokerMisbehaved, ConnectionLost
from triplewire.broker.wire.gap_items import GAP, Missing, gap_item
from triplewire.broker.wire.items import Item, command_item, encode_item
from triplewire.clients.flows import Wait
from triplewire.clients.streams.following import Gap, Read, Told
from triplewire.clients.streams.last_seen import LastSeen, LastSeenFile
from triplewire.clients.streams.settings import StreamSettings


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


def test_a_reconnect_is_told():
    """Not the first connect."""
    told = []
    flow = following(Told(on_reconnect=lambda: told.append(1))).flow()
    next(flow), flow.send(OK)
    assert told == []
    flow.send(b""), next(flow), flow.send(OK)
    assert told == [1]


def test_what_a_relay_sends_that_is_no_stream_may_be_its_own_fault(item):
    """Another one of the stream is tried; when that sends nothing new before it does the same, it is told."""
    lost = []
    follower, clock = tracked(told=Told(on_disconnect=lost.append))
    flow = follower.flow()
    followed_for(5, flow, clock, item, node="r1")
    assert isinstance(flow.send(b"\r\n"), Wait)
    assert isinstance(lost[0], BrokerMisbehaved)
    assert dict(next(flow).params)["avoid"] == "r1"
    flow.send(sent_to(TWO, "r2")), flow.send(KNOWN)
    assert flow.send(wire(item(5), item(6))) == (item(6),)
    flow.send(None)
    assert isinstance(flow.send(b"\r\n"), Wait)
    next(flow), flow.send(sent_to(ONE, "r1")), flow.send(KNOWN)
    with pytest.raises(BrokerMisbehaved):
        flow.send(wire(item(6)) + b"\r\n")


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
