"""A subscriber's bounded queue, without a network."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import pytest
from pyoxigraph import Literal
from support.counting import counting

from triplewire.broker import meters
from triplewire.broker.config import LimitsConfig
from triplewire.broker.model import BindingsDelta, Failure, Notification, Unsubscribed
from triplewire.broker.wire import results
from triplewire.gates import encoding as module
from triplewire.gates.encoding import ROWS_ENCODED_HERE
from triplewire.gates.line import ROW_BYTES
from triplewire.gates.outbox import BATCH_BYTES, Outbox, SlowSubscriber, TakenOver

SPUID = "sepa://subscription/1"


def delta_of(rows: int) -> BindingsDelta:
    return BindingsDelta(("x",), Counter((Literal(number),) for number in range(rows)), Counter())


def notification(sequence: int, delta: BindingsDelta | None = None, spuid: str = SPUID) -> Notification:
    return Notification(spuid, None, sequence, delta or delta_of(1))


def step(sequence: int, spuid: str = SPUID) -> Notification:
    """One value is replaced by the next."""
    came, went = Counter([(Literal(sequence),)]), Counter([(Literal(sequence - 1),)])
    return Notification(spuid, None, sequence, BindingsDelta(("x",), came, went))


async def sent_by(outbox: Outbox, together: list[int] | None = None) -> list[tuple[object, bytes]]:
    """All that the outbox sends until it is finished; `together` takes how many leave at once."""
    sent: list[tuple[object, bytes]] = []

    async def send(batch):
        await asyncio.sleep(0)
        sent.extend(batch)
        if together is not None:
            together.append(len(batch))

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


async def test_what_waits_is_sent_together():
    """As much as one write is worth, and no more."""
    outbox, together = Outbox(LimitsConfig()), []
    for sequence in range(900):
        outbox.put(notification(sequence))
    outbox.finish()
    sent = await sent_by(outbox, together)

    longest = max(len(text) for _, text in sent)
    assert len(sent) == 900
    assert 1 < len(together) < 20
    assert all(count * longest < BATCH_BYTES + 2 * longest for count in together)


async def test_a_sender_that_needs_no_waiting_is_not_waited_for():
    """It returns nothing; the outbox still lets others go on."""
    outbox, sent, turns = Outbox(LimitsConfig()), [], []
    for sequence in range(900):
        outbox.put(notification(sequence))
    outbox.finish()

    async def others():
        while True:
            turns.append(len(sent))
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    await outbox.run(sent.extend)
    task.cancel()
    assert len(sent) == 900
    assert len(set(turns)) > 2


async def test_over_the_first_bound_changes_are_put_together():
    """One notification for what came meanwhile; its number is the next."""
    outbox = Outbox(LimitsConfig(outbox_messages=3))
    for sequence in range(100):
        outbox.put(step(sequence))
    outbox.finish()

    assert len(outbox) == 4
    sent = [message for message, _ in await sent_by(outbox)]
    assert [message.sequence for message in sent] == [0, 1, 2, 3]
    assert sent[3].delta == BindingsDelta(("x",), Counter([(Literal(99),)]), Counter([(Literal(2),)]))


async def test_what_cancels_is_not_sent_and_takes_no_number():
    """A value that came and went while nobody read."""
    outbox = Outbox(LimitsConfig(outbox_messages=1))
    outbox.put(notification(0, delta_of(0)))
    came = delta_of(1)
    outbox.put(notification(1, came))
    outbox.put(notification(2, BindingsDelta(came.vars, came.removed, came.added)))
    running = asyncio.create_task(sent_by(outbox))
    await asyncio.sleep(0.01)
    outbox.put(notification(3))
    outbox.finish()

    assert [message.sequence for message, _ in await running] == [0, 1]


async def test_composing_goes_on_until_all_has_been_read():
    """Then each change is a notification again, and the numbers go on."""
    outbox = Outbox(LimitsConfig(outbox_messages=2))
    gate = asyncio.Semaphore(0)
    sent = []

    async def send(batch):
        await gate.acquire()
        sent.extend(batch)

    running = asyncio.create_task(outbox.run(send))
    for sequence in range(1, 11):
        outbox.put(step(sequence))
    await asyncio.sleep(0)
    for sequence in range(11, 21):
        outbox.put(step(sequence))
        await asyncio.sleep(0)
    gate.release()
    gate.release()
    await asyncio.sleep(0.02)
    assert len(sent) == 4
    outbox.put(step(21))
    outbox.put(step(22))
    outbox.finish()
    gate.release()
    await running

    assert [message.sequence for message, _ in sent] == [1, 2, 3, 4, 5, 6]
    assert [len(message.delta.added) for message, _ in sent] == [1] * 6
    assert [next(iter(message.delta.added))[0].value for message, _ in sent] == [
        "1",
        "2",
        "10",
        "20",
        "21",
        "22",
    ]


async def test_first_results_are_never_put_together_with_changes():
    """They answer the subscribe, however full the outbox is."""
    outbox = Outbox(LimitsConfig(outbox_messages=1))
    outbox.put(step(1))
    for spuid in "ab":
        outbox.put(notification(0, delta_of(1), spuid))
        outbox.put(step(1, spuid))
        outbox.put(step(2, spuid))
    outbox.finish()

    sent = [(message.spuid, message.sequence) for message, _ in await sent_by(outbox)]
    assert sent == [(SPUID, 1), ("a", 0), ("a", 1), ("b", 0), ("b", 1)]


async def test_an_end_keeps_its_place_behind_the_changes():
    """`unsubscribed` and an error come after all of their subscription; nothing of it comes after them."""
    outbox = Outbox(LimitsConfig(outbox_messages=1))
    for sequence in range(3):
        for spuid in "ab":
            outbox.put(step(sequence, spuid))
    outbox.put(Unsubscribed("a"))
    outbox.put(Failure("broken", 500, "no", spuid="b"))
    outbox.finish()

    sent = [message for message, _ in await sent_by(outbox)]
    assert sent.index(Unsubscribed("a")) > max(
        place
        for place, message in enumerate(sent)
        if isinstance(message, Notification) and message.spuid == "a"
    )
    assert sent[-1] == Failure("broken", 500, "no", spuid="b")


async def test_other_variables_are_not_put_together():
    """An endpoint that is not ours may change its mind about `SELECT *`."""
    outbox = Outbox(LimitsConfig(outbox_messages=1))
    outbox.put(step(1))
    outbox.put(step(2))
    outbox.put(Notification(SPUID, None, 3, BindingsDelta(("y", "x"), Counter([(None, None)]), Counter())))
    outbox.finish()

    assert [(one.sequence, one.delta.vars) for one, _ in await sent_by(outbox)] == [
        (1, ("x",)),
        (2, ("x",)),
        (3, ("y", "x")),
    ]


async def test_more_bytes_than_the_first_bound_are_put_together():
    """Rows that are not encoded yet are counted by a rough size, encoded ones by their own."""
    outbox = Outbox(LimitsConfig(outbox_bytes=ROW_BYTES * 10))
    encoded = delta_of(1)
    encoded.encoded.append(b"x" * (ROW_BYTES * 5))
    outbox.put(notification(0, delta_of(2)))
    outbox.put(notification(1, encoded))
    outbox.put(step(2))
    outbox.put(step(3))
    outbox.put(step(4))
    outbox.finish()

    assert [message.sequence for message, _ in await sent_by(outbox)] == [0, 1, 2]


async def test_more_bytes_than_the_last_bound_make_it_slow():
    """The queue is let go of at once, and its memory with it."""
    outbox = Outbox(LimitsConfig(outbox_messages=2, outbox_composed_bytes=ROW_BYTES * 100))
    for sequence in range(1, 50):
        outbox.put(notification(sequence, BindingsDelta(("x",), Counter([(Literal(sequence),)]), Counter())))
    assert len(outbox) == 3
    for sequence in range(50, 150):
        outbox.put(notification(sequence, BindingsDelta(("x",), Counter([(Literal(sequence),)]), Counter())))

    assert len(outbox) == 0
    assert outbox.lose() == frozenset()
    with pytest.raises(SlowSubscriber, match=f"{ROW_BYTES * 100} bytes"):
        await sent_by(outbox)


async def test_what_can_not_be_put_together_is_bounded_too():
    """Answers to a client that asks and does not read."""
    outbox = Outbox(LimitsConfig(outbox_messages=2, outbox_composed_bytes=ROW_BYTES * 20))
    for _ in range(30):
        outbox.put(Failure("unsupported", 400, "no"))

    assert len(outbox) == 0
    with pytest.raises(SlowSubscriber):
        await sent_by(outbox)


async def test_first_results_larger_than_the_bounds_pass():
    """One message may be as large as its answer; the bounds are on what piles up behind it."""
    outbox = Outbox(LimitsConfig(outbox_bytes=1000, outbox_composed_bytes=2000))
    outbox.put(notification(0, delta_of(2000)))
    outbox.finish()

    [(_, text)] = await sent_by(outbox)
    assert text.count(b'"literal"') == 2000


async def test_bytes_that_were_sent_make_room_again():
    """The bounds are on what waits, not on what passes."""
    outbox = Outbox(LimitsConfig(outbox_bytes=ROW_BYTES * 4, outbox_composed_bytes=ROW_BYTES * 8))
    sent = asyncio.Queue()

    async def send(batch):
        for message, _ in batch:
            await sent.put(message)

    running = asyncio.create_task(outbox.run(send))
    for sequence in range(20):
        outbox.put(notification(sequence, delta_of(2)))
        assert (await sent.get()).sequence == sequence
    outbox.finish()

    await running
    assert outbox._bytes == 0


async def test_the_count_of_bytes_is_right_after_composing():
    """What is put together shrinks and grows; when all has left, nothing is counted."""
    outbox = Outbox(LimitsConfig(outbox_messages=1))
    for sequence in range(30):
        outbox.put(step(sequence))
        outbox.put(notification(sequence + 1, delta_of(sequence % 7), "other"))
    outbox.finish()
    await sent_by(outbox)

    assert outbox._bytes == 0


async def test_a_send_that_takes_too_long_makes_it_slow():
    """A peer that takes no byte holds its own messages only, and not for ever."""
    outbox = Outbox(LimitsConfig(send_s=0.01))
    outbox.put(notification(0))

    async def never(batch):
        await asyncio.Event().wait()

    with pytest.raises(SlowSubscriber, match=r"0\.01 s"):
        await outbox.run(never)


@pytest.fixture
def encodings(monkeypatch):
    """How often rows were encoded: twice for a delta, once for each side."""
    calls = []
    encode_rows = results.encode_rows
    monkeypatch.setattr(
        results, "encode_rows", lambda *arguments: (calls.append(1), encode_rows(*arguments))[1]
    )
    return calls


@pytest.mark.parametrize("rows", [3, 5 * ROWS_ENCODED_HERE])
async def test_a_delta_is_encoded_once_for_all_subscribers(encodings, rows):
    """Each text is spliced around the same bytes; also where many writers come to a large one at the same time."""
    delta = delta_of(rows)
    outboxes = [Outbox(LimitsConfig()) for _ in range(50)]
    for number, outbox in enumerate(outboxes):
        outbox.put(Notification(f"sepa://subscription/{number}", None, 7, delta))
        outbox.finish()
    sent = await asyncio.gather(*map(sent_by, outboxes))

    assert len(encodings) == 2
    assert len(delta.encoded) == 1
    assert all(delta.encoded[0] in text for [(_, text)] in sent)
    assert len({text for [(_, text)] in sent}) == 50
    assert module._encoding == {}


async def test_composing_one_change_keeps_what_is_shared(encodings):
    """Ten thousand subscriptions of a full outbox that hear one change are still one encoding."""
    outbox, delta = Outbox(LimitsConfig(outbox_messages=1)), delta_of(1)
    for number in range(100):
        outbox.put(notification(1, delta, f"sepa://subscription/{number}"))
    outbox.finish()

    assert len(await sent_by(outbox)) == 100
    assert len(encodings) == 2


# --- lost connections -----------------------------------------------------------------------------------------------


async def sent_until_idle(outbox: Outbox) -> list[Notification]:
    """What leaves now."""
    sent = []
    running = asyncio.create_task(outbox.run(sent.extend))
    await asyncio.sleep(0.01)
    running.cancel()
    return [message for message, _ in sent]


def numbers(bag):
    return sorted(int(row[0].value) for row in bag.elements())


async def test_a_lost_connection_hands_over_what_its_client_missed():
    """What had left and was not seen, what waited, and what came after, as one change."""
    outbox = Outbox(LimitsConfig())
    outbox.begin(notification(0, delta_of(0)))
    outbox.put(step(1))
    outbox.put(step(2))
    await sent_until_idle(outbox)
    outbox.put(step(3))

    assert outbox.lose() == {SPUID}
    outbox.put(step(4))
    assert [outbox.reaches(SPUID, sequence) for sequence in range(-1, 4)] == [False, True, True, True, False]
    change = outbox.hand_over(SPUID, 1)
    assert (numbers(change.added), numbers(change.removed)) == ([4], [1])
    assert outbox.hand_over(SPUID, 1) is None


async def test_whoever_missed_nothing_is_handed_an_empty_change():
    """It has the answer's variables."""
    outbox = Outbox(LimitsConfig())
    outbox.begin(notification(0))
    await sent_until_idle(outbox)
    outbox.lose()

    assert outbox.hand_over(SPUID, 0) == BindingsDelta(("x",), Counter(), Counter())


