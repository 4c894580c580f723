"""Brokers for the tests under load: started with the settings that a test needs, ended without a trace of trouble."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.running import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def start() -> Iterator[Callable[..., RunningBroker]]:
    """Starts a broker with `section.key=value` settings; it must end well, without a traceback in its log."""
    brokers: list[RunningBroker] = []

    def starter(*settings: str) -> RunningBroker:
        arguments = [argument for setting in settings for argument in ("--set", setting)]
        brokers.append(RunningBroker.start(*arguments))
        return brokers[-1]

    yield starter
    logs = [broker.log for broker in brokers]
    assert [broker.stop(timeout=30) for broker in brokers] == [0] * len(brokers)
    for log in logs:
        assert "Traceback" not in log, log[-5000:]
        assert " ERROR " not in log, log[-5000:]
