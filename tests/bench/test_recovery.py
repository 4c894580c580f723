"""How long a start takes with a million quads, after a kill; and how long a renewal holds up the core.

Prints figures; asserts only what is there.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import httpx
import pytest
from support.running import RunningBroker

QUADS = 1_000_000
CHANGES = 20_000


def rows(broker, query):
    response = httpx.post(
        f"{broker.http}/query", data={"query": query}, headers={"Accept": "text/csv"}, timeout=60
    )
    response.raise_for_status()
    return response.text.split("\r\n")[1:-1]


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_start_after_a_kill(engine, tmp_path):
    """A snapshot of a million quads, and the records of some changes behind it."""
    file = tmp_path / "quads.nt"
    with file.open("w") as out:
        for number in range(QUADS):
            out.write(
                f'<http://example.org/s{number // 10}> <http://example.org/p{number % 10}> "{number}" .\n'
            )
    data = str(tmp_path / "data")
    command = [
        sys.executable,
        "-m",
        "triplewire.clients",
        "load",
        "--data",
        data,
        "--engine",
        engine,
        str(file),
    ]
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    loaded = time.perf_counter() - began
    arguments = ["--data", data, f"--set=store.engine={engine}", "--set=log.level=WARNING"]
    broker = RunningBroker.start(*arguments, memory=False)
    longest = 0.0

    def write(sensor: int) -> None:
        nonlocal longest
        with httpx.Client(timeout=60) as client:
            for number in range(CHANGES // 4):
                text = f"DELETE WHERE {{ <urn:s{sensor}> <urn:v> ?o }} ; INSERT DATA {{ <urn:s{sensor}> <urn:v> {number} }}"
                sent = time.perf_counter()
                client.post(f"{broker.http}/update", data={"update": text}).raise_for_status()
                longest = max(longest, time.perf_counter() - sent)

    writers = [threading.Thread(target=write, args=(sensor,)) for sensor in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    state = httpx.get(f"{broker.http}/health").json()["dataset"]
    broker.kill()
    began = time.perf_counter()
    broker = RunningBroker.start(*arguments, memory=False)
    took = time.perf_counter() - began
    try:
        assert rows(broker, "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }") == [str(QUADS + 4)]
        print(
            f"\n{engine}: {QUADS} quads loaded in {loaded:.1f} s; {CHANGES} changes, longest {longest * 1e3:.0f} ms, "
            f"{state['renewals']} renewals, swap {state['swap_s'] * 1e3:.1f} ms; ready {took:.1f} s after a kill, "
            "the interpreter's start included"
        )
    finally:
        broker.stop()
