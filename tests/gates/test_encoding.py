"""Encoding on a thread."""

from __future__ import annotations

import asyncio
from collections import Counter

from pyoxigraph import Literal

from triplewire.broker.model import BindingsDelta
from triplewire.gates import encoding


def rows(count):
    return BindingsDelta(("x",), Counter((Literal(number),) for number in range(count)), Counter())


async def test_many_who_wait_for_one_change_have_it_encoded_once(monkeypatch):
    """And it is not kept by the module."""
    calls = []
    encode = encoding.encode_delta
    monkeypatch.setattr(encoding, "encode_delta", lambda delta: (calls.append(1), encode(delta))[1])
    delta = rows(2000)
    await asyncio.gather(*(encoding.encoded(delta) for _ in range(20)))

    assert calls == [1]
    assert len(delta.encoded) == 1
    assert encoding._encoding == {}


async def test_what_is_large():
    """More rows than others should wait for, and only until it is encoded."""
    delta = rows(encoding.ROWS_ENCODED_HERE + 1)
    assert encoding.is_large(delta)
    assert not encoding.is_large(rows(encoding.ROWS_ENCODED_HERE))
    await encoding.encoded(delta)

    assert not encoding.is_large(delta)
