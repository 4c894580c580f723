"""What passes of a stream, as a stream of its own."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stepped import Reader, SteppedLoop, ids, item, stream_of

from triplewire.broker.config import LimitsConfig, StreamGateConfig
from triplewire.broker.errors import MalformedRequest, Overloaded
from triplewire.broker.wire.gap_items import Missing, gap_item
from triplewire.gates.stream import filters, looked, selection
from triplewire.gates.stream.feed import join, join_now
from triplewire.gates.stream.selection import LINGER_S, Selections

ALARM = [("event-type", "alarm")]


@pytest.fixture
def loop():
    return SteppedLoop()


def selections_of(loop, **config):
    return Selections(StreamGateConfig(**config), LimitsConfig(), loop.time)


def alarm(event_id, **fields):
    return item(event_id, event_type="alarm", **fields)


def test_without_a_filter_it_is_the_stream_itself(loop):
    """Nothing stands between."""
    stream = stream_of(loop)
    assert selections_of(loop).of(stream, [("last-seen", "e1")]) is stream


def test_what_passes_leaves_with_its_batch(loop):
    """With the stream's numbers; a batch of which all pass is the stream's own, encoded once for all."""
    stream = stream_of(loop, window_s=1.0, window_most_s=1.0)
    chosen = selections_of(loop).of(stream, ALARM)
    reader, whole = Reader(chosen, loop), Reader(stream, loop)
    stream.take([item("e0")], "us")
    loop.settle()
    stream.take([item("e1"), alarm("e2"), item("e3"), alarm("e4")], "us")
    loop.settle()
    assert reader.heard_now == ["e2", "e4"]
    assert reader.heard == []
    loop.advance(1.0)
    stream.take([alarm("e5")], "us")
    loop.advance(1.0)
    assert [ids(batch) for batch in reader.batches] == [["e2", "e4"], ["e5"]]
    assert [entry.number for entry in reader.batches[0].entries] == [3, 5]
    assert reader.batches[1] is whole.batches[2]
    assert (chosen.name, chosen.source_id, chosen.sent) == ("events", "stream-1", 6)


def test_equal_filters_share_one(loop):
    """Whatever the order of the parameters; its RDF is parsed once for all filters."""
    stream, found = stream_of(loop), selections_of(loop)
    one = found.of(stream, [("source", "a"), ("source", "b")])
    assert found.of(stream, [("source", "b"), ("source", "a")]) is one
    assert found.of(stream, ALARM) is not one
    assert found.of(stream_of(loop), ALARM) is not found.of(stream, ALARM)
    assert len(found) == 3


def test_rdf_is_parsed_once_for_all(loop, monkeypatch):
    """However many filters look at an item."""
    parsed = []
    monkeypatch.setattr(looked, "_parsed", lambda each: parsed.append(each.event_id) or [])
    stream, found = stream_of(loop), selections_of(loop)
    for prefix in ("urn:a", "urn:b", "urn:c"):
        Reader(found.of(stream, [("vocabulary", prefix)]), loop)
    stream.take([item("e1"), item("e2")], "us")
    loop.settle()
    assert parsed == ["e1", "e2"]


def test_what_is_kept_is_looked_at_first(loop):
    """So who comes back with the last item that it saw misses nothing, also where the selection is made anew."""
    stream = stream_of(loop)
    stream.take([alarm("e1"), item("e2"), alarm("e3"), alarm("e4")], "us")
    loop.settle()
    chosen = selections_of(loop).of(stream, ALARM)
    batch, position = join(chosen, "e3", None)
    assert (ids(batch), position) == (["e4"], 4)
    assert ids(join(chosen, None, 2)[0]) == ["e3", "e4"]
    assert ids(join(chosen, "unknown", None)[0]) == ["e1", "e3", "e4"]
    assert ids(join(chosen, "e2", None)[0]) == ["e3", "e4"], "it did not pass, and a sign of life may name it"


def test_what_waits_in_the_window_is_not_missed(loop):
    """A selection that is made while items wait passes them on with their batch."""
    stream = stream_of(loop, window_s=1.0, window_most_s=1.0)
    stream.take([item("e0")], "us")
    loop.settle()
    stream.take([alarm("e1"), item("e2")], "us")
    loop.step()
    chosen = selections_of(loop).of(stream, ALARM)
    reader = Reader(chosen, loop)
    assert ids(join(chosen, None, 10)[0]) == []
    assert ids(join_now(chosen, None, 10)[0]) == ["e1"]
    loop.advance(1.0)
    assert reader.heard == ["e1"]


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from(["take", "settle", "advance", "join"])), max_size=30
    ),
    st.sampled_from([0.0, 1.0]),
)
def test_each_reader_gets_what_passes_once_and_in_order(steps, window_s):
    """From the moment it comes on, whenever that is."""
    loop = SteppedLoop()
    stream = stream_of(loop, window_s=window_s, window_most_s=1.0)
    found = selections_of(loop)
    taken, readers = [], []
    for kind, step in steps:
        if step == "take":
            taken.append((f"e{len(taken)}", kind))
            stream.take([item(taken[-1][0], event_type=kind)], "us")
        elif step == "settle":
            loop.settle()
        elif step == "advance":
            loop.advance(0.4)
        else:
            chosen = found.of(stream, [("event-type", kind)])
            first, position = join(chosen, None, 1000)
            got = ids(first)
            chosen.listen(lambda batch, got=got, position=position: got.extend(ids(batch.after(position))))
            readers.append((kind, got))
    loop.advance(5.0)
    for kind, got in readers:
        assert got == [event_id for event_id, its in taken if its == kind]


def test_a_sign_of_life_passes(loop):
    """It is for the connection, whatever it asks for."""
    stream = stream_of(loop, silence_s=10.0)
    reader = Reader(selections_of(loop).of(stream, ALARM), loop)
    loop.advance(11.0)
    (entry,) = reader.batches[0].entries
    assert entry.item.command == "Test-Connection"


def test_a_sign_of_life_where_nothing_passes(loop):
    """Once the stream's own time is over, as others come; it is the stream's number, and a place to go on from."""
    stream = stream_of(loop, silence_s=10.0, window_most_s=0.0)
    chosen = selections_of(loop).of(stream, ALARM)
    reader = Reader(chosen, loop)
    for number in range(1, 8):
        loop.advance(3)
        stream.take([item(f"e{number}")], "us")
        loop.settle()
    (batch,) = reader.batches
    assert reader.now == [batch]
    (sign,) = batch.entries
    assert (sign.item.command, sign.number) == ("Test-Connection", 4)
    stream.take([alarm("e8")], "us")
    loop.settle()
    assert [ids(each) for each in reader.batches[1:]] == [["e8"]]
    assert ids(join(chosen, sign.item.event_id, None)[0]) == ["e8"]
    for number in range(9, 12):
        loop.advance(3)
        stream.take([item(f"e{number}")], "us")
        loop.settle()
    assert len(reader.batches) == 2, "something has passed since"


def test_a_sign_of_life_is_not_made_for_nobody(loop):
    """The first who comes after a while has it with the next batch."""
    stream = stream_of(loop, silence_s=10.0, window_most_s=0.0)
    chosen = selections_of(loop).of(stream, ALARM)
    stream.listen(lambda _: None)
    for number in range(10):
        loop.advance(3)
        stream.take([item(f"e{number}")], "us")
        loop.settle()
    assert chosen.history.last == 0
    reader = Reader(chosen, loop)
    stream.take([item("e10")], "us")
    loop.settle()
    assert [entry.item.command for batch in reader.batches for entry in batch.entries] == ["Test-Connection"]


def test_a_marker_of_a_gap_passes(loop):
    """What is missing might have; also of what is kept already."""
    stream = stream_of(loop)
    markers = [gap_item(Missing("ab", "", first, first), "s") for first in (1, 2)]
    stream.take([item("e1"), markers[0]], "us")
    chosen = selections_of(loop).of(stream, ALARM)
    assert ids(chosen.history) == [markers[0].event_id]
    reader = Reader(chosen, loop)
    stream.take([item("e2"), markers[1]], "us")
    loop.settle()
    assert reader.heard_now == [markers[1].event_id]
    assert reader.heard == [marker.event_id for marker in markers]


def test_it_is_let_go_of_after_the_last(loop):
    """Not at once, as those that lost their connection come back."""
    stream, found = stream_of(loop), selections_of(loop)
    one = found.of(stream, ALARM)
    end = one.listen(lambda _: None)
    loop.advance(2 * LINGER_S)
    stream.take([item("e1")], "us")
    loop.settle()
    assert len(found) == 1
    end()
    loop.advance(LINGER_S - 1)
    stream.take([item("e2")], "us")
    loop.settle()
    assert found.of(stream, ALARM) is one
    loop.advance(2)
    stream.take([item("e3")], "us")
    loop.settle()
    assert len(found) == 0
    assert found.of(stream, ALARM) is not one


def test_there_are_so_many_at_most(loop):
    """The unused go first; where all are used, whoever comes is refused with 503."""
    stream, found = stream_of(loop), selections_of(loop, selections=2)
    ends = [found.of(stream, [("source", name)]).listen(lambda _: None) for name in "ab"]
    with pytest.raises(Overloaded, match=r"stream\.selections") as refused:
        found.of(stream, [("source", "c")])
    assert refused.value.status == 503
    ends[0]()
    loop.advance(2)
    assert found.of(stream, [("source", "c")]).closed is False
    assert len(found) == 2


def test_a_filter_that_takes_too_long_is_ended(loop, monkeypatch):
    """Its consumers' responses end; it is refused for a while, and others go on."""

    class Slow:
        def passes(self, _):
            loop.now += 0.3
            return True

    stream, found = stream_of(loop), selections_of(loop)
    condition = filters._condition
    monkeypatch.setattr(
        filters, "_condition", lambda kind, *rest: Slow() if kind == "ask" else condition(kind, *rest)
    )
    slow, other = found.of(stream, [("ask", "x")]), found.of(stream, ALARM)
    reader, fine = Reader(slow, loop), Reader(other, loop)
    for number in range(5):
        stream.take([alarm(f"e{number}")], "us")
        loop.settle()
    assert (reader.closed, fine.closed) == (1, 0)
    assert slow.closed
    assert fine.heard == ["e0", "e1", "e2", "e3", "e4"]
    with pytest.raises(Overloaded, match="too long"):
        found.of(stream, [("ask", "x")])
    loop.advance(LINGER_S + 1)
    assert found.of(stream, [("ask", "x")]).closed is False


