from __future__ import annotations

from pathlib import Path

import pytest

from triplewire.clients.historic.form_source import read_source
from triplewire.clients.historic.form_table import Table
from triplewire.clients.historic.mapping_problems import MappingError, Problems
from triplewire.clients.historic.plan import Source


def source(**values) -> Source:
    problems = Problems("f.toml")
    found = read_source(Table(values, "source", problems), Path("/forms"))
    problems.raise_if_any()
    return found


@pytest.mark.parametrize(
    ("path", "format_", "delimiter"),
    [
        ("a.csv", "csv", ","),
        ("a.csv.gz", "csv", ","),
        ("d/*.tsv", "csv", "\t"),
        ("a.ndjson", "jsonl", ","),
        ("a.jsonl.gz", "jsonl", ","),
        ("a.json", "json", ","),
        ("a.parquet", "parquet", ","),
        ("a.orc", "orc", ","),
    ],
)
def test_the_ending_tells_the_format(path, format_, delimiter):
    """Compressed or not."""
    found = source(path=path)
    assert (found.name, found.path, found.format, found.delimiter) == (
        path,
        f"/forms/{path}",
        format_,
        delimiter,
    )


def test_what_is_given_is_taken():
    """Each key of a source."""
    found = source(
        path="s3a://bucket/data",
        format="csv",
        delimiter=";",
        quote="'",
        encoding="ISO-8859-1",
        header=False,
        columns=["a", "b"],
        multiline=True,
        nulls=["", "-999"],
    )
    assert found == Source(
        "s3a://bucket/data",
        "s3a://bucket/data",
        "csv",
        delimiter=";",
        quote="'",
        encoding="ISO-8859-1",
        header=False,
        columns=("a", "b"),
        multiline=True,
        nulls=("", "-999"),
    )


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({}, "source.path: is missing"),
        ({"path": "data"}, "source.format: must be given, as data does not tell it"),
        ({"path": "a.csv", "format": "cvs"}, "did you mean csv"),
        ({"path": "a.csv", "delimiter": ";;"}, "source.delimiter: must be one character"),
        ({"path": "a.csv", "header": False}, "source.columns: must be given where there is no header"),
        ({"path": "a.csv", "columns": ["a"]}, "source.columns: stand in the header"),
        ({"path": "a.jsonl", "nulls": ["x"]}, "source.nulls: .*JSON has its own"),
        ({"path": "a.json", "iterator": "$..a"}, "source.iterator: .*no JSONPath"),
        ({"path": "a.csv", "delimeter": ";"}, "source.delimeter: is no key; did you mean delimiter"),
    ],
)
def test_what_is_wrong_is_said(values, problem):
    """By its key."""
    with pytest.raises(MappingError, match=problem):
        source(**values)


def test_nulls_are_for_tables():
    """An empty cell of CSV is null, an empty text of JSON is one."""
    assert source(path="a.csv").nulls == ("",)
    assert source(path="a.csv", nulls=[]).nulls == ()
    assert source(path="a.json").nulls == ()
    assert source(path="a.csv", quote="").quote == ""
