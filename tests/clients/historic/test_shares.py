"""Where one part ends and the next begins."""

from __future__ import annotations

import pytest

from triplewire.clients.historic.records import records_of
from triplewire.clients.historic.shares import Sample, Shares, _quantiles, bucket, fraction_of, shares_of

SUBJECTS = [f"<s{number:03}>" for number in range(100)]


@pytest.mark.parametrize(
    ("size", "fraction"),
    [(0, 0), (4_000_000, 0), (8 << 20, 1 / 32), (1 << 30, 1e-3), (1 << 40, 1 / (1 << 18))],
)
def test_a_sample_is_a_thousandth(size, fraction):
    """But a quarter of a megabyte at least, and four at most; a small source needs none."""
    assert fraction_of(size) == pytest.approx(fraction)


def test_boundaries_are_subjects_at_equal_distances():
    """Fewer where there are fewer subjects; the first part is never empty."""
    assert _quantiles(SUBJECTS, 4) == ["<s025>", "<s050>", "<s075>"]
    assert _quantiles(SUBJECTS, 1) == []
    assert _quantiles([], 9) == []
    assert _quantiles(["<a>"] * 50 + ["<b>"] * 50, 10) == ["<b>"]
    assert _quantiles(["<a>"] * 9, 3) == []


def test_as_many_parts_as_their_bytes_are_told(spark):
    """A tenth of all stands for ten times as much; rejected rows do not count."""
    lines = [(f"{subject} <p> <o> .",) for subject in SUBJECTS] + [('{"raw":"x"}',)] * 50
    frame = records_of(spark.createDataFrame(lines, "line string"))
    size = sum(len(line) + 1 for (line,) in lines[:100])
    assert len(shares_of(Sample(frame, 0.1), size, cores=2).starts) == 9
    assert shares_of(Sample(frame, 1.0), size, cores=2) == Shares([], [])
    assert shares_of(None, size, cores=2) == Shares()
    # So much that each core shall have a part, however large one may be.
    assert len(shares_of(Sample(frame, size / (64 << 20)), 1 << 40, cores=4).starts) == 3


def test_subjects_of_which_there_is_very_much(spark):
    """Those of which a sample has many different records; often the same is not much."""
    lines = [f"<a> <p> <o{number}> ." for number in range(30)]
    lines += [f"<b> <p> <o{number}> ." for number in range(29)] + ["<c> <p> <o> ."] * 500
    frame = records_of(spark.createDataFrame([(line,) for line in lines], "line string"))
    assert shares_of(Sample(frame, 1.0), 1 << 20, cores=1).large == ["<a>"]


def test_lines_fall_between_boundaries(spark):
    """A boundary's own subject is behind it."""
    texts = ["<a> .", "<b> .", "<b>", "<c> .", "<z> ."]
    frame = spark.createDataFrame([(text,) for text in texts], "line string")
    rows = frame.select("line", bucket(frame.line, ["<b>", "<bb>", "<c>"]).alias("bucket")).collect()
    assert {row.line: row.bucket for row in rows} == {
        "<a> .": 0,
        "<b> .": 1,
        "<b>": 1,
        "<c> .": 3,
        "<z> .": 3,
    }
    assert {row.bucket for row in frame.select(bucket(frame.line, []).alias("bucket")).collect()} == {0}
