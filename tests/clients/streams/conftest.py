from __future__ import annotations

import pytest
from support.fake_stream import FakeStream

from triplewire.clients.streams import Item, StreamSettings


@pytest.fixture
def stream():
    with FakeStream() as server:
        yield server


@pytest.fixture
def quick():
    """Settings with which nothing is waited for."""
    return StreamSettings(
        timeout_s=5, backoff_first_s=0.001, backoff_longest_s=0.01, retry_after_max_s=0.01, buffering_s=0.001
    )


@pytest.fixture
def item():
    """Makes items by their number."""

    def made(number: int, **fields) -> Item:
        return Item(f"e{number}", "s", "text/plain", f"body {number}".encode(), **fields)

    return made