async def test_only_what_can_be_resumed_is_kept():
    """Not what its client did not ask to resume, nor what it does not know, nor what has ended."""
    outbox = Outbox(LimitsConfig())
    outbox.put(notification(0, spuid="plain"))
    outbox.begin(notification(0, spuid="ended"))
    outbox.begin(notification(0, spuid="mine"))
    outbox.put(Unsubscribed("ended"))
    await sent_until_idle(outbox)
    outbox.begin(notification(0, spuid="unknown"))

    assert outbox.lose() == {"mine"}
    outbox.put(step(1, "plain"))
    assert outbox._bytes == 0
    outbox.put(Failure("broken", 500, "no", spuid="mine"))
    assert not outbox.reaches("mine", 0)


@pytest.mark.parametrize("bound", [{"resume_messages": 5}, {"resume_rows": 10}])
async def test_the_log_reaches_back_as_far_as_its_bound(bound):
    """Over all subscriptions of the connection: what was lost on the way is the end of what was sent."""
    outbox = Outbox(LimitsConfig(**bound))
    for spuid in "ab":
        outbox.begin(notification(0, delta_of(0), spuid))
    for sequence in range(1, 10):
        outbox.put(step(sequence, "a"))
    outbox.put(step(1, "b"))
    await sent_until_idle(outbox)
    outbox.lose()

    assert [outbox.reaches("a", sequence) for sequence in (4, 5, 9)] == [False, True, True]
    assert outbox.reaches("b", 0)


