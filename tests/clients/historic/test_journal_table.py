"""The broker's journal as a source of a mapping."""

from __future__ import annotations

import time

import pytest
from support.archives import broker_at, fill, told
from support.record_lines import lines_in
from support.tables import found, literals, mapping_of

from triplewire.clients.historic.execution import carried_out, records
from triplewire.clients.historic.journal_table import journal_table
from triplewire.clients.historic.plan import Reference, Source
from triplewire.clients.historic.sources import table_of


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """What a broker has written: three updates of it, and all that they added and removed."""
    directory = tmp_path_factory.mktemp("journal")
    with broker_at(directory) as broker:
        fill(broker, 3)
    time.sleep(1.2)  # a record younger than a second may still be taken back, and does not count
    return directory


def test_each_change_is_a_row(spark, data):
    """Its line is the number of its record."""
    rows = found(spark, data, "journal")
    made = sorted(
        (
            row.line,
            row.row["added"],
            *(row.row[name] or "" for name in ("graph", "subject", "predicate", "object")),
        )
        for row in rows
    )
    assert made == sorted((row[0], row[3], *row[4:]) for row in told(data))
    assert {row.file for row in rows} == {data.name}
    assert sum(not row.row["added"] for row in rows) == 2


def test_a_mapping_of_changes(spark, data):
    """The columns keep their types."""
    subject = ("http://e/", Reference("sequence"))
    mapping = mapping_of(data, "journal", *literals("added", "object", subject=subject))
    made = set(lines_in(records(carried_out(table_of(spark, mapping.sources[0]), mapping))))
    number = told(data)[-1][0]
    assert f'<http://e/{number}> <urn:added> "false"^^<http://www.w3.org/2001/XMLSchema#boolean> .' in made
    assert any(line.startswith(f"<http://e/{number}> <urn:object>") for line in made)


def test_a_journal_without_records_has_no_rows(spark, tmp_path):
    """Spark then asks for the rows of a partition of its own."""
    with broker_at(tmp_path):
        pass
    assert found(spark, tmp_path, "journal") == []


def test_nothing_there_is_said(spark, tmp_path):
    """With the path."""
    with pytest.raises(Exception, match="none"):
        journal_table(spark, Source("s", str(tmp_path / "none"), "journal")).frame.collect()
