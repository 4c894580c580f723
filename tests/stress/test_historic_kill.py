"""Loads that are killed, whatever is killed and whenever: the same command goes on, and the dataset is the same."""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pyspark
import pytest
from support.hand_made_parts import observations, write_parts
from support.histories import MAPPING, QUICK, dump, executors, run, started
from support.running import RunningBroker

from triplewire.clients.historic.generator import rows

ROWS = int(os.environ.get("TRIPLEWIRE_ROWS", "5000"))
LONGEST_S = 300

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@contextmanager
def running(data, port=0):
    arguments = ["--data", str(data), "--set=log.level=WARNING", "--http-port", str(port)]
    broker = RunningBroker.start(*arguments, memory=False)
    try:
        yield broker
    finally:
        broker.kill()


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Rows and a mapping, and what a load that nobody disturbs comes to."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "rows.csv").write_text("".join(rows(ROWS)))
    (folder / "mapping.ttl").write_text(MAPPING)
    with running(folder / "data") as broker:
        done = run(folder, *load(folder, broker), timeout=LONGEST_S)
        assert done.returncode == 0, done.stderr
        whole = dump(broker.http)
    assert len(whole) == 2 * ROWS
    return folder, whole


def load(folder, broker, *more):
    return (
        "load",
        "--mapping",
        folder / "mapping.ttl",
        "--url",
        broker.http,
        "--master",
        "local[2]",
        *QUICK,
        *more,
    )


def wait_for(condition):
    deadline = time.monotonic() + LONGEST_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_driver_is_killed_while_it_maps(inputs, tmp_path):
    """There are no parts yet: it maps again."""
    folder, whole = inputs
    with running(tmp_path / "data") as broker:
        with started(tmp_path, *load(folder, broker)) as process:
            wait_for(lambda: list((tmp_path / "state").rglob("_temporary")) or process.poll() is not None)
            assert process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert not dump(broker.http)
        done = run(tmp_path, *load(folder, broker), timeout=LONGEST_S)
        assert done.returncode == 0, done.stderr
        assert dump(broker.http) == whole


def test_an_executor_is_killed_while_it_maps(inputs, tmp_path, monkeypatch):
    """Spark does its work again elsewhere; no quad is missing, and none is there that should not be."""
    folder, whole = inputs
    monkeypatch.setenv("SPARK_HOME", str(Path(pyspark.__file__).parent))
    with running(tmp_path / "data") as broker:
        with started(tmp_path, *load(folder, broker, "--master", "local-cluster[2,1,1024]")) as process:
            wait_for(lambda: executors(process.pid) or process.poll() is not None)
            wait_for(lambda: list((tmp_path / "state").rglob("_temporary")) or process.poll() is not None)
            assert process.poll() is None
            os.kill(executors(process.pid)[0], signal.SIGKILL)
            errors = process.communicate(timeout=LONGEST_S)[1]
            assert process.returncode == 0, errors
        assert dump(broker.http) == whole


@pytest.mark.parametrize("victims", ["driver", "both"])
def test_a_driver_is_killed_while_it_loads(victims, tmp_path):
    """Several times, the broker with it or not: it goes on behind what the broker had answered."""
    lines = observations(30_000)
    files = write_parts(tmp_path / "parts", lines, 4, gzipped=True)
    port, there = 0, 0
    for _ in range(3):
        with running(tmp_path / "data", port) as broker:
            port = httpx.URL(broker.http).port
            with started(tmp_path, *parts(files, broker)) as process:
                wait_for(lambda there=there: count(broker) > there or process.poll() is not None)
                assert process.poll() is None
                if victims == "both":
                    broker.kill()
                process.kill()
                process.wait()
            there = count(broker) if victims == "driver" else there
    with running(tmp_path / "data", port) as broker:
        done = run(tmp_path, *parts(files, broker), timeout=LONGEST_S)
        assert done.returncode == 0, done.stderr
        assert "were loaded before" in done.stderr
        assert dump(broker.http) == triples(lines)


def test_a_broker_is_killed_while_it_is_loaded(tmp_path):
    """It is waited for; the driver goes on by itself."""
    lines = observations(30_000)
    files = write_parts(tmp_path / "parts", lines, 4, gzipped=True)
    with running(tmp_path / "data") as broker:
        port = httpx.URL(broker.http).port
        with started(tmp_path, *parts(files, broker)) as process:
            wait_for(lambda: count(broker) or process.poll() is not None)
            assert process.poll() is None
            broker.kill()
            with running(tmp_path / "data", port) as back:
                errors = process.communicate(timeout=LONGEST_S)[1]
                assert process.returncode == 0, errors
                assert dump(back.http) == triples(lines)


def parts(files, broker):
    # Chunks so small that it is still at work when it is seen to be
    return ("parts", files.directory, "--url", broker.http, "--chunk-most", "500")


def count(broker):
    response = httpx.post(
        f"{broker.http}/query",
        data={"query": "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"},
        headers={"Accept": "text/csv"},
        timeout=60,
    )
    return int(response.text.split()[1])


def triples(lines):
    return sorted(line.rstrip(b"\n") for line in lines)
