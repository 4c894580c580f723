"""What is kept, seen from outside: counters that many increment, damage, and a disk that is full."""

from __future__ import annotations

import os
import subprocess
import threading

import httpx
import pytest
from support.running import RunningBroker

from triplewire.broker.journal.segment import first_sequences, segment_path

CLIENTS, INCREMENTS = 8, 200
INCREMENT = """PREFIX : <http://example.org/>
DELETE { :counter :is ?old } INSERT { :counter :is ?new } WHERE { :counter :is ?old BIND(?old + 1 AS ?new) }"""
MODES = {
    "memory": [],
    "journal": ["--data", "{data}"],
    "journal-fsync": ["--data", "{data}", "--set=journal.fsync=always"],
    "disk": ["--data", "{data}", "--set=store.engine=disk"],
}


def started(mode, tmp_path, *more):
    arguments = [argument.format(data=tmp_path / "data") for argument in MODES[mode]]
    return RunningBroker.start(*arguments, *more, memory=False)


def update(broker, text):
    return httpx.post(f"{broker.http}/update", data={"update": text}, timeout=30)


def rows(broker, query):
    response = httpx.post(
        f"{broker.http}/query", data={"query": query}, headers={"Accept": "text/csv"}, timeout=30
    )
    response.raise_for_status()
    return response.text.split("\r\n")[1:-1]


@pytest.mark.parametrize("mode", MODES)
def test_no_increment_is_lost(tmp_path, mode):
    """Eight clients, two hundred times each."""
    broker = started(mode, tmp_path)
    try:
        update(broker, "INSERT DATA { <http://example.org/counter> <http://example.org/is> 0 }")

        def increment():
            with httpx.Client(timeout=30) as client:
                for _ in range(INCREMENTS):
                    client.post(f"{broker.http}/update", data={"update": INCREMENT}).raise_for_status()

        threads = [threading.Thread(target=increment) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert rows(broker, "SELECT ?n { ?s ?p ?n }") == [str(CLIENTS * INCREMENTS)]
    finally:
        broker.stop()


@pytest.mark.parametrize("mode", ["journal", "disk"])
def test_damage_stops_the_start_with_its_place(tmp_path, mode):
    """Until --repair; what is set aside is told."""
    broker = started(mode, tmp_path, "--set=journal.segment_bytes=2000")
    for number in range(60):
        update(broker, f"INSERT DATA {{ <urn:s> <urn:p> {number} }}").raise_for_status()
    broker.kill()
    first = first_sequences(tmp_path / "data")[1]
    path = segment_path(tmp_path / "data", first)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 32
    path.write_bytes(content)
    (tmp_path / "data" / "store.json").unlink(missing_ok=True)
    with pytest.raises(RuntimeError, match=f"{path.name} is damaged at byte"):
        started(mode, tmp_path)
    broker = started(mode, tmp_path, "--repair")
    try:
        assert "set aside" in broker.log or ".aside" in broker.log
        there = sorted(map(int, rows(broker, "SELECT ?n { ?s ?p ?n }")))
        assert there == list(range(len(there)))
        assert first - 1 <= len(there) < 60
        assert update(broker, "INSERT DATA { <urn:s> <urn:p> 'again' }").status_code == 200
    finally:
        broker.stop()
    started(mode, tmp_path).stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small file system")
@pytest.mark.parametrize("mode", ["journal", "journal-fsync", "disk"])
def test_a_full_disk_refuses_updates_and_nothing_else(tmp_path, mode):
    """A clear error; queries go on; nothing is lost; and it goes on when there is room."""
    mount = tmp_path / "data"
    mount.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", mount], check=False)
    if made.returncode:
        pytest.skip("no small file system can be mounted here")
    broker = None
    try:
        broker = started(mode, tmp_path)
        update(broker, "INSERT DATA { <urn:s> <urn:p> 'before' }").raise_for_status()
        free = os.statvfs(mount)
        (mount / "filler").write_bytes(bytes(free.f_bavail * free.f_bsize - 8192))
        big = f"INSERT DATA {{ <urn:s> <urn:p> '{os.urandom(20_000).hex()}' }}"
        for _ in range(2):
            refused = update(broker, big)
            assert refused.status_code == 500
            assert refused.json()["error"] == "store_error"
            assert "No space left" in refused.json()["error_description"]
            assert rows(broker, "SELECT ?o { ?s ?p ?o }") == ["before"]
        (mount / "filler").unlink()
        update(broker, "INSERT DATA { <urn:s> <urn:p> 'after' }").raise_for_status()
        broker.kill()
        broker = started(mode, tmp_path)
        assert sorted(rows(broker, "SELECT ?o { ?s ?p ?o }")) == ["after", "before"]
    finally:
        if broker is not None and broker.alive:
            broker.stop()
        subprocess.run(["umount", "--lazy", mount], check=True)
