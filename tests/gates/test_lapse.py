"""Waiting for the end of a token."""

from __future__ import annotations

import asyncio
import time

import pytest
from gates.test_leases import Judge, access

from triplewire.broker.rights import OPEN, Scope
from triplewire.broker.security.authority import Nobody
from triplewire.gates.lapse import lapsed


@pytest.mark.parametrize("change", [{"1": None}, {"1": access(2e9, scopes=frozenset({Scope.QUERY}))}])
async def test_it_ends_when_it_is_taken_back(change):
    """The token, or its scope; not before, and not by other changes."""
    judge = Judge()
    waiting = asyncio.create_task(lapsed(judge, access(2e9), Scope.ADMIN))
    await asyncio.sleep(0.01)
    judge.change()
    await asyncio.sleep(0.01)
    assert not waiting.done()
    judge.change(**change)
    await asyncio.wait_for(waiting, 1)

    assert judge.listeners == []


async def test_it_ends_when_the_token_does():
    """By the clock."""
    began = time.time()
    await asyncio.wait_for(lapsed(Judge(), access(began + 0.1), Scope.ADMIN), 5)

    assert time.time() >= began + 0.1


async def test_where_nobody_has_to_say_who_they_are_it_never_ends():
    """Until whoever waits ends it."""
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(lapsed(Nobody(), OPEN, Scope.ADMIN), 0.05)
