"""Where it goes on, and when items may be missing."""

from collections import deque

import pytest
from support.followed_by_hand import (
    AGAIN,
    EARLIER,
    KNOWN,
    OK,
    ONE,
    TRACKER,
    TWO,
    followed_for,
    following,
    sent_to,
    stamp,
    tracked,
    wire,
)

from triplewire.broker.config import StreamConfig
from triplewire.broker.errors import ConnectionLost
from triplewire.clients.flows import Reply, Wait
from triplewire.clients.streams.following import Gap, Told
from triplewire.clients.streams.last_seen import LastSeen, LastSeenFile
from triplewire.clients.streams.settings import StreamSettings
from triplewire.gates.stream.entry import Entry
from triplewire.gates.stream.history import History


def test_at_another_relay_it_begins_earlier(item):
    """Behind an item that all have by now, and the overlap before that; the one that failed is avoided."""
    follower, clock = tracked(settings=StreamSettings(overlap_s=7.5))
    flow = follower.flow()
    followed_for(60, flow, clock, item, node="r1")
    assert isinstance(flow.throw(ConnectionLost("broken")), Wait)

    asked = (("last-seen", "e58"), ("overlap", "7.5"), ("away", "2"))
    step = next(flow)
    assert (step.url, step.params) == (TRACKER, (*asked, ("avoid", "r1")))
    query = "last-seen=e58&overlap=7.5&away=2&avoid=r1&source=a"
    step = flow.send(sent_to(f"{TWO}?{query}"))
    assert (step.url, step.params) == (f"{TWO}?source=a", asked)
    flow.send(KNOWN)
    assert flow.send(wire(item(57), item(70), item(58), item(60), item(61))) == (item(70), item(61))


def test_a_relay_that_has_begun_anew_has_another_order_too(item):
    """So it begins earlier there as well, where a tracker sent it; what it does not know, it has let go of."""
    follower, clock = tracked()
    flow = follower.flow()
    followed_for(60, flow, clock, item)
    flow.send(b"")
    assert next(flow).params[:3] == EARLIER
    assert flow.send(sent_to(f"{ONE}?last-seen=e58&overlap=10&away=2")).params == AGAIN


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


def test_the_relay_is_kept_with_the_state(item, tmp_path):
    """So that a process that goes on at another one begins earlier; at the same one it does not."""
    state = LastSeenFile(tmp_path / "seen")
    follower, clock = tracked(state=state)
    followed_for(3, follower.flow(), clock, item)
    assert state.read() == LastSeen("e3", "e2", ONE, 1_000_001_003.0)

    clock.now += 500.5
    flow = tracked(state=state, clock=clock)[0].flow()
    next(flow)
    assert flow.send(sent_to(ONE)).params == (("last-seen", "e2"),)
    flow = tracked(state=state, clock=clock)[0].flow()
    next(flow)
    assert flow.send(sent_to(TWO)).params == (("last-seen", "e2"), ("overlap", "10"), ("away", "501"))


@pytest.mark.parametrize("at", [None, 1e12, float("nan"), float("inf"), float("-inf")])
def test_where_nobody_knows_when_it_was_had_nothing_is_said_of_it(item, tmp_path, at):
    """Neither by the process that went on from there, while all may be as old, nor by one after it."""
    state = LastSeenFile(tmp_path / "seen")
    state.keep(LastSeen("e2", "e1", ONE, at))
    flow = tracked(state=state)[0].flow()
    next(flow)
    assert flow.send(sent_to(TWO)).params == (("last-seen", "e1"), ("overlap", "10"))
    flow.send(KNOWN), flow.send(wire(item(3))), flow.send(None)
    assert state.read() == LastSeen("e3", "e2", TWO)
    flow.send(b"")
    assert "away" not in dict(next(flow).params)


def test_what_comes_of_what_a_server_kept_counts_from_when_the_one_before_was_had(item, tmp_path):
    """Else a third relay, that does not know it, would leave out what had not come yet when the second died."""
    state = LastSeenFile(tmp_path / "seen")
    follower, clock = tracked(state=state)
    flow = follower.flow()
    followed_for(60, flow, clock, item)
    clock.now += 300.0
    flow.send(b""), next(flow), flow.send(sent_to(TWO)), flow.send(KNOWN)
    for number in range(61, 71):
        clock.now += 1.0
        flow.send(wire(item(number))), flow.send(None)
    assert state.read().at == 1_000_000_000.0 + 1058.0
    flow.send(b"")
    assert next(flow).params[:3] == (("last-seen", "e68"), ("overlap", "10"), ("away", "312"))


