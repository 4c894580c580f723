"""What waits for a tracker's keys."""

from __future__ import annotations

import asyncio

from support.overlay import until

from triplewire.gates.relay.messages import Leave
from triplewire.gates.relay.unproven import Unproven


class FakeLink:
    """Is cut, or is told."""

    peer = "x"

    def __init__(self):
        self.is_cut = False

    def cut(self):
        self.is_cut = True

    def handle(self, what):
        what()


async def test_it_is_told_in_its_order_when_the_keys_have_been_asked_for():
    """Once for all that has come meanwhile; and again for what comes later."""
    told, asked, may_learn = [], [], asyncio.Event()

    async def learn():
        asked.append(1)
        await may_learn.wait()

    unproven, a, b = (
        Unproven(learn, lambda link, message: told.append((link, message))),
        FakeLink(),
        FakeLink(),
    )
    some = [(a, Leave("one")), (b, Leave("two")), (a, Leave("three"))]
    for link, message in some:
        unproven.put(link, message)
    await until(lambda: bool(asked))
    assert (unproven.holds(a), unproven.holds(FakeLink()), told) == (True, False, [])
    may_learn.set()
    await until(lambda: told == some)
    assert len(unproven) == 0
    unproven.put(b, Leave("four"))
    await until(lambda: len(told) == 4)
    assert len(asked) == 2


async def test_keys_that_can_not_be_had_hold_up_nothing(caplog):
    """Whatever goes wrong."""
    told = []

    async def learn():
        raise ValueError("a bug")

    unproven = Unproven(learn, lambda _, message: told.append(message))
    for name in ("one", "two"):
        unproven.put(FakeLink(), Leave(name))
        await until(lambda name=name: told[-1:] == [Leave(name)])
    assert "a bug" in caplog.text


async def test_too_much_cuts_its_link():
    """What was said can be said again over another one."""
    unproven, good, bad = Unproven(asyncio.Event().wait, lambda *_: None), FakeLink(), FakeLink()
    unproven.put(good, Leave("one"))
    for _ in range(1_000):
        unproven.put(bad, Leave("two"))
    assert (len(unproven), good.is_cut, bad.is_cut) == (1_000, False, True)
    await unproven.close()
    assert len(unproven) == 0
