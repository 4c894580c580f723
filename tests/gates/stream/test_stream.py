"""A stream: what is taken and what is not, when it leaves, and who hears of it."""

from __future__ import annotations

import asyncio

import pytest
from support.stepped import Reader, SteppedLoop, ids, item, stream_of

from triplewire.broker.config import StreamConfig
from triplewire.broker.errors import Forbidden, ShuttingDown, StoreError
from triplewire.broker.wire.items import (
    SOURCE_FINISHED,
    SOURCE_STARTED,
    STREAM_FINISHED,
    TEST_CONNECTION,
    command_item,
    encode_item,
)
from triplewire.gates.stream.history import History
from triplewire.gates.stream.stream import open_stream
from triplewire.gates.stream.window import FULL_BYTES, FULL_ITEMS


@pytest.fixture
def loop():
    return SteppedLoop()


def test_what_the_stream_adds(loop):
    """Its own id behind the others, and the time where there is none; the bytes of the body are what they were."""
    stream = stream_of(loop)
    reader = Reader(stream, loop)
    stream.take([item("e1", aggregator_ids=("relay-1",))], "us")
    loop.settle()
    (entry,) = reader.batches[0].entries
    assert entry.item.aggregator_ids == ("relay-1", "stream-1")
    assert entry.item.timestamp == "2026-01-01T00:00:00.000+00:00"
    assert (entry.number, entry.taken_at) == (1, loop.wall())
    assert encode_item(entry.item).endswith(b"\r\n\r\n<a> <b> <c> .")


def test_a_time_that_is_there_stays(loop):
    """Whatever it says: it is the publisher's."""
    stream = stream_of(loop)
    stream.take([item("e1", timestamp="yesterday")], "us")
    assert stream.history.after("?")[0].item.timestamp == "yesterday"


def test_without_a_window_items_leave_at_once(loop):
    """In the next step of the loop; what was taken in one step leaves together."""
    stream = stream_of(loop, window_s=0.0)
    reader = Reader(stream, loop)
    stream.take([item("e1")], "us")
    stream.take([item("e2")], "us")
    loop.settle()
    stream.take([item("e3")], "us")
    loop.settle()
    assert [ids(batch) for batch in reader.batches] == [["e1", "e2"], ["e3"]]
    assert [ids(batch) for batch in reader.now] == [["e1", "e2"], ["e3"]]


def test_with_a_window_those_that_come_close_leave_together(loop):
    """The first one at once where those before it came alone, else it waits for others."""
    stream = stream_of(loop, window_s=0.5, window_most_s=0.5)
    reader = Reader(stream, loop)
    for event_id in ("e1", "e2", "e3"):
        stream.take([item(event_id)], "us")
        loop.advance(0.2)
    loop.advance(1)
    stream.take([item("e4")], "us")
    loop.settle()
    assert [ids(batch) for batch in reader.batches] == [["e1"], ["e2", "e3"]]
    assert reader.times[2] == reader.times[1] + 0.5
    loop.advance(0.5)
    assert ids(reader.batches[-1]) == ["e4"]
    loop.advance(1)
    stream.take([item("e5")], "us")
    loop.settle()
    assert ids(reader.batches[-1]) == ["e5"]
    assert [ids(batch) for batch in reader.now] == [["e1"], ["e2"], ["e3"], ["e4"], ["e5"]]


def test_the_window_adapts_to_what_a_batch_costs(loop):
    """As the server says; then back to nothing."""
    stream = stream_of(loop, window_s=0.0, window_most_s=1.0)
    reader = Reader(stream, loop)
    stream.take([item("e1")], "us")
    loop.settle()
    stream.took(0.2)
    began = loop.time()
    stream.take([item("e2")], "us")
    loop.advance(1)
    assert reader.times[2] - began == pytest.approx(0.4)
    assert stream.window.period_s == pytest.approx(0.4)
    for number in range(3, 30):
        stream.take([item(f"e{number}")], "us")
        loop.advance(1)
    assert stream.window.period_s < 1e-6


def test_what_all_that_listen_take_together_counts(loop):
    """Each filter of a stream takes its part."""
    stream = stream_of(loop, window_s=0.0, window_most_s=1.0)
    for seconds in (0.05, 0.1):

        def write(_, seconds=seconds):
            loop.now += seconds

        stream.listen(write)
    stream.take([item("e1")], "us")
    loop.settle()
    assert stream.window.period_s == pytest.approx(0.3)


