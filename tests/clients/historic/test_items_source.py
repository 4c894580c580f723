"""Files of items, as streams have them on the wire."""

from __future__ import annotations

import pytest
from support.record_lines import lines_in
from support.tables import found, literals, mapping_of

from triplewire.broker.wire.items import Item, encode_item
from triplewire.clients.historic import items_source
from triplewire.clients.historic.errors import SourceError
from triplewire.clients.historic.execution import carried_out, records
from triplewire.clients.historic.plan import Reference, Source
from triplewire.clients.historic.sources import table_of

FULL = Item(
    "e1",
    "src",
    "application/json",
    b'{"temperature": 21.5, "tags": ["a", "b"]}',
    application_id="app",
    aggregator_ids=("one", "two"),
    event_type="Reading",
    timestamp="2026-01-01T00:00:00Z",
    headers=(("X-Foo", "bar"),),
)
PLAIN = Item("e2", "src", "text/plain", "21 \u00b0C\n".encode())
BINARY = Item("e3", "src", "application/octet-stream", b"\xff\xfe")


def test_items_as_rows(spark, tmp_path):
    """Headers are columns, a body in JSON is a value; one that is no text breaks its row."""
    wire = b"".join(map(encode_item, (FULL, PLAIN, BINARY)))
    unfit = b"Event-Id: e4\r\nSource-Id: src\r\nSyntax: nonsense\r\nBody-Length: 2\r\n\r\nab"
    (tmp_path / "a.items").write_bytes(wire + unfit + encode_item(FULL))
    (tmp_path / "b.items").write_bytes(encode_item(PLAIN) + b"no item at all\r\n\r\n")
    (tmp_path / "c.items").write_bytes(encode_item(FULL)[:-5])
    (tmp_path / "d.items").write_bytes(b"")
    rows = found(spark, tmp_path, "items")
    assert [(row.file[0], row.line, row.fault, row.row and row.row["event_id"]) for row in rows] == [
        ("a", 1, None, "e1"),
        ("a", 2, None, "e2"),
        ("a", 3, "bad encoding", None),
        ("a", 4, "bad line", None),
        ("a", 5, None, "e1"),
        ("b", 1, None, "e2"),
        ("b", 2, "bad line", None),
        ("c", 1, "bad line", None),
    ]
    assert rows[0].row == {
        "event_id": "e1",
        "source_id": "src",
        "application_id": "app",
        "event_type": "Reading",
        "syntax": "application/json",
        "timestamp": "2026-01-01T00:00:00Z",
        "aggregator_ids": "one,two",
        "body": FULL.body.decode(),
        "json": {"temperature": 21.5, "tags": ["a", "b"]},
    }
    assert (rows[1].row["body"], rows[1].row["json"], rows[1].row["aggregator_ids"]) == (
        "21 \u00b0C\n",
        None,
        None,
    )
    assert "Syntax" in rows[3].raw
    assert rows[2].raw == "Event-Id: e3"


def test_a_mapping_reads_into_the_body(spark, tmp_path):
    """`$.json.temperature` keeps its type; a body that is no JSON has none."""
    (tmp_path / "a.items").write_bytes(encode_item(FULL) + encode_item(PLAIN))
    rules = literals(
        Reference("t", ("json", "temperature")),
        Reference("tag", ("json", "tags", None)),
        "event_type",
        subject=("http://e/", Reference("event_id")),
    )
    mapping = mapping_of(tmp_path / "a.items", "items", *rules)
    made = lines_in(records(carried_out(table_of(spark, mapping.sources[0]), mapping)))
    assert set(made) == {
        '<http://e/e1> <urn:t> "2.15E1"^^<http://www.w3.org/2001/XMLSchema#double> .',
        '<http://e/e1> <urn:tag> "a" .',
        '<http://e/e1> <urn:tag> "b" .',
        '<http://e/e1> <urn:event_type> "Reading" .',
    }


def test_a_file_of_many_pieces_and_batches(monkeypatch):
    """Items come in the file's order, wherever a piece ends; without Spark."""
    monkeypatch.setattr(items_source, "_PIECE", 7)
    wire = b"".join(map(encode_item, (FULL, PLAIN, FULL)))
    assert [row["event_id"] for row in items_source._rows(memoryview(wire))] == ["e1", "e2", "e1"]


def test_nothing_there_is_said(spark, tmp_path):
    """With the path."""
    with pytest.raises(SourceError, match="none"):
        table_of(spark, Source("s", str(tmp_path / "none"), "items"))
