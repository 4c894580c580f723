"""Somebody who updates a broker while it does something else, in a process of its own, and how long each update took."""

from __future__ import annotations

import multiprocessing
import time
from contextlib import contextmanager

import httpx

_CONTEXT = multiprocessing.get_context("spawn")


@contextmanager
def probing(url, per_s=50):
    """The seconds that each update took, in a list that is full when the block has ended."""
    here, there = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=_probe, args=(url, 1 / per_s, there))
    process.start()
    there.close()
    assert here.recv() == "began"
    found = []
    try:
        yield found
    finally:
        here.send("stop")
        found += here.recv()
        process.join()
        here.close()


def _probe(url, every_s, told):
    latencies = []
    with httpx.Client(timeout=60) as client:
        told.send("began")
        due = time.perf_counter()
        while not told.poll():
            number = len(latencies)
            text = f"DELETE WHERE {{ <urn:probe> <urn:value> ?o }} ; INSERT DATA {{ <urn:probe> <urn:value> {number} }}"
            # From when it was due: a broker that stalls is not asked less often
            time.sleep(max(0.0, due - time.perf_counter()))
            client.post(f"{url}/update", data={"update": text}).raise_for_status()
            latencies.append(time.perf_counter() - due)
            due = max(due + every_s, time.perf_counter() - 1.0)
    told.send(latencies)
