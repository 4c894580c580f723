"""Fixtures for the tests that drive other people's programs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.running import RunningBroker


@pytest.fixture
def health(broker: RunningBroker) -> Callable[[str, int], None]:
    """Waits until a counter of the broker's health document has a value."""

    def wait(counter: str, value: int) -> None:
        deadline = time.monotonic() + 10
        while (now := httpx.get(f"{broker.http}/health").json())[counter] != value:
            assert time.monotonic() < deadline, f"{counter} should become {value}: {now}"
            time.sleep(0.02)

    return wait


@pytest.fixture(scope="module")
def jsap(broker: RunningBroker) -> dict[str, object]:
    """The protocol members of a JSAP for the running broker, on ports that are nobody's default."""
    http, ws = urlsplit(broker.http), urlsplit(broker.ws)
    return {
        "host": http.hostname,
        "oauth": {"enable": False, "register": "", "tokenRequest": ""},
        "sparql11protocol": {
            "protocol": "http",
            "port": http.port,
            "query": {"path": "/query", "method": "POST", "format": "JSON"},
            "update": {"path": "/update", "method": "POST", "format": "JSON"},
        },
        "sparql11seprotocol": {
            "protocol": "ws",
            "reconnect": False,
            "availableProtocols": {"ws": {"port": ws.port, "path": ws.path}},
        },
    }