async def test_an_ended_subscription_takes_no_room_in_the_log():
    """Its changes are let go of."""
    outbox = Outbox(LimitsConfig())
    outbox.begin(notification(0))
    outbox.put(step(1))
    await sent_until_idle(outbox)
    assert outbox._logged_rows == 2
    outbox.put(Unsubscribed(SPUID))

    assert outbox._logged_rows == 0
    assert outbox.lose() == frozenset()


async def test_what_is_missed_is_bounded():
    """Over the last bound the lost connection keeps nothing; its client begins anew."""
    outbox = Outbox(LimitsConfig(outbox_composed_bytes=ROW_BYTES * 50))
    outbox.begin(notification(0, delta_of(0)))
    await sent_until_idle(outbox)
    outbox.lose()
    outbox.put(notification(1, delta_of(40)))
    assert outbox.reaches(SPUID, 0)
    outbox.put(
        notification(2, BindingsDelta(("x",), Counter((Literal(-n),) for n in range(1, 20)), Counter()))
    )

    assert not outbox.reaches(SPUID, 0)
    assert outbox.hand_over(SPUID, 0) is None


async def test_a_change_over_other_variables_can_not_be_resumed():
    """It does not add up with those before."""
    outbox = Outbox(LimitsConfig())
    outbox.begin(notification(0))
    await sent_until_idle(outbox)
    outbox.lose()
    outbox.put(Notification(SPUID, None, 1, BindingsDelta(("y",), Counter([(None,)]), Counter())))

    assert not outbox.reaches(SPUID, 0)