@pytest.mark.parametrize("is_stamped", [True, False])
def test_who_reads_slowly_is_given_all_that_is_kept(item, is_stamped):
    """What it read last had waited for minutes when it came: whether its own time says that, or nothing does."""
    follower, clock = tracked()
    history = History("events", StreamConfig(history_items=1000), clock)
    flow = follower.flow()
    next(flow), flow.send(sent_to(ONE)), flow.send(OK)
    sent = deque()
    for number in range(2500):
        clock.now += 0.1
        made = item(number, timestamp=stamp(clock) if is_stamped else "early in the morning")
        history.add([Entry(number + 1, made, clock.now)])
        sent.append(made)
        if number % 2:
            flow.send(wire(sent.popleft())), flow.send(None)
    flow.send(b""), next(flow)
    given = dict(flow.send(sent_to(TWO)).params)
    assert history.gone == 1500, "what it had ends at 1250"
    away_s, overlap_s = float(given["away"]), float(given["overlap"])
    assert history.replay(given["last-seen"], overlap_s=overlap_s, away_s=away_s).first == history.first


@pytest.mark.parametrize("ahead_s", [0.0, 300.0])
def test_who_keeps_up_is_not_given_all_that_is_kept(item, ahead_s):
    """However long it has followed, and whether the publisher's clock is right or not."""
    follower, clock = tracked()
    flow = follower.flow()
    next(flow), flow.send(sent_to(ONE)), flow.send(OK)
    for number in range(100):
        clock.now += 60.0
        flow.send(wire(item(number, timestamp=stamp(clock, ahead_s)))), flow.send(None)
    flow.send(b""), next(flow)
    assert flow.send(sent_to(TWO)).params == (("last-seen", "e98"), ("overlap", "10"), ("away", "60"))


def test_a_publisher_s_clock_that_is_ahead_makes_nothing_young(item):
    """Once that was seen: what comes ten minutes late then is not five minutes old."""
    follower, clock = tracked()
    flow = follower.flow()
    next(flow), flow.send(sent_to(ONE)), flow.send(OK)
    for number in range(100):
        clock.now += 10.0
        late_s = 0.0 if number < 30 else 600.0
        flow.send(wire(item(number, timestamp=stamp(clock, 300.0 - late_s)))), flow.send(None)
    flow.send(b""), next(flow)
    assert dict(flow.send(sent_to(TWO)).params)["away"] == "610"


def test_less_than_was_asked_of_a_publisher_that_was_silent_is_a_gap(item):
    """Of no other: their items came, and are in their order everywhere.  It is told once."""
    gaps = []
    follower, clock = tracked(told=Told(on_gap=gaps.append))
    flow = follower.flow()
    next(flow), flow.send(sent_to(ONE)), flow.send(OK)
    for number in range(60):
        clock.now += 1.0
        source = "slow" if number in {1, 30} else "quick"
        flow.send(wire(item(number, aggregator_ids=(source, "r1")))), flow.send(None)
    flow.send(b"")
    step = next(flow)
    assert step.params[:2] == (("last-seen", "e57"), ("overlap", "40"))
    flow.send(sent_to(TWO)), flow.send(Reply(200, {"triplewire-overlap": "20.000"}))
    quick, *slow = (
        item(70, aggregator_ids=("quick",)),
        item(71, aggregator_ids=("slow",)),
        item(72, aggregator_ids=("slow",)),
    )
    assert flow.send(wire(item(50, aggregator_ids=("quick",)), quick, *slow)) == (quick, *slow)
    assert gaps == [Gap("e59", slow[0])]


@pytest.mark.parametrize(
    ("covered", "first"), [("40.000", 71), ("39.999", 71), ("28.000", 71), ("much", 71), ("0.000", 30)]
)
def test_as_much_as_that_publisher_needs_is_no_gap(item, covered, first):
    """Nor is it where what was had last of it comes again first, nor what can't be read."""
    gaps = []
    follower, clock = tracked(told=Told(on_gap=gaps.append))
    flow = follower.flow()
    next(flow), flow.send(sent_to(ONE)), flow.send(OK)
    for number in range(60):
        clock.now += 1.0
        source = "slow" if number == 30 else "quick"
        flow.send(wire(item(number, aggregator_ids=(source,)))), flow.send(None)
    flow.send(b""), next(flow), flow.send(sent_to(TWO))
    flow.send(Reply(200, {"triplewire-overlap": covered}))
    flow.send(wire(item(first, aggregator_ids=("slow",)), item(72, aggregator_ids=("slow",))))
    assert gaps == []
