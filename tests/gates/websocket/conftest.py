"""Both ports speak the Secure Event Protocol: each test of it runs on each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.subscriber import Subscriber

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.running import RunningBroker
    from support.sparql import Sparql


@pytest.fixture(scope="module", params=["websocket-port", "http-port"])
def url(request: pytest.FixtureRequest, broker: RunningBroker) -> str:
    """Where to subscribe."""
    if request.param == "websocket-port":
        return broker.ws
    return f"{broker.http.replace('http', 'ws', 1)}/subscribe"


@pytest.fixture
def subscriber(url: str, sparql: Sparql) -> Iterator[Subscriber]:
    """A connection to an empty broker."""
    sparql.update("DROP ALL")
    with Subscriber(url) as client:
        yield client
    sparql.wait_for_health(subscriptions=0, sockets=0)