def test_looking_back_is_bounded(loop, monkeypatch):
    """The newest are looked at first; what takes too long is left."""
    stream = stream_of(loop)
    stream.take([alarm(f"e{number}") for number in range(100)], "us")
    loop.settle()

    def passes(self, _):
        loop.now += 0.1
        return True

    monkeypatch.setattr(
        selection.filter_of([("event-type", "x")], LimitsConfig()).__class__, "passes", passes
    )
    kept = ids(selections_of(loop).of(stream, ALARM).history.after("?"))
    assert kept == [f"e{number}" for number in range(94, 100)]


def test_the_making_of_selections_is_bounded(loop, monkeypatch):
    """Each looks at what is kept: who asks for ever other filters is refused with 503, and not those who share one."""
    stream = stream_of(loop)
    stream.take([alarm(f"e{number}") for number in range(10)], "us")
    loop.settle()
    found = selections_of(loop)
    shared = found.of(stream, ALARM)

    def passes(self, _):
        loop.now += 0.04
        return True

    monkeypatch.setattr(
        selection.filter_of([("event-type", "x")], LimitsConfig()).__class__, "passes", passes
    )
    for number in range(3):
        found.of(stream, [("source", str(number))])
    with pytest.raises(Overloaded, match="too many different filters"):
        found.of(stream, [("source", "one more")])
    assert found.of(stream, ALARM) is shared
    loop.advance(2)
    assert found.of(stream, [("source", "one more")]).closed is False


