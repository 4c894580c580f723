"""JSON as rows: documents with a path to them, and a value a line; each value keeps its own type."""

from __future__ import annotations

import gzip
import json

import pytest
from support.plain_mapping import plain_mapping
from support.record_lines import lines_in
from support.tables import found, literals, mapping_of

from triplewire.clients.historic.errors import SourceError
from triplewire.clients.historic.execution import carried_out, records
from triplewire.clients.historic.json_source import json_lines_table
from triplewire.clients.historic.plan import Reference, Source
from triplewire.clients.historic.sources import table_of

DOCUMENT = {
    "name": "station",
    "stations": [
        {"id": "a", "readings": [{"t": 1, "v": 20.5}, {"t": 2, "v": None}]},
        {"id": "b"},
        {"id": "c", "readings": [{"t": 3, "v": "x"}]},
        {"id": "d", "readings": {"one": {"t": 4}, "two": {"t": 5}}},
    ],
}


def test_lines(spark, tmp_path):
    """Each is a value by itself; empty ones are none, and broken ones keep their numbers and texts."""
    lines = [
        b'{"a": 1, "b": [1, {"c": "x"}]}',
        b"",
        b'{"a": "1"',
        b"  ",
        b'{"a": "\xff"}',
        b'{"a": true}  ',
        b"{'a': 1}",
        b'{"a": 1} {"a": 2}',
        b"[1]",
        b'{"a": 1},',
        b'{"a": 1}]',
        b"  7",
    ]
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\n".join(lines) + b"\n")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b"\r\n".join(lines[:3])))
    rows = found(spark, tmp_path, "jsonl")
    assert [(row.file, row.line, row.fault, row.row) for row in rows] == [
        ("a.jsonl", 1, None, {"a": 1, "b": [1, {"c": "x"}]}),
        ("a.jsonl", 3, "bad line", None),
        ("a.jsonl", 5, "bad encoding", None),
        ("a.jsonl", 6, None, {"a": True}),
        ("a.jsonl", 7, "bad line", None),
        ("a.jsonl", 8, "bad line", None),
        ("a.jsonl", 9, None, [1]),
        ("a.jsonl", 10, "bad line", None),
        ("a.jsonl", 11, "bad line", None),
        ("a.jsonl", 12, None, 7),
        ("b.jsonl.gz", 1, None, {"a": 1, "b": [1, {"c": "x"}]}),
        ("b.jsonl.gz", 3, "bad line", None),
    ]
    assert rows[1].raw == '{"a": "1"'


@pytest.mark.parametrize(
    ("iterator", "expected"),
    [
        ("$.stations[*].readings[*]", [(1, 20.5), (2, None), (3, "x"), (4, None), (5, None)]),
        ("$.stations[0].readings[*]", [(1, 20.5), (2, None)]),
        ("$.stations[2].readings[0]", [(3, "x")]),
        ("$['stations'][*]['readings'][0]", [(1, 20.5), (3, "x")]),
        ("$.stations[3].readings.*", [(4, None), (5, None)]),
        ("$.nowhere[*]", []),
        ("$.name[*]", []),
    ],
)
def test_documents_with_a_path_to_their_rows(spark, tmp_path, iterator, expected):
    """Elements of arrays, members of objects; where the path leads nowhere there is no row."""
    (tmp_path / "a.json").write_text(json.dumps(DOCUMENT, indent=1))
    rows = found(spark, tmp_path / "a.json", "json", iterator=iterator)
    assert [(row.row["t"], row.row.get("v")) for row in rows] == expected
    assert [row.line for row in rows] == list(range(1, len(rows) + 1))


def test_documents_that_are_rows_or_lists_or_broken(spark, tmp_path):
    """A root that is an array, or an object; a broken document is one broken row, and an empty one none."""
    texts = {
        "a": b'[{"x": 1}, 7, {"x": [2]}]',
        "b": b'\xef\xbb\xbf[{"x": 3}]',
        "c": b'[{"x": 4}, ',
        "d": b'{"x": 5}',
        "e": b"",
        "f": b"[]",
        "g": b'[{"x": "\xff"}]',
        "h": b'{"x": 6}\n{"x": 7}\n',
        "i": b"[1] ]",
        "j": b"7",
    }
    for name, data in texts.items():
        (tmp_path / f"{name}.json").write_bytes(data)
    rows = found(spark, tmp_path, "json", iterator="$[*]")
    assert [(row.file[0], row.line, row.fault, row.row) for row in rows] == [
        ("a", 1, None, {"x": 1}),
        ("a", 2, None, 7),
        ("a", 3, None, {"x": [2]}),
        ("b", 1, None, {"x": 3}),
        ("c", 1, "bad line", None),
        ("d", 1, None, 5),
        ("g", 1, "bad encoding", None),
        ("h", 1, "bad line", None),
        ("i", 1, "bad line", None),
    ]
    assert rows[4].raw == '[{"x": 4}, '
    (row,) = found(spark, tmp_path / "d.json", "json")
    assert row.row == {"x": 5}


def test_values_keep_their_own_types(spark, tmp_path):
    """RML's natural mapping, as plain Python does it, whatever the other rows have there."""
    rows = [
        {"n": 1, "v": 1, "deep": {"list": [1, "x", 2.5]}},
        {"n": 2, "v": 1.0, "deep": {"list": []}},
        {"n": 3, "v": "1"},
        {"n": 4, "v": True, "deep": None},
        {"n": 5, "v": None},
        {"n": 6, "v": {"an": "object"}},
        {"n": 7, "v": 12345678901234567890123, "deep": {"list": [[1]]}},
        {"n": 8, "v": -1.5e300, "extra": "\u00e4 \"'\n"},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    subject = ("http://e/", Reference("n", ("n",)))
    paths = {"v": ("v",), "each": ("deep", "list", None), "first": ("deep", "list", 0), "extra": ("extra",)}
    rules = literals(*(Reference(name, steps) for name, steps in paths.items()), subject=subject)
    mapping = mapping_of(path, "jsonl", *rules)
    made = lines_in(records(carried_out(table_of(spark, mapping.sources[0]), mapping)))
    expected, broken = plain_mapping(rows, mapping)
    assert {line for line in made if line.startswith("<")} == expected
    rejected = [json.loads(line) for line in made if not line.startswith("<")]
    assert {row["place"]: row["reasons"] for row in rejected} == {
        number: [str(reason)] for number, reason in broken
    }
    assert len(broken) == 2


def test_nothing_there_is_said(spark, tmp_path):
    """With the path."""
    with pytest.raises(SourceError, match=r"none\.jsonl: there is nothing to read"):
        json_lines_table(spark, Source("s", str(tmp_path / "none.jsonl"), "jsonl"))


def test_other_encodings(spark, tmp_path):
    """RFC 8259 wants UTF-8 between strangers; RML lets a source say what its file is in."""
    (tmp_path / "a.json").write_bytes(json.dumps(DOCUMENT).encode("utf-16"))
    rows = found(spark, tmp_path / "a.json", "json", iterator="$.stations[*]", encoding="UTF-16")
    assert [row.row["id"] for row in rows] == ["a", "b", "c", "d"]
    (tmp_path / "a.jsonl").write_bytes('{"a": "21 °C"}\n{"a": "€"}\n'.encode("windows-1252"))
    rows = found(spark, tmp_path / "a.jsonl", "jsonl", encoding="windows-1252")
    assert [(row.line, row.row["a"]) for row in rows] == [(1, "21 °C"), (2, "€")]
    with pytest.raises(SourceError, match="UTF-16"):
        found(spark, tmp_path / "a.jsonl", "jsonl", encoding="UTF-16")