async def test_who_is_taken_over_stops_at_once():
    """Also in the middle of a send that would take a minute."""
    outbox = Outbox(LimitsConfig())
    outbox.begin(notification(0))

    async def never(batch):
        await asyncio.Event().wait()

    running = asyncio.create_task(outbox.run(never))
    await asyncio.sleep(0.01)
    outbox.lose()
    with pytest.raises(TakenOver):
        await asyncio.wait_for(running, 1)
    with pytest.raises(TakenOver):
        await outbox.run(never)


async def test_a_resumed_subscription_goes_on_with_its_number():
    """Whatever the core counts."""
    outbox = Outbox(LimitsConfig())
    outbox.begin(notification(8, delta_of(0)))
    outbox.put(step(40))
    outbox.put(step(41))
    outbox.finish()

    sent = await sent_by(outbox)
    assert [message.sequence for message, _ in sent] == [8, 9, 10]
    assert [json.loads(text)["notification"]["sequence"] for _, text in sent] == [8, 9, 10]


async def test_who_does_not_read_is_counted():
    """Once when its changes are put together from here on, once when it is closed."""
    outbox = Outbox(LimitsConfig(outbox_messages=2, outbox_composed_bytes=10 * ROW_BYTES))
    with counting(composed=meters.COMPOSED, closed=meters.CLOSED) as counted:
        for sequence in range(1, 6):
            outbox.put(step(sequence))
    assert counted == {"composed": 1, "closed": 0}
    with counting(composed=meters.COMPOSED, closed=meters.CLOSED) as counted:
        outbox.put(notification(6, delta_of(100)))
        with pytest.raises(SlowSubscriber):
            await sent_by(outbox)
    assert counted == {"composed": 0, "closed": 1}
