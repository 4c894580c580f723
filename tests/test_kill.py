"""What was acknowledged survives SIGKILL, at any moment of the broker's life.

`TRIPLEWIRE_KILLS` says how often each broker is killed (a few times where it is not set).
"""

from __future__ import annotations

import http.client
import os
import random
import threading
import time
import urllib.parse

import httpx
import pytest
from support.running import RunningBroker

KILLS = int(os.environ.get("TRIPLEWIRE_KILLS", "4"))
WRITERS = 3
# Everything happens all the time: new segments, snapshots, renewals, and segments that go.
BUSY = [
    "--set=journal.segment_bytes=20000",
    "--set=journal.snapshot_bytes=60000",
    "--set=journal.keep_bytes=30000",
    "--set=store.flush_s=0.2",
]
UPDATE = """PREFIX : <http://example.org/>
DELETE {{ :last{writer} :is ?old }} INSERT {{ :last{writer} :is {number} . :n{number} :a {number} ; :b {number} }}
WHERE {{ OPTIONAL {{ :last{writer} :is ?old }} }}"""


class Writer(threading.Thread):
    """Sends numbered updates until the broker is gone; notes each that was acknowledged."""

    def __init__(self, url, writer, first):
        super().__init__()
        self.address = urllib.parse.urlsplit(url).netloc
        self.writer, self.first = writer, first
        self.acknowledged = []

    def run(self):
        connection = http.client.HTTPConnection(self.address, timeout=10)
        number = self.first + self.writer
        try:
            while True:
                body = UPDATE.format(writer=self.writer, number=number)
                connection.request(
                    "POST", "/update", body.encode(), {"Content-Type": "application/sparql-update"}
                )
                response = connection.getresponse()
                response.read()
                if response.status >= 300:
                    raise AssertionError(response.status)
                self.acknowledged.append(number)
                number += WRITERS
        except (OSError, http.client.HTTPException):
            connection.close()


def rows(broker, query):
    answer = httpx.post(
        f"{broker.http}/query",
        data={"query": f"PREFIX : <http://example.org/> {query}"},
        headers={"Accept": "text/csv"},
        timeout=60,
    )
    answer.raise_for_status()
    return [line.split(",") for line in answer.text.split("\r\n")[1:-1]]


@pytest.mark.parametrize(
    "mode",
    [
        ["--set=store.engine=memory"],
        ["--set=store.engine=disk"],
        ["--set=store.engine=memory", "--set=journal.fsync=always"],
    ],
    ids=["memory", "disk", "memory-fsync"],
)
def test_an_acknowledged_update_survives_a_kill(tmp_path, mode):
    """None lost, none half there, whatever the broker was doing."""
    rng = random.Random(str(mode))
    arguments = ["--data", str(tmp_path / "data"), *mode, *BUSY]
    acknowledged: set[int] = set()
    latest = [0] * WRITERS
    first = 0
    for _ in range(KILLS):
        broker = RunningBroker.start(*arguments, memory=False)
        try:
            check(broker, acknowledged, latest)
            writers = [Writer(broker.http, writer, first) for writer in range(WRITERS)]
            for writer in writers:
                writer.start()
            time.sleep(rng.uniform(0.0, 0.8))
        finally:
            broker.kill()
        for number, writer in enumerate(writers):
            writer.join()
            acknowledged.update(writer.acknowledged)
            latest[number] = max([latest[number], *writer.acknowledged])
            first = max(first, *writer.acknowledged, 0) if writer.acknowledged else first
        first += 10 * WRITERS
    broker = RunningBroker.start(*arguments, memory=False)
    try:
        check(broker, acknowledged, latest)
        print(f"{KILLS} kills, {len(acknowledged)} acknowledged updates")
        assert len(acknowledged) > KILLS
    finally:
        broker.stop()


def check(broker, acknowledged, latest):
    """Every acknowledged update is whole; one that was not acknowledged is whole or not there."""
    there = {int(row[0]): row[1] for row in rows(broker, "SELECT ?a ?b { ?n :a ?a . OPTIONAL { ?n :b ?b } }")}
    only_b = rows(broker, "SELECT ?b { ?n :b ?b FILTER NOT EXISTS { ?n :a ?a } }")
    assert not only_b
    assert all(str(a) == b for a, b in there.items())
    assert acknowledged <= there.keys()
    for writer, least in enumerate(latest):
        values = [int(row[0]) for row in rows(broker, f"SELECT ?o {{ :last{writer} :is ?o }}")]
        assert len(values) <= 1
        assert not least or values[0] >= least
