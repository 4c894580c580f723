"""Some lines from all over files, found without reading the rest."""

from __future__ import annotations

import gzip

import pytest

from triplewire.clients.historic.line_sample import sampled_lines


def lines_of(frame):
    return [row.value for row in frame.collect()]


@pytest.fixture
def files(tmp_path):
    """Three of unequal sizes, one empty, and what they hold."""
    lines = [f"line {number} \u00e4 {'x' * (number % 50)}" for number in range(20_000)]
    uris = []
    for name, part in (("a", lines[:15_000]), ("b", []), ("c d", lines[15_000:])):
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in part), newline="")
        uris.append(path.as_uri())
    return uris, lines


def test_whole_lines_from_everywhere(spark, files):
    """About so many, in order, none twice, as far from the beginning as from the end."""
    uris, lines = files
    found = lines_of(sampled_lines(spark, uris, 0.1, "UTF-8"))
    numbers = [int(line.split()[1]) for line in found]
    assert found == [lines[number] for number in numbers]
    assert numbers == sorted(set(numbers))
    assert 1700 < len(numbers) < 2300
    assert 4 < sum(number < 5000 for number in numbers) / 100 < 6
    assert 4 < sum(number >= 15_000 for number in numbers) / 100 < 6


def test_all_of_them(spark, files):
    """But for those that a stretch could not see the end of."""
    uris, lines = files
    found = lines_of(sampled_lines(spark, uris, 1.0, "UTF-8"))
    assert len(set(found)) == len(found)
    assert set(found) <= set(lines)
    assert len(found) > 0.99 * len(lines)


def test_no_task_is_needed(spark, files):
    """Spark has the lines at hand, and plans no scan."""
    frame = sampled_lines(spark, files[0], 0.01, "UTF-8").selectExpr("upper(value) AS u")
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    assert plan.startswith("LocalRelation")


def test_where_there_is_no_way_to_a_place(spark, tmp_path):
    """Compressed files, and lines that are longer than anything."""
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(b"a\nb\n" * 1000))
    assert sampled_lines(spark, [packed.as_uri()], 0.5, "UTF-8") is None
    long = tmp_path / "long"
    long.write_bytes(b"x" * 1_000_000)
    assert sampled_lines(spark, [long.as_uri()], 0.01, "UTF-8") is None


def test_other_encodings_and_line_ends(spark, tmp_path):
    """Decoded as they are."""
    path = tmp_path / "a"
    path.write_bytes("gr\u00fcn\r\n".encode("latin-1") * 2000)
    assert set(lines_of(sampled_lines(spark, [path.as_uri()], 0.2, "ISO-8859-1"))) == {"gr\u00fcn"}
