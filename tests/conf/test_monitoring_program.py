"""`python -m triplewire.conf.monitoring`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import contextmanager

import pytest
from support.applications import MONITORING, until, until_async
from support.monitoring import PRESENT, STORED, clean, rows

PROGRAM = (sys.executable, "-P", "-m", "triplewire.conf.monitoring")
TOPICS = (
    "PREFIX monitor: <http://example.org/monitoring#> SELECT ?o ?t { ?o monitor:hasMqttTopic ?t } ORDER BY ?t"
)


@pytest.fixture
async def options(broker, oxigraph, mosquitto):
    """Where the brokers of the test are; all stores are empty."""
    await clean(broker.http, oxigraph.url)
    at_broker = ("--url", broker.http, "--ws", broker.ws)
    return at_broker, ("--mqtt", f"127.0.0.1:{mosquitto.port}", "--store-url", oxigraph.update)


async def runs(*arguments: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a command that ends by itself."""
    done = await asyncio.to_thread(
        subprocess.run, [*PROGRAM, *arguments], check=False, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


@contextmanager
def started(tmp_path, *arguments: str):
    """A command that works until SIGTERM, which must be a good end; its output and errors are in files."""
    out, err = tmp_path / f"{arguments[0]}.out", tmp_path / f"{arguments[0]}.err"
    with out.open("w") as stdout, err.open("w") as stderr:
        process = subprocess.Popen([*PROGRAM, *arguments], stdout=stdout, stderr=stderr)
    try:
        yield out, err
    finally:
        process.terminate()
        assert process.wait(30) == 0, err.read_text()


async def test_all_in_one_process(options, mosquitto, broker, oxigraph, tmp_path):
    """Mappings, adapter, values and store, with the shipped profile."""
    at_broker, elsewhere = options
    with started(tmp_path, "all", *at_broker, *elsewhere) as (out, err):
        async with mosquitto.publisher() as publish:
            await until_async(lambda: _subscribed(mosquitto), expected=True)
            await publish("office/room-1/temperature", "21.5")
            await publish("office/room-2/temperature", "22.5 °C")
            await publish("greenhouse/weather", '{"air": {"temperature": 18.2, "humidity": 61}}')
            await publish("fields/moisture", '{"node": "A3", "moisture": 0.31}')
            await publish("servers/cpu", "web-1=54.0 db-1=61.5")
            await publish("servers/cpu", "?")
            await until(lambda: out.read_text().count("\n") == 7)
            await until_async(lambda: _count(oxigraph.url, STORED), 7)
    lines = [line.split("\t") for line in out.read_text().splitlines()]
    assert {(line[0], line[2]) for line in lines} == {
        ("Office-Room-1", "21.5"),
        ("Office-Room-2", "22.5"),
        ("Greenhouse", "18.2"),
        ("Greenhouse", "61"),
        ("Field-A3", "0.31"),
        ("Server-Room", "54"),
        ("Server-Room", "61.5"),
    }
    assert (
        "adapter: 6 messages, 7 updates, 1 unparsable, 0 unknown, 0 refused, 0 repeated, 0 lost"
        in err.read_text()
    )
    assert "store: 7 stored, 0 refused" in err.read_text()
    assert len(await rows(broker.http, PRESENT)) == 7


async def test_each_agent_on_its_own(options, mosquitto, oxigraph, tmp_path):
    """Four processes that know of each other by events alone."""
    at_broker, elsewhere = options
    with (
        started(tmp_path, "adapter", *at_broker, *elsewhere) as (_, adapter),
        started(tmp_path, "values", *at_broker) as (values, _),
        started(tmp_path, "store", *at_broker, *elsewhere) as (_, store),
    ):
        assert await runs("topics", *at_broker) == (0, "7 mappings\n", "")
        await until_async(lambda: _subscribed(mosquitto), expected=True)
        async with mosquitto.publisher() as publish:
            for value in ("21.5", "21.5", "22"):
                await publish("office/room-1/temperature", value)
            await until_async(lambda: _count(oxigraph.url, STORED), 3)
            await until(lambda: values.read_text().count("\n") >= 1)
            await asyncio.sleep(0.5)  # the answers to the last updates are on their way back to the agents
    assert "3 messages, 3 updates" in adapter.read_text()
    assert "3 stored" in store.read_text()


async def test_mappings_by_hand(options, broker):
    """One is added, described anew, and taken back."""
    at_broker, _ = options
    one = (
        "--topic",
        "a/b",
        "--observation",
        "monitor:A",
        "--unit",
        "unit:Percent",
        "--location",
        "monitor:Hall",
    )
    assert (await runs("topics", *at_broker, *one, "--label", "A label"))[0] == 0
    assert [row["t"].value for row in await rows(broker.http, TOPICS)] == ["a/b"]
    assert (await runs("topics", *at_broker, *one[2:], "--topic", "a/c"))[0] == 0
    assert [row["t"].value for row in await rows(broker.http, TOPICS)] == ["a/c"]
    assert (await runs("topics", *at_broker, "--remove", "monitor:A"))[0] == 0
    assert await rows(broker.http, "SELECT * { ?s ?p ?o }") == []
    code, _, error = await runs("topics", *at_broker, *one[:4])
    assert (code, error) == (1, "triplewire.conf.monitoring: the options.unit: missing\n")


@pytest.mark.parametrize("command", ["topics", "adapter", "values", "store", "all"])
async def test_without_a_broker_it_says_so(command):
    """Exit code 3 and one line."""
    code, _, error = await runs(command, "--url", "http://127.0.0.1:1")
    assert code == 3
    assert "triplewire.conf.monitoring: can't " in error
    assert "Traceback" not in error


async def test_a_wrong_profile_is_told_by_its_path(tmp_path):
    """Exit code 1 and one line."""
    profile = tmp_path / "mine.jsap"
    profile.write_text(MONITORING.read_text(encoding="utf-8").replace('"queue": 10000', '"queue": "long"'))
    code, _, error = await runs("adapter", "--jsap", str(profile))
    assert code == 1
    assert error.startswith("triplewire.conf.monitoring: extended.mqtt.queue: expected a whole number")


async def _count(url: str, query: str) -> int:
    return len(await rows(url, query))


async def _subscribed(mosquitto) -> bool:
    """Before the adapter has its session nobody keeps messages for it."""
    return "triplewire-monitoring 1 #" in mosquitto.log.read_text()