def test_the_stream_s_end_is_its_own(loop):
    """After the last batch; and the selections of a stream that has ended are forgotten."""
    stream, found = stream_of(loop), selections_of(loop)
    chosen = found.of(stream, ALARM)
    reader = Reader(chosen, loop)
    stream.take([alarm("e1")], "us")
    stream.close()
    assert (reader.heard, reader.closed, chosen.closed) == (["e1"], 1, True)
    other = stream_of(loop)
    found.of(other, ALARM)
    assert len(found) == 1


def test_what_is_published_goes_into_the_stream(loop):
    """And what writing took is told to its window."""
    stream = stream_of(loop)
    chosen = selections_of(loop).of(stream, ALARM)
    asyncio.run(chosen.publish([item("e1")], "us"))
    chosen.took(0.1)
    assert stream.counts.taken == 1
    assert stream.window.period_s > 0


def test_what_is_no_filter_is_told(loop):
    """As an error of the request's."""
    with pytest.raises(MalformedRequest):
        selections_of(loop).of(stream_of(loop), [("triple", "x")])


def test_a_sign_of_life_that_names_what_did_not_pass_has_its_place(loop):
    """The stream's own, for whom the selection is made anew, here or at another relay: nothing is sent again."""
    stream, other = stream_of(loop, silence_s=10.0), stream_of(loop)
    reader = Reader(selections_of(loop).of(stream, ALARM), loop)
    for each in (stream, other):
        each.take([alarm("e1"), alarm("e2"), item("e3")], "us")
    loop.advance(11)
    sign = reader.heard[-1]
    assert sign.startswith("alive:")
    assert sign.endswith(":e3")
    for each in (stream, other):
        chosen = selections_of(loop).of(each, ALARM)
        assert ids(join(chosen, sign, None)[0]) == []
        assert ids(chosen.history.replay(sign, overlap_s=60.0)) == ["e1", "e2"]
        assert chosen.history.covered_s(sign, 60.0) == each.history.covered_s(sign, 60.0)
        each.take([alarm("e4"), item("e5")], "us")
        loop.settle()
        assert ids(join(chosen, sign, None)[0]) == ["e4"]