@pytest.mark.parametrize(("count", "body"), [(FULL_ITEMS, b""), (5, bytes(FULL_BYTES // 5))])
def test_a_large_batch_leaves_before_its_time(loop, count, body):
    """What waits is bounded."""
    stream = stream_of(loop, window_s=60.0, window_most_s=60.0)
    reader = Reader(stream, loop)
    stream.take([item("first")], "us")
    loop.settle()
    for number in range(count):
        stream.take([item(f"e{number}", body)], "us")
        loop.settle()
    assert len(reader.batches) == 2
    assert len(reader.batches[1]) == count


def test_after_a_large_batch_the_window_is_as_before(loop):
    """What follows waits its time, from then on."""
    stream = stream_of(loop, window_s=60.0, window_most_s=60.0)
    reader = Reader(stream, loop)
    stream.take([item("first")], "us")
    loop.advance(20)
    stream.take([item("e0")], "us")
    for number in range(2):
        stream.take([item(f"large{number}", bytes(FULL_BYTES))], "us")
    loop.advance(1)
    assert reader.times[4] == 120.0
    for number in range(2):
        stream.take([item(f"e{number + 1}")], "us")
        loop.advance(30)
    loop.advance(60)
    assert [ids(batch) for batch in reader.batches[2:]] == [["e1", "e2"]]
    assert reader.times[5] == 181.0  # the window of the first of them


def test_the_publisher_is_answered_before_anybody_is_sent_anything(loop):
    """Weakness 7: ten thousand consumers cost it nothing, with and without a window, at /priority, too."""
    stream = stream_of(loop)
    reader = Reader(stream, loop)
    receipt = asyncio.run(stream.publish([item("e1")], "us"))
    assert receipt == (1, 0, 0, 1)
    assert stream.history.entry("e1")
    assert reader.batches == reader.now == []
    loop.settle()
    assert reader.heard == reader.heard_now == ["e1"]


def test_what_is_kept_already_is_dropped_and_said(loop):
    """Weakness 13: the answer is as for any other, but the receipt tells; in one request and in another."""
    stream = stream_of(loop, window_s=1.0, window_most_s=1.0)
    reader = Reader(stream, loop)
    assert stream.take([item("e1"), item("e2"), item("e1")], "us") == (2, 1, 0, 2)
    assert stream.take([item("e2"), item("e3")], "others") == (1, 1, 0, 3)
    assert stream.take([item("e3")], "others") == (0, 1, 0, 0)
    loop.advance(3)
    assert reader.heard == ["e1", "e2", "e3"]
    assert (stream.counts.taken, stream.counts.duplicates) == (3, 3)


def test_all_readers_hear_the_same_order(loop):
    """Weakness 13: whoever published, and with numbers in which a gap would show."""
    stream = stream_of(loop, window_s=0.1, window_most_s=0.1)
    readers = [Reader(stream, loop) for _ in range(3)]
    for number in range(50):
        stream.take([item(f"{number % 7}-{number}")], f"publisher {number % 7}")
        loop.advance(0.03)
    loop.advance(1)
    numbers = [entry.number for batch in readers[0].batches for entry in batch.entries]
    assert numbers == list(range(1, 51))
    assert readers[0].heard == readers[1].heard == readers[2].heard == readers[0].heard_now
    assert readers[0].batches[-1] is readers[2].batches[-1]


def test_what_has_come_back_is_a_loop(loop):
    """It bears the stream's own id; it is dropped and counted, and what came with it is taken."""
    stream = stream_of(loop)
    reader = Reader(stream, loop)
    receipt = stream.take([item("e1", aggregator_ids=("a", "stream-1", "b")), item("e2")], "relay")
    loop.settle()
    assert receipt == (1, 0, 1, 1)
    assert reader.heard == ["e2"]
    assert stream.counts.loops == 1


@pytest.mark.parametrize("name", [TEST_CONNECTION, SOURCE_STARTED, SOURCE_FINISHED])
def test_commands_that_publishers_may_send(loop, name):
    """They go to all who read, as items do."""
    stream = stream_of(loop)
    reader = Reader(stream, loop)
    stream.take([command_item(name, "c1", "src-1")], "us")
    loop.settle()
    assert reader.heard == ["c1"]
    assert (stream.history.entry("c1") is None) == (name == TEST_CONNECTION)


def test_no_publisher_ends_a_stream(loop):
    """Weakness 12: nothing of the whole request is taken."""
    stream = stream_of(loop)
    with pytest.raises(Forbidden, match="Stream-Finished is not for publishers"):
        stream.take([item("e1"), command_item(STREAM_FINISHED, "c1", "src-1")], "us")
    assert len(stream.history) == 0
    assert stream.counts.taken == 0


def test_what_can_not_be_kept_is_not_taken(loop):
    """Nobody hears of it, and it may be sent again."""

    class Full(History):
        def add(self, _):
            raise StoreError("there is no room")

    stream = stream_of(loop, history=Full("events", StreamConfig(), loop.wall))
    reader = Reader(stream, loop)
    with pytest.raises(StoreError):
        stream.take([item("e1")], "us")
    loop.settle()
    assert reader.heard == []
    assert (stream.counts.taken, stream.history.last) == (0, 0)


def test_a_sign_of_life_after_silence(loop):
    """To all who read, again and again; it is not kept, and what follows has the next number."""
    stream = stream_of(loop, silence_s=60.0)
    reader = Reader(stream, loop)
    loop.advance(30)
    stream.take([item("e1")], "us")
    loop.advance(59)
    assert reader.heard == ["e1"]
    loop.advance(62)
    signs = [batch.entries[0] for batch in reader.batches[1:]]
    assert [sign.item.command for sign in signs] == [TEST_CONNECTION] * 2
    assert signs[0].item.event_id != signs[1].item.event_id
    assert encode_item(signs[0].item).startswith(b"Event-Id: ")
    assert b"\r\nSource-Id: \r\nSyntax: ztreamy-command\r\nTimestamp: 2026-" in encode_item(signs[0].item)
    assert encode_item(signs[0].item).endswith(b"\r\nBody-Length: 15\r\n\r\nTest-Connection")
    assert len(reader.now) == 3
    assert ids(stream.history) == ["e1"]
    stream.take([item("e2")], "us")
    loop.settle()
    assert reader.batches[-1].first == 4


def test_a_sign_of_life_names_the_item_before_it(loop):
    """Where a client that saw it last goes on from at another relay, which does not know it."""
    stream, other = stream_of(loop, silence_s=60.0), stream_of(loop)
    reader = Reader(stream, loop)
    for each in (stream, other):
        each.take([item("e1"), item("e2")], "us")
    loop.advance(61)
    other.take([item("e3")], "us")
    (sign,) = reader.batches[-1].entries
    assert sign.item.event_id.startswith("alive:")
    assert ids(other.history.after(sign.item.event_id)) == ["e3"]
    assert ids(stream.history.after(sign.item.event_id)) == []


def test_who_has_lost_the_others_gives_no_sign_of_life(loop):
    """So who follows goes to one that has them; once they are back, so is the sign, soon."""
    stream = stream_of(loop, silence_s=60.0)
    there = True
    stream.is_there = lambda: there
    reader = Reader(stream, loop)
    loop.advance(61)
    assert len(reader.batches) == len(reader.now) == 1
    there = False
    loop.advance(600)
    assert len(reader.batches) == len(reader.now) == 1
    assert stream.sign_of_life_s == 61, "whoever comes is promised one, and finds out"
    there = True
    loop.advance(1)
    assert len(reader.batches) == len(reader.now) == 2
    loop.advance(59)
    assert len(reader.batches) == 2


def test_who_has_lost_the_others_for_long_is_absent(loop, caplog):
    """Once three signs of life more are due than were given; not where there is no sign, or the others are there again."""
    streams = [stream_of(loop, silence_s=silence_s) for silence_s in (10.0, 0.0)]
    stream, silent = streams
    there = False
    for each in streams:
        each.is_there = lambda: there
    stream.take([item("e1")], "us")
    loop.advance(39)
    assert not stream.absent
    loop.advance(2)
    assert (stream.absent, silent.absent) == (True, False)
    assert [record.getMessage() for record in caplog.records] == [
        "! events is not reached by the others, and gives no signs of life"
    ]
    there = True
    assert not stream.absent, "at once"
    loop.advance(1)
    there = False
    loop.advance(39)
    assert not stream.absent, "it is counted from the next sign of life that was due"
    loop.advance(2)
    assert stream.absent


def test_another_item_of_an_id_that_is_there_is_told(loop, caplog):
    """It is not taken, whoever has the id first; a figure counts each, and the log has a line a minute."""
    stream = stream_of(loop)
    assert stream.take([item("e1"), item("e1"), item("e1", b"<x> <y> <z> .")], "us") == (1, 2, 0, 1)
    for _ in range(3):
        assert stream.take([item("e1"), item("e1", b"<x> <y> <z> .")], "them") == (0, 2, 0, 0)
    assert (stream.counts.duplicates, stream.counts.conflicts) == (8, 4)
    assert [record.getMessage() for record in caplog.records] == [
        "! events has another item of the id e1, now sent by us"
    ]
    loop.advance(60)
    stream.take([item("e1", b"")], "them")
    assert len(caplog.records) == 2


def test_no_sign_of_life_where_nobody_listens_or_none_is_wanted(loop):
    """Nothing is made for nobody."""
    alone = stream_of(loop, silence_s=60.0)
    never = stream_of(loop, silence_s=0.0)
    reader = Reader(never, loop)
    loop.advance(1000)
    assert alone.history.last == never.history.last == 0
    assert reader.heard == []


def test_an_item_in_a_long_window_is_no_silence(loop):
    """A sign of life does not overtake what waits."""
    stream = stream_of(loop, window_s=100.0, window_most_s=100.0, silence_s=60.0)
    reader = Reader(stream, loop)
    stream.take([item("e1")], "us")
    loop.advance(50)
    stream.take([item("e2")], "us")
    loop.advance(51)
    assert reader.heard == ["e1", "e2"]


def test_who_does_not_listen_any_more_hears_nothing(loop):
    """In whatever window it goes."""
    stream = stream_of(loop)
    reader = Reader(stream, loop)
    stream.take([item("e1")], "us")
    for end in reader.ends:
        end()
    loop.settle()
    stream.close()
    assert reader.heard == reader.heard_now == []
    assert reader.closed == 0


def test_the_end_of_a_stream(loop):
    """What waits is sent, those that listen are told once, and nothing is taken any more."""
    stream = stream_of(loop, window_s=5.0, window_most_s=5.0, silence_s=60.0)
    reader = Reader(stream, loop)
    stream.take([item("e1")], "us")
    loop.settle()
    stream.take([item("e2")], "us")
    stream.close()
    stream.close()
    assert reader.heard == reader.heard_now == ["e1", "e2"]
    assert reader.closed == 1
    with pytest.raises(ShuttingDown, match="events has ended"):
        stream.take([item("e3")], "us")
    loop.advance(1000)
    assert reader.heard == ["e1", "e2"]


def test_counters(loop):
    """For the metrics."""
    stream = stream_of(loop)
    for number in range(3):
        stream.take([item(f"e{number}"), item(f"f{number}")], "us")
        loop.settle()
    assert (stream.counts.taken, stream.counts.batches) == (6, 3)


def test_a_stream_that_keeps_its_history(loop, tmp_path):
    """After a restart it has the same id, and its numbers go on; duplicates are still known."""
    config = StreamConfig(keep=True)
    stream = open_stream("events", config, loop, folder=tmp_path)
    stream.take([item("e1"), item("e2")], "us")
    stream.close()
    again = open_stream("events", config, loop, folder=tmp_path)
    assert again.source_id == stream.source_id
    assert again.sent == 2
    assert again.take([item("e2"), item("e3")], "us") == (1, 1, 0, 3)
    assert again.history.after("e1")[0].item.aggregator_ids == (stream.source_id,)
    again.close()
    assert [each.name for each in tmp_path.iterdir()] == ["events.items"]


def test_a_stream_that_keeps_nothing(loop, tmp_path):
    """Each start is a new stream: another id, or the one that is set."""
    first = open_stream("events", StreamConfig(), loop, folder=tmp_path)
    second = open_stream("events", StreamConfig(), loop)
    assert first.source_id != second.source_id
    assert open_stream("events", StreamConfig(source_id="mine"), loop).source_id == "mine"
    assert not [*tmp_path.iterdir()]
    for stream in (first, second):
        stream.close()


async def test_on_a_real_event_loop():
    """Batches come by themselves, a window apart."""
    running = asyncio.get_running_loop()
    stream = open_stream("events", StreamConfig(window_s=0.2, window_most_s=0.2), running)
    reader = Reader(stream, running)
    await stream.publish([item("e1")], "us")
    await asyncio.sleep(0.001)
    for event_id in ("e2", "e3", "e4"):
        await stream.publish([item(event_id)], "us")
    second = asyncio.Event()
    stream.listen(lambda _: second.set())
    await asyncio.wait_for(second.wait(), 5)
    assert [ids(batch) for batch in reader.batches] == [["e1"], ["e2", "e3", "e4"]]
    assert reader.times[2] - reader.times[1] >= 0.19
    stream.close()
