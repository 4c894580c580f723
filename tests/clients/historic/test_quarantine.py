"""Rejected rows of one run: counted, with their lines, and headers that are none."""

from __future__ import annotations

import json

import pytest

from triplewire.clients.historic.execution import carried_out, records
from triplewire.clients.historic.parts import PartSettings, write_records
from triplewire.clients.historic.plan import (
    Mapping,
    Number,
    Reference,
    Rule,
    Source,
    Template,
    TermMap,
    TermType,
)
from triplewire.clients.historic.quarantine import LONGEST_RAW, Quarantine
from triplewire.clients.historic.sources import table_of

SUBJECT = TermMap(Template(("http://e/", Reference("x"))), TermType.IRI)
VALUE = TermMap(Reference("y"), TermType.LITERAL, reading=Number())
LONG = "z" * (LONGEST_RAW + 5)


def quarantine_of(spark, folder, out, *names):
    """That of a mapping of the same two columns of each source."""
    sources = tuple(Source(name, str(folder / name), "csv") for name in names)
    rules = tuple(Rule(name, SUBJECT, SUBJECT, VALUE, required=True) for name in names)
    mapping = Mapping(sources, rules)
    tables = [table_of(spark, source) for source in sources]
    first, *others = [records(carried_out(table, mapping)) for table in tables]
    for frame in others:
        first = first.unionByName(frame)
    return Quarantine(spark, write_records(first, str(out), PartSettings(), None), tables)


@pytest.fixture(scope="module")
def found(spark, tmp_path_factory):
    """Two sources, one of two files; a header stands twice in one of them."""
    folder = tmp_path_factory.mktemp("quarantine")
    (folder / "one").mkdir()
    (folder / "one" / "a.csv").write_text(f"x,y\n1,1\n2,bad\nx,y\n3,\n,bad\n4,{LONG}\n")
    (folder / "one" / "b.csv").write_text("x,y\n5,5,5\n")
    (folder / "two").write_text("x,y\n6,also bad\n")
    return quarantine_of(spark, folder, folder / "out", "one", "two"), folder


def test_rows_and_reasons_are_counted(found):
    """A row may have several; a file's own header is no row, another of the same text is a bad line."""
    quarantine, _ = found
    rows, reasons = quarantine.counts()
    assert rows == 7
    assert reasons == {"bad line": 1, "bad number": 4, "missing value": 1, "too many columns": 1}


def test_they_are_written_in_order_with_their_lines(found):
    """What was there is replaced; long texts are cut."""
    quarantine, folder = found
    (folder / "rejected").mkdir()
    (folder / "rejected" / "old.json").write_text("old")
    quarantine.write(str(folder / "rejected"))
    (file,) = (folder / "rejected").glob("*.json")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [
        (row["file"].rpartition("/")[2], row["line"], row["source"], row["reasons"], row["raw"][:9])
        for row in rows
    ] == [
        ("a.csv", 3, "one", ["bad number"], "2,bad"),
        ("a.csv", 4, "one", ["bad line"], "x,y"),
        ("a.csv", 5, "one", ["missing value"], "3,"),
        ("a.csv", 6, "one", ["bad number"], ",bad"),
        ("a.csv", 7, "one", ["bad number"], "4,zzzzzzz"),
        ("b.csv", 2, "one", ["too many columns"], "5,5,5"),
        ("two", 2, "two", ["bad number"], "6,also ba"),
    ]
    assert len(rows[4]["raw"]) == LONGEST_RAW


def test_nothing_was_rejected(spark, tmp_path):
    """Headers alone are no rows, and leave no directory."""
    (tmp_path / "one").write_text("x,y\n1,1\n")
    quarantine = quarantine_of(spark, tmp_path, tmp_path / "out", "one")
    assert quarantine.counts() == (0, {})
    assert quarantine.frame() is None
    quarantine.write(str(tmp_path / "rejected"))
    assert not (tmp_path / "rejected").exists()