def slow_down(monkeypatch, loop, seconds):
    """Whatever a filter is asked takes so long."""
    asked = filters.Filter.passes

    def passes(self, each):
        loop.now += seconds
        return asked(self, each)

    monkeypatch.setattr(filters.Filter, "passes", passes)


def test_what_was_not_looked_at_has_no_place(loop, monkeypatch):
    """Of that nobody knows whether it passed: who saw it last gets all that is known."""
    slow_down(monkeypatch, loop, 0.3)
    stream = stream_of(loop)
    stream.take([alarm("e1"), alarm("e2"), item("e3"), alarm("e4")], "us")
    loop.settle()
    chosen = selections_of(loop).of(stream, ALARM)
    assert ids(chosen.history) == ["e4"]
    assert ids(join(chosen, "e3", None)[0]) == ["e4"]
    assert chosen.history.place("e1") is None


async def test_what_is_kept_is_looked_at_in_steps(monkeypatch):
    """Others have the event loop in between; what comes meanwhile has its place, and leaves when the stream's does."""
    monkeypatch.setattr(selection, "_STEP_S", 0.0)  # one item each
    loop = SteppedLoop()
    slow_down(monkeypatch, loop, 0.001)
    stream, found = stream_of(loop, window_s=1.0, window_most_s=1.0), selections_of(loop)
    stream.take([alarm("e0"), item("e1"), alarm("e2")], "us")
    loop.settle()
    ticks = 0
    preparing = [asyncio.create_task(found.prepare(stream, ALARM)) for _ in range(2)]
    while not all(task.done() for task in preparing):
        await asyncio.sleep(0)
        ticks += 1
        if ticks == 1:
            stream.take([item("e3"), alarm("e4")], "us")
            loop.settle()
    assert ticks > 2
    monkeypatch.setattr(filters.Filter, "passes", None)  # it is not asked again
    chosen = found.of(stream, ALARM)
    assert ids(chosen.history) == ["e0", "e2", "e4"]
    reader = Reader(chosen, loop)
    loop.advance(1.0)
    assert reader.heard == ["e4"]
