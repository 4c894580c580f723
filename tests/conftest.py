"""Fixtures that many tests share: brokers in processes of their own, and the shared test data where it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.running import RunningBroker, RunningOxigraph

SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(scope="module")
def broker():
    """One broker for the tests of a module; memory store, free ports."""
    running = RunningBroker.start()
    yield running
    assert running.stop() == 0


@pytest.fixture
def fresh_broker():
    """A broker of its own for one test."""
    running = RunningBroker.start()
    yield running
    if running.alive:
        running.stop()


@pytest.fixture(scope="module")
def oxigraph():
    """`oxigraph serve`, an independent SPARQL 1.1 endpoint."""
    running = RunningOxigraph.start()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def shared():
    """The folder of outside test data (W3C suites, JSAP files)."""
    if not SHARED.is_dir():
        pytest.skip("the folder of outside test data is not beside this checkout")
    return SHARED


# Files that take long, and mostly wait: whoever begins with them at the end waits alone.
_LONG = (
    "/stress/",
    "/foreign/",
    "/clients/streams/",
    "_with_broker.py",
    "_equivalence.py",
    "end_to_end",
    "/tests/test_",
)


def pytest_collection_modifyitems(items):
    """Long files first; the order within each stays."""
    items.sort(
        key=lambda item: next(
            (place for place, part in enumerate(_LONG) if part in str(item.path)), len(_LONG)
        )
    )
