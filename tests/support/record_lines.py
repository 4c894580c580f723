"""What stands in records, with a look at each of them: that it is what `records.py` says."""

from __future__ import annotations


def lines_in(frame):
    """The lines of all records: quads, and JSON objects of rejected rows."""
    return [line for row in frame.collect() for line in lines_of(row)]


def lines_of(row):
    """Those of one record."""
    if row.subject is None:
        return []
    if row.subject.startswith("{"):
        assert (row.quads, row.made) == (None, 0)
        return [row.subject]
    lines = row.quads.split("\n")
    assert lines == sorted(set(lines), key=str.encode), "in order, each once"
    assert len(lines) == row.made
    assert all(line.startswith(f"{row.subject} ") for line in lines)
    return lines
