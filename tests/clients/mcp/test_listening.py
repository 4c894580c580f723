"""Who hears of a changed resource (the streams of updates are tried with the official client)."""

from __future__ import annotations

from triplewire.clients.mcp.limits import Limits
from triplewire.clients.mcp.listening import Listening


class Session:
    """Of a client of a revision before 2026-07-28."""

    def __init__(self):
        self.heard = []
        self.gone = False

    async def send_resource_updated(self, uri):
        if self.gone:
            raise ConnectionError
        self.heard.append(uri)


async def test_a_session_hears_of_its_resources_until_it_is_removed():
    """And of no others."""
    listening, session = Listening(Limits()), Session()
    listening.add("triplewire://subscriptions/a", session)
    for name in "ab":
        await listening.publish(f"triplewire://subscriptions/{name}", False)
    listening.remove("triplewire://subscriptions/a")
    await listening.publish("triplewire://subscriptions/a", False)
    assert session.heard == ["triplewire://subscriptions/a"]


async def test_that_a_resource_is_gone_is_told_once():
    """And nothing more of it."""
    listening, session = Listening(Limits()), Session()
    listening.add("x", session)
    await listening.publish("x", True)
    await listening.publish("x", False)
    assert session.heard == ["x"]


async def test_a_session_that_is_gone_is_forgotten():
    """It holds up nobody."""
    listening, session = Listening(Limits()), Session()
    listening.add("x", session)
    session.gone = True
    await listening.publish("x", False)
    session.gone = False
    await listening.publish("x", False)
    assert session.heard == []
