"""Stores for the tests of the engine."""

from __future__ import annotations

import pytest
from support.cores import Double
from support.scheduling import Running
from support.stores import embedded, fill, remote
from support.stub_endpoint import Stub

from triplewire.broker.config import LimitsConfig
from triplewire.broker.core import Core
from triplewire.broker.subscriptions import Subscriptions


@pytest.fixture(params=["memory", "journal", "disk", "memory-process", "disk-process", "endpoint"])
def any_store(request, tmp_path):
    """A store of each kind, with a few triples in three graphs."""
    if request.param == "endpoint":
        oxigraph = request.getfixturevalue("oxigraph")
        store = remote(oxigraph.query, oxigraph.update)
    else:
        engine, _, isolation = request.param.partition("-")
        data = "" if engine == "memory" else str(tmp_path / "data")
        engine = "disk" if engine == "disk" else "memory"
        store = embedded(data=data, engine=engine, isolation=isolation or "thread")
    yield fill(store)
    store.close()


@pytest.fixture
def memory():
    """An empty embedded store in memory."""
    return embedded()


@pytest.fixture
def stub():
    """An endpoint of our own."""
    one = Stub()
    yield one
    one.close()


@pytest.fixture
def stub_store(stub):
    """A store behind it."""
    one = remote(f"{stub.url}/q?key=1", f"{stub.url}/u", endpoint_timeout_s=5.0)
    yield one
    one.close()


@pytest.fixture
def core(memory):
    """The real thing."""
    return Core(memory, Subscriptions(LimitsConfig(subscriptions_per_socket=50)))


@pytest.fixture
def doubles(memory):
    """A core whose units are doubles, and the doubles by query."""
    made = {}

    def unit(query):
        return made.setdefault(query, Double(query))

    return Core(memory, Subscriptions(LimitsConfig(), unit)), made


@pytest.fixture
async def running():
    """Makes them, and closes them at the end."""
    made = []

    def start(limits=None, **config):
        made.append(Running(limits, **config))
        return made[-1]

    yield start
    for one in made:
        one.gate.set()
        await one.scheduler.close(1)
