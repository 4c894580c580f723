"""What the tests of the gates share: a client of the module's broker, and brokers with settings of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.running import RunningBroker
from support.sparql import Sparql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="module")
def sparql(broker: RunningBroker) -> Iterator[Sparql]:
    """SPARQL over HTTP to the module's broker."""
    with Sparql(broker.http) as client:
        yield client


@pytest.fixture(scope="module")
def broker_with() -> Iterator[Callable[..., RunningBroker]]:
    """Starts brokers with settings of their own (`section.key=value`), which must end well."""
    started: list[RunningBroker] = []

    def start(*settings: str) -> RunningBroker:
        started.append(RunningBroker.start(*(part for setting in settings for part in ("--set", setting))))
        return started[-1]

    yield start
    assert [running.stop() for running in started] == [0] * len(started)
