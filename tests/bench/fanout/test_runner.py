"""One measurement, small, of our own broker: by several generators, with workers, and its record."""

from __future__ import annotations

import json

import pytest
from bench.fanout import runner
from bench.fanout.peers import DEFLATE, PEERS, PLAIN
from bench.fanout.runner import Plan, measure


@pytest.mark.parametrize(("mode", "processes"), [(PLAIN, 2), (DEFLATE, 1)], ids=["two workers", "deflate"])
def test_a_record_tells_what_came_of_it(mode, processes, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "RESULTS", tmp_path / "fanout.jsonl")
    monkeypatch.setattr(runner, "MOST_A_PROCESS", 20)  # so these are three generators
    record = measure(Plan(PEERS["triplewire"], mode, 50, 40.0, 8, processes))
    assert (record["joined"], record["deliveries"]) == (50, 400)
    assert (record["lost"], record["twice"], record["cut"]) == (0, 0, 0)
    assert 0 < record["server_cpu_s"] < 5
    assert 0 < record["generator_cpu_s"] < 5
    assert 0 < record["p50_ms"] <= record["p95_ms"] <= record["p99_ms"] <= record["p100_ms"]
    assert record["publisher"]["answered"] == 8
    size = record["publisher"]["mean_bytes"]
    assert (
        (0.05 if mode.deflate else 1) * size
        < record["bytes_a_delivery"]
        < (0.5 if mode.deflate else 1.2) * size
    )
    assert json.loads((tmp_path / "fanout.jsonl").read_text()) == record
