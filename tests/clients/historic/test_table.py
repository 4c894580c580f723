"""Columns and places in a source's rows."""

from __future__ import annotations

import json

import pytest

from triplewire.clients.historic.errors import SourceError
from triplewire.clients.historic.plan import Reference, Source
from triplewire.clients.historic.table import Table, before_all

ROW = "named_struct('x', 'NA', 'y', named_struct('z', array(10, 20)), 'j', parse_json('{\"k\": [7]}'))"


@pytest.fixture(scope="module")
def table(spark):
    frame = spark.range(1000).selectExpr(f"{ROW} AS row")
    return Table(Source("s", "", "parquet", nulls=("NA", "-")), frame, frame)


def test_references_go_into_the_columns(spark, table):
    """By name, into structs, arrays and JSON; texts that stand for null are null."""
    references = {
        "text": Reference("x"),
        "struct": Reference("y.z[1]", ("y", "z", 1)),
        "over": Reference("y.z[9]", ("y", "z", 9)),
        "json": Reference("j.k[0]", ("j", "k", 0)),
    }
    cells = {name: table.cell(reference) for name, reference in references.items()}
    (row,) = (
        table.frame.limit(1).select(*[column.alias(name) for name, (column, _) in cells.items()]).collect()
    )
    assert (row.text, row.struct, row.over, json.loads(row.json.toJson())) == (None, 20, None, 7)
    assert [type_.typeName() for _, type_ in cells.values()] == ["string", "integer", "integer", "variant"]


@pytest.mark.parametrize("reference", [Reference("w"), Reference("X"), Reference("y.w", ("y", "w"))])
def test_a_column_that_is_not_there(table, reference):
    """The names that there are stand in the message."""
    with pytest.raises(SourceError, match=rf"s: there is no column '{reference.name}'; there are x, y, j"):
        table.cell(reference)


def test_a_sample_is_a_part_of_it(table):
    """The same one each time."""
    counts = {table.sampled(0.1).frame.count() for _ in range(2)}
    assert len(counts) == 1
    assert 50 < counts.pop() < 200


def test_a_path_up_to_all():
    """`[*]` ends it."""
    assert before_all(("a", 0, None, "b")) == ("a", 0)
    assert before_all(("a",)) == ("a",)
    assert before_all(()) == ()
