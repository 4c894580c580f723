"""What happens to a subscription whose client may not hear it for a while."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

import pytest
from gates.test_outbox import delta_of, notification, sent_by, step

from triplewire.broker.config import LimitsConfig
from triplewire.broker.model import BindingsDelta, Failure, Notification, Unsubscribed
from triplewire.broker.wire.subscribe import Renewed
from triplewire.gates.line import ROW_BYTES
from triplewire.gates.outbox import SlowSubscriber
from triplewire.gates.withholding import WithholdingOutbox

A, B = "sepa://subscription/1", "sepa://subscription/2"


def failure(spuid):
    return Failure("invalid_grant", 401, "run out", None, spuid)


def outbox(**limits):
    return WithholdingOutbox(LimitsConfig(**limits))


def numbers(bag):
    return sorted(int(row[0].value) for row in bag.elements())


async def sent(box):
    """What leaves at once."""
    left = []
    running = asyncio.create_task(box.run(left.extend))
    await asyncio.sleep(0.01)
    running.cancel()
    return [message for message, _ in left]


async def test_what_happens_meanwhile_leaves_as_one_change():
    """With the next number, after another token; others are told as ever."""
    box = outbox()
    box.put(notification(0, spuid=A))
    box.put(notification(0, spuid=B))
    await sent(box)
    box.withhold({A: failure(A)})
    for sequence in (1, 2, 3):
        box.put(step(sequence, A))
    box.put(step(1, B))
    assert await sent(box) == [failure(A), step(1, B)]

    box.release([A])
    (told,) = await sent(box)
    assert (told.spuid, told.sequence) == (A, 1)
    assert (numbers(told.delta.added), numbers(told.delta.removed)) == ([3], [0])
    box.put(step(4, A))
    assert [told.sequence for told in await sent(box)] == [2]
    assert box._bytes == 0


async def test_what_waited_already_is_withheld():
    """First results stay first results, put together with what came after them."""
    box = outbox()
    box.put(notification(0, delta_of(1), A))
    box.put(step(1, A))
    box.withhold({A: failure(A)})
    box.put(step(2, A))
    assert await sent(box) == [failure(A)]

    box.release([A])
    (told,) = await sent(box)
    assert told.sequence == 0
    assert (numbers(told.delta.added), numbers(told.delta.removed)) == ([2], [])


async def test_an_answer_leaves_though_it_is_empty():
    """A client waits for it; a change that has cancelled is not told."""
    box = outbox()
    box.put(notification(0, delta_of(1), A))
    box.put(Notification(A, None, 1, BindingsDelta(("x",), Counter(), delta_of(1).added)))
    box.withhold({A: failure(A)})
    box.release([A])
    assert [(told.sequence, bool(told.delta)) for told in (await sent(box))[1:]] == [(0, False)]

    box.withhold({A: failure(A)})
    box.put(notification(2, delta_of(1), A))
    box.put(Notification(A, None, 3, BindingsDelta(("x",), Counter(), delta_of(1).added)))
    box.release([A])
    assert await sent(box) == [failure(A)]


async def test_numbers_rise_by_one_though_changes_were_put_together_before():
    """Some waited as they were, and then too many."""
    box = outbox(outbox_messages=2)
    box.put(notification(0, spuid=A))
    await sent(box)
    for sequence in range(1, 6):
        box.put(step(sequence, A))
    box.withhold({A: failure(A)})
    box.release([A])
    box.put(step(6, A))

    told = [message for message in await sent(box) if isinstance(message, Notification)]
    assert [one.sequence for one in told] == list(range(1, len(told) + 1))
    assert numbers(told[-1].delta.added) == [6]


async def test_what_comes_after_the_release_does_not_overtake():
    """Every prefix of what is heard is an answer that there was."""
    box = outbox(outbox_messages=3)
    box.put(notification(0, spuid=A))
    await sent(box)
    box.withhold({A: failure(A)})
    box.put(step(1, A))
    box.release([A])
    for sequence in range(2, 9):
        box.put(step(sequence, A))

    rows = delta_of(1).added.copy()
    for message in await sent(box):
        if isinstance(message, Notification):
            assert message.delta.removed <= rows
            rows = message.delta.apply(rows)
    assert numbers(rows) == [8]


async def test_what_is_withheld_is_bounded():
    """Over the last bound its connection is closed, as a slow reader's is."""
    box = outbox(outbox_composed_bytes=ROW_BYTES * 50)
    box.put(notification(0, spuid=A))
    await sent(box)
    box.withhold({A: failure(A)})
    box.put(notification(1, delta_of(60), A))

    with pytest.raises(SlowSubscriber):
        await sent_by(box)


async def test_the_end_of_a_subscription_is_told_though_it_is_withheld():
    """And nothing of it after that."""
    box = outbox()
    box.put(notification(0, spuid=A))
    await sent(box)
    box.withhold({A: failure(A)})
    box.put(step(1, A))
    box.put(Unsubscribed(A))
    box.release([A])

    assert await sent(box) == [failure(A), Unsubscribed(A)]
    assert box._bytes == 0


async def test_of_what_has_ended_here_nothing_more_is_heard():
    """Up to the core's last word of it, which is not told either; then the name is nobody's."""
    box = outbox()
    box.put(notification(0, spuid=A))
    box.put(step(1, A))
    box.drop({A: failure(A)})
    box.put(step(2, A))
    box.put(Unsubscribed(A))
    box.put(notification(0, spuid=B))
    assert await sent(box) == [failure(A), notification(0, spuid=B)]

    box.put(notification(0, spuid=A))
    assert await sent(box) == [notification(0, spuid=A)]


async def test_who_is_lost_while_it_is_withheld_can_come_back():
    """What was withheld is part of what it missed."""
    box = outbox()
    box.begin(notification(0, spuid=A))
    await sent(box)
    box.withhold({A: failure(A)})
    box.put(step(1, A))
    box.finish()  # as an event stream ends
    box.put(step(2, A))
    assert box.lose() == {A}
    box.put(step(3, A))

    change = box.hand_over(A, 0)
    assert (numbers(change.added), numbers(change.removed)) == ([3], [0])


async def test_nothing_leaves_before_it_was_looked_who_may_hear_it():
    """From the moment on that somebody's token runs out; also where encoding took that long."""
    box = outbox()
    looked = []

    def look():
        looked.append(len(box))
        box.until = float("inf")
        box.withhold({A: failure(A)})

    box.expire = look
    box.put(notification(0, delta_of(5000), A))
    box.put(notification(0, spuid=B))
    box.until = time.time() + 0.001

    left = await sent(box)
    await asyncio.sleep(0.2)
    left += await sent(box)
    assert left == [notification(0, spuid=B), failure(A)]
    assert looked == [2]


async def test_other_messages_are_told():
    """They end no subscription."""
    box = outbox()
    box.put(notification(0, spuid=A))
    box.tell(Renewed(5))
    box.put(step(1, A))

    assert await sent(box) == [notification(0, spuid=A), Renewed(5), step(1, A)]
