"""A stream to thousands: what a chunk costs the gate, a consumer its memory, and an item in time.

Beside it, in the same run, the least that a Python process could do: `nullgate.py` of the load client's folder, which frames
and compresses a batch once and calls `send` for each socket, with no features at all.  Skipped where that folder
(../shared/tools/loadclient beside the working tree) is not there.

TRIPLEWIRE_CONSUMERS (a list, of at most 19,900 each), TRIPLEWIRE_ITEMS, TRIPLEWIRE_RATE (items a second) and
TRIPLEWIRE_WORKERS change what is measured.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from support.benchmarks import Table
from support.running import RunningBroker

TOOLS = Path(__file__).parents[3] / "shared" / "tools" / "loadclient"
CONSUMERS = [int(n) for n in os.environ.get("TRIPLEWIRE_CONSUMERS", "500,2000").split(",")]
ITEMS = int(os.environ.get("TRIPLEWIRE_ITEMS", "80"))
RATE = os.environ.get("TRIPLEWIRE_RATE", "4")
WORKERS = int(os.environ.get("TRIPLEWIRE_WORKERS", "0"))

pytestmark = pytest.mark.skipif(not TOOLS.is_dir(), reason="the load client is not here")


@contextmanager
def triplewire(window_s):
    """The broker with one stream; the base URL of that, and the processes."""
    window = [f"streams.events.{name}={window_s}" for name in ("window_s", "window_most_s")]
    settings = [each for setting in (*window, "log.level=WARNING") for each in ("--set", setting)]
    broker = RunningBroker.start("--stream-workers", str(WORKERS), *settings)
    try:
        children = psutil.Process(broker.process.pid).children(recursive=True)
        yield f"{broker.streams}/events", [broker.process.pid, *(child.pid for child in children)]
    finally:
        broker.stop()


@contextmanager
def nullgate(window_s):
    """The floor."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(TOOLS / "nullgate.py"), str(port), str(window_s)])
    try:
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/events", [process.pid]
    finally:
        process.kill()
        process.wait()


def measured(url, pids, consumers, *, compressed):
    """What the load client found."""
    command = [sys.executable, str(TOOLS / "loadclient.py"), "--server-pid", ",".join(map(str, pids))]
    command += [
        "--url",
        f"{url}/{'compressed' if compressed else 'stream'}",
        "--publish-url",
        f"{url}/publish",
    ]
    command += ["--clients", str(consumers), "--rate", RATE, "--items", str(ITEMS)]
    command += ["--compressed"] if compressed else []
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=900)
    return json.loads(done.stdout)


@pytest.mark.parametrize(("compressed", "window_s"), [(False, 0.0), (True, 0.5)], ids=["plain", "deflate"])
def test_fan_out_over_the_floor(compressed, window_s):
    """Nothing is lost, and a chunk costs little more than the system call (bar: 1.3 times, and 2 KB a consumer)."""
    table = Table(
        f"{ITEMS} items at {RATE}/s, {'deflate' if compressed else 'plain'}, window {window_s} s, {WORKERS} workers",
        *("gate", "consumers", "us/chunk", "ratio", "KB each", "p50 ms", "p95 ms", "p99 ms", "B/delivery"),
        *("lost", "post p95 ms", "others' CPU s"),
    )
    for consumers in CONSUMERS:
        floor = 0.0
        for gate in (nullgate, triplewire):
            with gate(window_s) as (url, pids):
                found = measured(url, pids, consumers, compressed=compressed)
            cost = found["server_cpu_s"] / found["chunks"] * 1e6
            floor = floor or cost
            each_kb = (found["rss_subscribed_mb"] - found["rss_idle_mb"]) * 1024 / consumers
            table.add(
                *(gate.__name__, consumers, cost, cost / floor, each_kb),
                *(found["p50_ms"], found["p95_ms"], found["p99_ms"], found["bytes_per_delivery"]),
                *(found["lost_stayers"], found["publisher"]["post_p95_s"] * 1000, found["others_cpu_s"]),
            )
            assert found["connected"] == consumers
            assert (found["lost_stayers"], found["dups"], found["not_200"]) == (0, 0, 0)
    table.print()
