"""Parquet and ORC: columns with types, and what terms they make by R2RML's natural mapping (10.2)."""

from __future__ import annotations

import pytest
from support.record_lines import lines_in
from support.tables import found, literals, mapping_of

from triplewire.clients.historic.errors import SourceError
from triplewire.clients.historic.execution import carried_out, records
from triplewire.clients.historic.plan import Source
from triplewire.clients.historic.sources import table_of

XSD = "http://www.w3.org/2001/XMLSchema#"
# An expression of Spark's SQL, and the literal that it makes.
TYPED = {
    "tiny": ("CAST(-7 AS TINYINT)", f'"-7"^^<{XSD}integer>'),
    "long": ("9223372036854775807L", f'"9223372036854775807"^^<{XSD}integer>'),
    "double": ("CAST(20.5 AS DOUBLE)", f'"2.05E1"^^<{XSD}double>'),
    "float": ("CAST(0.1 AS FLOAT)", f'"1.0E-1"^^<{XSD}double>'),
    "infinite": ("CAST('-Infinity' AS DOUBLE)", f'"-INF"^^<{XSD}double>'),
    "decimal": ("CAST(20.50 AS DECIMAL(10,3))", f'"20.5"^^<{XSD}decimal>'),
    "whole": ("CAST(100 AS DECIMAL(38,0))", f'"100"^^<{XSD}decimal>'),
    "true": ("true", f'"true"^^<{XSD}boolean>'),
    "date": ("DATE'2026-02-28'", f'"2026-02-28"^^<{XSD}date>'),
    "zoned": ("TIMESTAMP'2026-02-28T10:30:00.25+02:00'", f'"2026-02-28T08:30:00.25Z"^^<{XSD}dateTime>'),
    "unzoned": ("TIMESTAMP_NTZ'2026-02-28 10:30:00'", f'"2026-02-28T10:30:00"^^<{XSD}dateTime>'),
    "binary": ("X'00ffab'", f'"00FFAB"^^<{XSD}hexBinary>'),
    "text": ("'say \\\"hi\\\"'", '"say \\"hi\\""'),
    "empty": ("''", '""'),
}


@pytest.mark.parametrize("format_", ["parquet", "orc"])
def test_columns_keep_their_types(spark, tmp_path, format_):
    """Each makes the literal of its type; nulls make none."""
    columns = ", ".join(f"{expression} AS `{name}`" for name, (expression, _) in TYPED.items())
    nulls = ", ".join(f"NULLIF({expression}, {expression})" for expression, _ in TYPED.values())
    frame = spark.sql(f"SELECT 1 AS n, {columns} UNION ALL SELECT 2, {nulls}")
    frame.write.format(format_).save(str(tmp_path / "in"))
    mapping = mapping_of(tmp_path / "in", format_, *literals(*TYPED), nulls=())
    made = lines_in(records(carried_out(table_of(spark, mapping.sources[0]), mapping)))
    assert set(made) == {f"<http://e/1> <urn:{name}> {literal} ." for name, (_, literal) in TYPED.items()}


@pytest.mark.parametrize("format_", ["parquet", "orc"])
def test_rows_by_file_and_the_columns_of_directories(spark, tmp_path, format_):
    """A row's line is its number in the file; what begins with `_` is no file of data."""
    frame = spark.range(6).selectExpr("id AS n", "DATE'2026-01-01' + CAST(id DIV 3 AS INT) AS day")
    frame.coalesce(1).write.format(format_).partitionBy("day").save(str(tmp_path / "in"))
    assert (tmp_path / "in" / "_SUCCESS").exists()
    rows = found(spark, tmp_path / "in", format_)
    assert sorted((row.row["day"], row.line, row.row["n"]) for row in rows) == [
        (f"2026-01-0{1 + number // 3}", 1 + number % 3, number) for number in range(6)
    ]
    assert '{"n":0,"day":"2026-01-01"}' in {row.raw for row in rows}


def test_a_column_that_is_no_value_breaks_its_row(spark, tmp_path):
    """A list has no literal; an element of it has."""
    spark.sql("SELECT 1 AS n, array(1, 2) AS list").write.parquet(str(tmp_path / "in"))
    mapping = mapping_of(tmp_path / "in", "parquet", *literals("list"))
    (line,) = lines_in(records(carried_out(table_of(spark, mapping.sources[0]), mapping)))
    assert '"reasons":["not a value"]' in line


@pytest.mark.parametrize("format_", ["parquet", "orc"])
def test_what_is_not_there_or_of_another_format(spark, tmp_path, format_):
    """The path is named."""
    with pytest.raises(SourceError, match="none can't be read as"):
        table_of(spark, Source("s", str(tmp_path / "none"), format_))
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="empty"):
        table_of(spark, Source("s", str(tmp_path / "empty"), format_))
    (tmp_path / "in").write_text("x,y\n1,2\n")
    with pytest.raises(SourceError, match="in can't be read as"):
        table_of(spark, Source("s", str(tmp_path / "in"), format_))
