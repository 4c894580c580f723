"""Asking a leader and its followers."""

from __future__ import annotations

import time

import httpx

PREFIX = "PREFIX : <http://example.org/> "


def update(broker, text, **parameters):
    response = httpx.post(
        f"{broker.http}/update",
        params=parameters,
        content=(PREFIX + text).encode(),
        headers={"Content-Type": "application/sparql-update"},
        timeout=30,
    )
    response.raise_for_status()
    return response


def rows(broker, text):
    response = httpx.post(
        f"{broker.http}/query", data={"query": PREFIX + text}, headers={"Accept": "text/csv"}, timeout=30
    )
    response.raise_for_status()
    return sorted(response.text.split("\r\n")[1:-1])


def dataset(broker):
    """All of it, blank nodes by their labels."""
    response = httpx.post(
        f"{broker.http}/query",
        data={"query": "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } UNION { GRAPH ?g {} } }"},
        headers={"Accept": "text/tab-separated-values"},
        timeout=30,
    )
    response.raise_for_status()
    return sorted(response.text.splitlines())


def following(broker):
    return httpx.get(f"{broker.http}/health", timeout=10).json()["following"]


def journal(broker):
    return httpx.get(f"{broker.http}/health", timeout=10).json()["journal"]


def caught_up(leader, follower, within_s=20.0):
    """Wait until the follower is at the leader's record."""
    deadline = time.monotonic() + within_s
    while following(follower)["sequence"] < journal(leader)["last_sequence"]:
        assert time.monotonic() < deadline, (following(follower), journal(leader))
        time.sleep(0.02)
