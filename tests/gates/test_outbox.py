"""A subscriber's bounded queue, without a network."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from pyoxigraph import Literal

from triplewire.broker.config import LimitsConfig
from triplewire.broker.model import BindingsDelta, Failure, Notification, Unsubscribed
from triplewire.gates import outbox as module
from triplewire.gates.outbox import ROW_BYTES, ROWS_ENCODED_HERE, Outbox, SlowSubscriber, utf8


def delta_of(rows: int) -> BindingsDelta:
    return BindingsDelta(("x",), Counter((Literal(number),) for number in range(rows)), Counter())


def notification(sequence: int, delta: BindingsDelta | None = None) -> Notification:
    return Notification("sepa://subscription/1", None, sequence, delta or delta_of(1))


async def sent_by(outbox: Outbox) -> list[tuple[object, str]]:
    """All that the outbox sends until it is finished."""
    sent: list[tuple[object, str]] = []

    async def send(message, text):
        await asyncio.sleep(0)
        sent.append((message, text))

    await outbox.run(send)
    return sent


async def test_messages_leave_in_the_order_they_came():
    """Large ones, which are encoded on a thread, do not let small ones pass."""
    outbox = Outbox(LimitsConfig())
    messages = [
        notification(0, delta_of(ROWS_ENCODED_HERE + 1)),
        Unsubscribed("sepa://subscription/2"),
        notification(1),
        Failure("unsupported", 400, "no"),
        notification(2, delta_of(ROWS_ENCODED_HERE + 1)),
    ]
    for message in messages:
        outbox.put(message)
    outbox.finish()

    assert [message for message, _ in await sent_by(outbox)] == messages


async def test_what_comes_while_sending_is_sent_too():
    """The writer task goes on for as long as the connection lives."""
    outbox = Outbox(LimitsConfig())
    running = asyncio.create_task(sent_by(outbox))
    for sequence in range(3):
        outbox.put(notification(sequence))
        await asyncio.sleep(0.001)
    outbox.finish()

    assert [message.sequence for message, _ in await running] == [0, 1, 2]


async def test_what_is_queued_is_sent_before_the_end():
    """`finish` takes nothing more and loses nothing."""
    outbox = Outbox(LimitsConfig())
    outbox.put(notification(0))
    outbox.finish()
    outbox.put(notification(1))

    assert [message.sequence for message, _ in await sent_by(outbox)] == [0]


async def test_more_messages_than_the_bound_make_it_slow():
    """The queue is let go of at once, and its memory with it."""
    outbox = Outbox(LimitsConfig(outbox_messages=3))
    for sequence in range(3):
        outbox.put(notification(sequence))

    assert len(outbox) == 3
    outbox.put(notification(3))
    outbox.put(notification(4))
    assert len(outbox) == 0
    with pytest.raises(SlowSubscriber, match="3 messages"):
        await sent_by(outbox)


async def test_more_bytes_than_the_bound_make_it_slow():
    """Rows that are not encoded yet are counted by a rough size, encoded ones by their own."""
    outbox = Outbox(LimitsConfig(outbox_bytes=ROW_BYTES * 10))
    outbox.put(notification(0, delta_of(5)))
    outbox.put(notification(1, delta_of(3)))
    outbox.put(notification(2, delta_of(5)))

    with pytest.raises(SlowSubscriber, match=f"{ROW_BYTES * 10} bytes"):
        await sent_by(outbox)


async def test_an_encoded_delta_counts_by_its_length():
    """What another subscriber's message was encoded to is known to the byte."""
    delta = delta_of(1)
    delta.encoded.append("x" * 5000)
    outbox = Outbox(LimitsConfig(outbox_bytes=6000))
    outbox.put(notification(0, delta))
    outbox.put(notification(1, delta))

    assert len(outbox) == 0


async def test_first_results_larger_than_the_bound_pass():
    """One message may be as large as its answer; the bound is on what piles up behind it."""
    outbox = Outbox(LimitsConfig(outbox_bytes=1000))
    outbox.put(notification(0, delta_of(2000)))
    outbox.finish()

    [(_, text)] = await sent_by(outbox)
    assert text.count('"literal"') == 2000


async def test_bytes_that_were_sent_make_room_again():
    """The bound is on what waits, not on what passes."""
    outbox = Outbox(LimitsConfig(outbox_bytes=ROW_BYTES * 4))
    sent = asyncio.Queue()
    running = asyncio.create_task(outbox.run(lambda message, _: sent.put(message)))
    for sequence in range(20):
        outbox.put(notification(sequence, delta_of(2)))
        assert (await sent.get()).sequence == sequence
    outbox.finish()

    await running


async def test_a_send_that_takes_too_long_makes_it_slow():
    """A peer that takes no byte holds its own messages only, and not for ever."""
    outbox = Outbox(LimitsConfig(send_s=0.01))
    outbox.put(notification(0))

    async def never(message, text):
        await asyncio.Event().wait()

    with pytest.raises(SlowSubscriber, match=r"0\.01 s"):
        await outbox.run(never)


async def test_a_small_delta_is_encoded_once_for_all_subscribers():
    """Each subscriber's text is spliced around the same string object."""
    delta = delta_of(3)
    outboxes = [Outbox(LimitsConfig()) for _ in range(50)]
    for number, outbox in enumerate(outboxes):
        outbox.put(Notification(f"sepa://subscription/{number}", None, 7, delta))
        outbox.finish()
    sent = await asyncio.gather(*map(sent_by, outboxes))

    assert len(delta.encoded) == 1
    assert all(delta.encoded[0] in text for [(_, text)] in sent)
    assert len({text for [(_, text)] in sent}) == 50


async def test_a_large_delta_is_encoded_once_for_all_subscribers():
    """Also when their writers come to it at the same time, on threads."""
    delta = delta_of(5 * ROWS_ENCODED_HERE)
    outboxes = [Outbox(LimitsConfig()) for _ in range(50)]
    for outbox in outboxes:
        outbox.put(notification(1, delta))
        outbox.finish()
    sent = await asyncio.gather(*map(sent_by, outboxes))

    assert len(delta.encoded) == 1
    assert all(delta.encoded[0] in text for [(_, text)] in sent)
    assert module._encoding == {}


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('{"alias":"plain"}', b'{"alias":"plain"}'),
        ('{"alias":"ქართული 😀"}', '{"alias":"ქართული 😀"}'.encode()),
        ('{"alias":"\ud800"}', b'{"alias":"\\ud800"}'),
        ('{"alias":"é\udfffé"}', '{"alias":"é\\udfffé"}'.encode()),
    ],
)
def test_a_lone_surrogate_leaves_as_the_escape_it_came_as(text, data):
    """UTF-8 has no bytes for it, and a client that sent one must know its own alias again."""
    assert utf8(text) == data
