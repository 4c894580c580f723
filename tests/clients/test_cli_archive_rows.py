"""Rows of an archive for people and programs."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime

import pytest

from triplewire.clients.cli_archive_rows import FORMATS, write_rows

XSD = "http://www.w3.org/2001/XMLSchema#"
COLUMNS = ("time", "property", "value", "sequence")
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
ROWS = [
    (NOON, "<http://example.org/p>", f'"21.50"^^<{XSD}decimal>', 7),
    (NOON.replace(microsecond=120_000), None, '"a \\"b\\"\\n,"@en', 8),
    (NOON, "_:b", f'"NaN"^^<{XSD}double>', 9),
    (NOON, "_:b", f'"12345678901234567890"^^<{XSD}integer>', 10),
    (NOON, "_:b", '"7"', 11),
]


def written(format_, rows=ROWS):
    out = io.StringIO()
    write_rows(iter(rows), COLUMNS, format_, out)
    return out.getvalue()


def test_csv():
    """The texts as they are."""
    rows = list(csv.reader(io.StringIO(written("csv"))))
    assert rows[0] == list(COLUMNS)
    assert rows[1] == ["2026-05-04T12:00:00Z", "http://example.org/p", "21.50", "7"]
    assert rows[2] == ["2026-05-04T12:00:00.12Z", "", 'a "b"\n,', "8"]


def test_json():
    """Numbers are numbers where JSON and a double can say them; what is not there is left out."""
    rows = [json.loads(line) for line in written("json").splitlines()]
    assert [row["value"] for row in rows] == [21.5, 'a "b"\n,', "NaN", 12345678901234567890, "7"]
    assert "property" not in rows[1]


def test_a_table():
    """Columns stand below each other, and no value can make a line of its own."""
    lines = written("table").splitlines()
    assert len(lines) == 1 + len(ROWS)
    assert len({line.index(word) for line, word in zip(lines, ["value", "21.50", "a "], strict=False)}) == 1
    assert "\\u000A" in lines[2]


@pytest.mark.parametrize("format_", FORMATS)
def test_nothing(format_):
    """No rows are no error."""
    assert written(format_, []).split() in ([], ["time,property,value,sequence"], list(COLUMNS))
