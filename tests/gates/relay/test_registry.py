"""The registry, in brokers of processes of their own: followed, kept while they are away, changed by those who may."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import httpx
import pytest
from support.running import RunningBroker
from support.secured import SecuredBroker
from support.streams import until

from triplewire.broker.config import PathsConfig
from triplewire.broker.errors import ConfigError
from triplewire.broker.overlay_config import TrackerConfig
from triplewire.gates.relay import registry as registry_module
from triplewire.gates.relay.registered import Registered
from triplewire.gates.relay.registry import Registry
from triplewire.gates.relay.registry_file import NAME

EXAMPLE = Path(__file__).parents[3] / "conf" / "relays" / "registry.ttl"
GRAPH = "urn:triplewire:registry"
PREFIXES = "PREFIX tw: <urn:triplewire:> PREFIX dct: <http://purl.org/dc/terms/> "
PERMISSIONS = f"""
[clients.keeper]
scopes = ["query", "update"]
read = ["{GRAPH}"]
write = ["{GRAPH}"]

[clients.writer]
scopes = ["query", "update"]
read = ["*"]
write = ["urn:other"]

[clients.tracker]
scopes = ["subscribe"]
read = ["{GRAPH}"]

[clients.stranger]
scopes = ["subscribe"]
"""


def registry_of(url, **settings):
    return Registry(TrackerConfig(registry=url, **settings), PathsConfig())


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def change(broker, text):
    """An update of a broker that is open."""
    async with httpx.AsyncClient() as http:
        (await http.post(f"{broker.http}/update", data={"update": PREFIXES + text})).raise_for_status()


def stream(name, *publishers):
    """What registers a stream, for a GRAPH of an update."""
    names = ", ".join(f'"{publisher}"' for publisher in publishers)
    return f'<urn:s:{name}> dct:identifier "{name}" ; tw:mayPublish {names} .'


async def test_without_a_broker_everything_goes():
    """Nothing is registered, and nobody is refused."""
    registry = Registry(TrackerConfig(), PathsConfig())
    async with registry.followed():
        assert registry.known
        assert registry.of("s") is None
        assert registry.takes("s")
        assert registry.may_publish("s", "anybody")
        assert (registry.trackers("s"), registry.degree("s")) == ((), 0)


@pytest.mark.parametrize("url", ["broker.example", "ftp://broker.example", "http://"])
def test_a_registry_is_at_a_url(url):
    """Or the start ends."""
    with pytest.raises(ConfigError, match=r"tracker\.registry: "):
        registry_of(url)


def test_its_graph_is_an_iri():
    """The same."""
    with pytest.raises(ConfigError, match=r"tracker\.registry"):
        registry_of("http://localhost:8000", registry_graph="no iri")


async def test_the_example_is_read(fresh_broker):
    """As it comes with the package, loaded as it says itself; its problems are none."""
    async with httpx.AsyncClient() as http:
        url = f"{fresh_broker.http}/rdf-graph-store?graph={GRAPH}"
        headers = {"Content-Type": "text/turtle"}
        answer = await http.post(url, content=EXAMPLE.read_bytes(), headers=headers)
        assert answer.status_code == 201, answer.text
    registry = registry_of(fresh_broker.http + "/")
    async with registry.followed():
        bridges = frozenset({"bridge-north", "bridge-south"})
        at = ("http://tracker-1.example.org:8003", "http://tracker-2.example.org:8003")
        assert registry.of("traffic") == Registered("traffic", "Traffic over the bridges", bridges, at, 4)
        assert registry.of("news") == Registered("news", "News", None)
        assert (registry.trackers("traffic"), registry.degree("traffic")) == (at, 4)
        assert registry.problems == []
        assert registry.health()["streams"] == 2


async def test_changes_hold_at_once(fresh_broker):
    """Publishers that come and go; who listens is told once for each change."""
    registry = registry_of(fresh_broker.http, unregistered="refuse")
    told = []
    async with registry.followed():
        assert registry.known
        end = registry.listen(lambda: told.append(registry.may_publish("s", "a")))
        assert not registry.takes("s")
        assert not registry.may_publish("s", "a")
        await change(fresh_broker, f"INSERT DATA {{ GRAPH <{GRAPH}> {{ {stream('s', 'a', 'b')} }} }}")
        await until(lambda: registry.takes("s"))
        assert registry.may_publish("s", "a")
        assert not registry.may_publish("s", "c")
        await change(fresh_broker, f"DELETE DATA {{ GRAPH <{GRAPH}> {{ <urn:s:s> tw:mayPublish 'a' }} }}")
        await until(lambda: not registry.may_publish("s", "a"))
        assert registry.may_publish("s", "b")
        assert told == [True, False]
        end()
        await change(fresh_broker, f"DROP GRAPH <{GRAPH}>")
        await until(lambda: not registry.takes("s"))
        assert told == [True, False]


async def test_a_list_is_replaced_in_one_step(fresh_broker):
    """Between two orders of trackers there is never none."""
    registry = registry_of(fresh_broker.http)
    seen = []
    async with registry.followed():
        registry.listen(lambda: seen.append(registry.trackers("s")))
        given = f"{stream('s', '*')} <urn:s:s> tw:tracker (<http://a> <http://b>)"
        await change(fresh_broker, f"INSERT DATA {{ GRAPH <{GRAPH}> {{ {given} }} }}")
        await until(lambda: seen)
        await change(
            fresh_broker,
            "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "
            f"WITH <{GRAPH}> DELETE {{ ?s tw:tracker ?head . ?node rdf:first ?url ; rdf:rest ?rest }} "
            'WHERE { ?s dct:identifier "s" ; tw:tracker ?head . '
            "?head rdf:rest* ?node . ?node rdf:first ?url ; rdf:rest ?rest } ; "
            f"INSERT DATA {{ GRAPH <{GRAPH}> {{ <urn:s:s> tw:tracker (<http://b> <http://a> <http://c>) }} }}",
        )
        await until(lambda: len(seen) > 1)
        assert seen == [("http://a", "http://b"), ("http://b", "http://a", "http://c")]
        assert registry.problems == []


async def test_what_was_read_last_stays_in_force(tmp_path):
    """While the broker is away, and until it is back with something else."""
    port = free_port()
    arguments = ("--http-port", str(port), "--data", str(tmp_path / "data"))
    broker = RunningBroker.start(*arguments, memory=False)
    registry = registry_of(f"http://127.0.0.1:{port}", unregistered="refuse")
    await change(broker, f"INSERT DATA {{ GRAPH <{GRAPH}> {{ {stream('s', 'a')} }} }}")
    async with registry.followed():
        assert registry.may_publish("s", "a")
        await asyncio.to_thread(broker.stop)
        await until(lambda: registry.trouble)
        assert registry.may_publish("s", "a")
        assert registry.known
        broker = await asyncio.to_thread(lambda: RunningBroker.start(*arguments, memory=False))
        try:
            await change(broker, f"DELETE WHERE {{ GRAPH <{GRAPH}> {{ ?s tw:mayPublish ?o }} }}")
            await until(lambda: not registry.may_publish("s", "a"), 20)
            assert registry.takes("s")
            assert registry.trouble == ""
        finally:
            await asyncio.to_thread(broker.stop)


async def test_nobody_publishes_before_it_was_read(monkeypatch):
    """A tracker that starts while the broker is away lets nobody get round the registry, and goes on trying."""
    monkeypatch.setattr("triplewire.gates.relay.registry._FIRST_S", 0.05)
    port = free_port()
    registry = registry_of(f"http://127.0.0.1:{port}")
    async with registry.followed():
        assert not registry.known
        assert registry.takes("s")
        assert not registry.may_publish("s", "a")
        assert registry.health()["trouble"]
        broker = await asyncio.to_thread(lambda: RunningBroker.start("--http-port", str(port)))
        try:
            await until(lambda: registry.known, 20)
            assert registry.may_publish("s", "a")
        finally:
            await asyncio.to_thread(broker.stop)


async def test_what_was_read_last_outlives_the_tracker(tmp_path, monkeypatch):
    """With tracker.data, a tracker that starts while the broker is away goes on by what it knew."""
    port = free_port()
    settings = {"data": str(tmp_path / "tracker"), "unregistered": "refuse"}
    broker = RunningBroker.start("--http-port", str(port))
    try:
        await change(broker, f"INSERT DATA {{ GRAPH <{GRAPH}> {{ {stream('s', 'a')} }} }}")
        first = registry_of(f"http://127.0.0.1:{port}", **settings)
        async with first.followed():
            assert first.readings == 1
            await change(broker, f"INSERT DATA {{ GRAPH <{GRAPH}> {{ <urn:s:s> tw:mayPublish 'b' }} }}")
            await until(lambda: '"b"' in (tmp_path / "tracker" / NAME).read_text())
    finally:
        await asyncio.to_thread(broker.stop)
    monkeypatch.setattr("triplewire.gates.relay.registry._FIRST_S", 0.05)
    again = registry_of(f"http://127.0.0.1:{port}", **settings)
    async with again.followed():
        assert (again.known, again.readings) == (True, 0)
        assert again.may_publish("s", "b")
        assert not again.may_publish("s", "c")
        assert not again.takes("other")


async def test_who_may_not_write_the_graph_changes_nothing(tmp_path):
    """A broker that is closed: 403 for a client without the right, and what one with it says holds at once."""
    with SecuredBroker(tmp_path, permissions=PERMISSIONS) as broker:
        insert = f"{PREFIXES} INSERT DATA {{ GRAPH <{GRAPH}> {{ {stream('s', 'sensor')} }} }}"
        assert broker.update(insert, broker.headers("keeper")).status_code == 200
        registry = registry_of(
            broker.running.https,
            identity="tracker",
            credentials=str(tmp_path / "credentials.json"),
            ca=str(broker.authority.ca),
            unregistered="refuse",
        )
        async with registry.followed():
            assert registry.may_publish("s", "sensor")
            assert not registry.may_publish("s", "writer")
            attack = insert.replace("sensor", "writer")
            answer = broker.update(attack, broker.headers("writer"))
            assert (answer.status_code, answer.json()["error"]) == (403, "forbidden")
            store = f"/rdf-graph-store?graph={GRAPH}"
            answer = broker.http.delete(store, headers=broker.headers("writer"))
            assert answer.status_code == 403
            remove = insert.replace("INSERT", "DELETE")
            assert broker.update(remove, broker.headers("keeper")).status_code == 200
            await until(lambda: not registry.may_publish("s", "sensor") and registry.of("s") is None)
            readings = registry.readings
        assert readings == 2


async def test_a_tracker_that_may_not_read_it_knows_nothing(tmp_path):
    """What is there does not exist for it; that is not the same as a registry that is not read."""
    with SecuredBroker(tmp_path, permissions=PERMISSIONS) as broker:
        insert = f"{PREFIXES} INSERT DATA {{ GRAPH <{GRAPH}> {{ {stream('s', 'sensor')} }} }}"
        assert broker.update(insert, broker.headers("keeper")).status_code == 200
        settings = {"credentials": str(tmp_path / "credentials.json"), "ca": str(broker.authority.ca)}
        registry = registry_of(broker.running.https, identity="stranger", unregistered="refuse", **settings)
        async with registry.followed():
            assert registry.of("s") is None
            assert not registry.takes("s")


async def test_an_error_of_ours_does_not_end_the_following(fresh_broker, monkeypatch, caplog):
    """It is logged, said to administrators, and the registry is read again."""
    registry = registry_of(fresh_broker.http)
    monkeypatch.setattr("triplewire.gates.relay.registry._AGAIN_FIRST_S", 0.05)
    true, fails = registry_module.read, []

    def read(triples):
        if len(fails) < 2:
            fails.append(registry.trouble)
            raise ZeroDivisionError
        return true(triples)

    monkeypatch.setattr(registry_module, "read", read)
    await change(fresh_broker, f"INSERT DATA {{ GRAPH <{GRAPH}> {{ {stream('s', 'a')} }} }}")
    async with registry.followed():
        await until(lambda: registry.may_publish("s", "a"), 20)
    assert len(fails) == 2
    assert "ZeroDivisionError" in fails[1]
    assert "ZeroDivisionError" in caplog.text
