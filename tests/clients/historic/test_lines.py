"""Line numbers from splits, without counting while files are read."""

from __future__ import annotations

from triplewire.clients.historic.lines import numbered
from triplewire.clients.historic.plan import Source
from triplewire.clients.historic.table import Table

PLACES = "file string, block bigint, place bigint"
SOURCE = Source("s", "", "csv")


def lines_of(rows, table):
    return sorted((row.file, row.place, row.line) for row in numbered(rows, table).collect())


def test_lines_of_the_splits_before_are_added(spark):
    """Places of a split need not begin at 0, and splits come in any order; other files do not count."""
    places = [
        ("a", 100, 7),
        ("a", 100, 8),
        ("a", 0, 50),
        ("a", 0, 51),
        ("a", 0, 52),
        ("b", 0, 0),
        ("c", 0, 0),
    ]
    lines = spark.createDataFrame(places, PLACES)
    asked = [("a", 100, 8), ("a", 0, 50), ("b", 0, 0)]
    rows = spark.createDataFrame(asked, PLACES)
    expected = [("a", 8, 5), ("a", 50, 1), ("b", 0, 1)]
    assert lines_of(rows, Table(SOURCE, rows, lines)) == expected
    skipped = [(file, place, line + 2) for file, place, line in expected]
    assert lines_of(rows, Table(SOURCE, rows, lines, skipped=2)) == skipped


def test_rows_of_several_lines(spark):
    """Their heights are added up; a row that is not there any more has no line."""
    lines = spark.createDataFrame(
        [("a", 0, 0, 1), ("a", 0, 1, 3), ("a", 0, 2, 1), ("b", 0, 0, 9)], f"{PLACES}, height int"
    )
    rows = spark.createDataFrame([("a", 0, 2), ("a", 0, 1), ("a", 0, 9)], PLACES)
    assert lines_of(rows, Table(SOURCE, rows, lines, skipped=1)) == [("a", 1, 3), ("a", 2, 6), ("a", 9, None)]
