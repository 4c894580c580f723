"""The figures: written from records, and of measurements of the same the newest."""

from __future__ import annotations

import json

import pytest
from bench.fanout import plots


def record(**changed):
    known = {
        "peer": "triplewire",
        "mode": "plain",
        "consumers": 500,
        "rate": 4.0,
        "joined": 500,
        "deliveries": 9,
    }
    known |= {"p50_ms": 1.0, "p95_ms": 2.0, "server_cpu_s": 1.0, "wall_s": 10.0, "us_a_delivery": 10.0}
    return known | changed


def written(folder, *records):
    results = folder / "fanout.jsonl"
    results.write_text("".join(json.dumps(each) + "\n" for each in records))
    return results


def test_the_three_figures_are_written(tmp_path):
    pytest.importorskip("matplotlib")
    many = record(consumers=2000, joined=2000)
    results = written(tmp_path, record(), many, record(rate=50.0), record(peer="nchan"))
    assert len(plots.draw(results)) == 3
    assert {path.name for path in tmp_path.iterdir()} == {
        "fanout.jsonl",
        *(f"fanout-{name}.{kind}" for name in ("delay", "cpu", "rate") for kind in ("png", "svg")),
    }


def test_the_newest_whole_record_counts(tmp_path):
    results = written(tmp_path, record(p50_ms=1.0), record(p50_ms=5.0), record(p50_ms=9.0, joined=499))
    assert [each["p50_ms"] for each in plots._newest(results)] == [5.0]


def test_without_records_it_says_so(tmp_path):
    assert "there is no" in plots.draw(tmp_path / "none.jsonl")[0]
