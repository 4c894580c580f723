"""An archive whose writer is killed (TRIPLEWIRE_KILLS times) is the journal all the same."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings

import pytest
from support.archives import archived, broker_at, fill, told

# Each kill is a start of Spark.
KILLS = int(os.environ.get("TRIPLEWIRE_KILLS", "1"))


@pytest.fixture
def running():
    """Processes, whose groups are ended in the end."""
    processes = []
    yield processes
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def archiving(data, out, *arguments):
    """`triplewire history archive` in a group of its own, with the Java that it starts."""
    command = [sys.executable, "-P", "-m", "triplewire.clients", "history", "archive"]
    command += ["--data", str(data), "--out", str(out), "--master", "local[2]"]
    command += arguments
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True, text=True
    )


def written(out):
    """How many files the sink has begun."""
    return sum(1 for _ in out.glob("live/*/changes/day=*/*.parquet"))


def caught_up(data, out):
    """Whether the stream's last batch that is done reaches to the journal's end."""
    checkpoint = out / "live/00000001/checkpoint"
    batches = sorted(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())
    offset = json.loads((checkpoint / "offsets" / str(batches[-1])).read_text().splitlines()[-1])
    return offset["sequence"] == max(row[0] for row in told(data))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_in_the_middle(tmp_path, running):
    """At any moment of its writing, while the broker goes on; then it catches up, and ends when asked."""
    from triplewire.clients.historic.archive import Archive
    from triplewire.clients.historic.spark_session import spark_session

    data, out = tmp_path / "data", tmp_path / "out"
    chance = random.Random(7)
    with broker_at(data) as broker:
        done = threading.Event()

        def work():
            number = 0
            while not done.is_set():
                fill(broker, 5, first=number)
                number += 5
                done.wait(1)

        worker = threading.Thread(target=work)
        worker.start()
        try:
            for _ in range(KILLS):
                before = written(out)
                process = archiving(data, out, "--every", "100ms", "--batch-bytes", "3000")
                running.append(process)
                deadline = time.monotonic() + 240
                while written(out) < before + 3:
                    assert process.poll() is None, process.stderr.read()
                    assert time.monotonic() < deadline
                    time.sleep(0.02)
                time.sleep(chance.random())
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        finally:
            done.set()
            worker.join()
    process = archiving(data, out, "--every", "1s", "--compact")
    running.append(process)
    deadline = time.monotonic() + 300
    while not caught_up(data, out):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.5)
    process.terminate()
    errors = process.communicate(timeout=300)[1]
    assert process.returncode == 0, errors
    spark = spark_session("local[2]", "reading", {"spark.sql.shuffle.partitions": "2"})
    try:
        assert archived(Archive(spark, str(out)).changes()) == told(data)
    finally:
        with warnings.catch_warnings():
            # py4j leaves the sockets of its connections to the collector.
            warnings.simplefilter("ignore", ResourceWarning)
            spark.stop()
