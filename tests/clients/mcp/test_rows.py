"""Answers that are cut."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from triplewire.clients.mcp.limits import Limits
from triplewire.clients.mcp.rows import CutAnswer, fitting, size

CELLS = st.text(st.characters(exclude_characters="\t\n", codec="utf-8"), min_size=1, max_size=8)
ROWS = st.lists(st.tuples(CELLS, st.none() | CELLS), max_size=12)


def answer(data, limits, rows=1000, *, cuts=(), triples=False):
    taken = CutAnswer(limits, rows, triples=triples)
    places = [0, *sorted(cuts), len(data)]
    whole = True
    for begin, end in pairwise(places):
        whole = taken.feed(data[begin:end])
    return taken.document(whole=whole)


@given(ROWS, st.integers(1, 12), st.integers(10, 200), st.lists(st.integers(0, 60), max_size=3))
def test_what_is_given_is_a_beginning_within_the_limits_and_the_rest_is_counted(rows, most, space, cuts):
    """However the bytes came in pieces."""
    data = "?a\t?b\n" + "".join(f"{a}\t{b or ''}\n" for a, b in rows)
    read = data.encode()
    got = answer(read, Limits(answer_bytes=space), most, cuts=[min(cut, len(read)) for cut in cuts])
    assert got["vars"] == ["a", "b"]
    assert got["rows"] == [list(row) for row in rows[: len(got["rows"])]]
    assert got["count"] == len(rows)
    assert len(got["rows"]) <= most
    assert size(got["rows"]) <= space + 2
    assert ("note" in got) == (len(got["rows"]) < len(rows))


def test_what_is_never_read_is_not_counted():
    """Then the count is a least one, and says so."""
    data = b"?a\n" + b"1\n" * 1000
    taken = CutAnswer(Limits(scanned_bytes=100, rows=5), 5, triples=False)
    assert taken.feed(data[:100])
    assert not taken.feed(data[100:200])
    document = taken.document(whole=False)
    assert document["count_is_exact"] is False
    assert document["count"] < 1000
    assert f"of at least {document['count']} rows" in document["note"]


def test_booleans_triples_and_rows_without_columns():
    """Each form of a query's answer."""
    assert answer(b"true", Limits()) == {"boolean": True}
    assert answer(b"false\n", Limits()) == {"boolean": False}
    assert answer(b"<a> <b> <c> .\n", Limits(), triples=True) == {"triples": ["<a> <b> <c> ."], "count": 1}
    assert answer(b"", Limits(), triples=True) == {"triples": [], "count": 0}
    assert answer(b"\n\n", Limits()) == {"vars": [], "rows": [[]], "count": 1}
    assert answer(b"?x\n", Limits()) == {"vars": ["x"], "rows": [], "count": 0}


def test_a_variable_called_true_is_no_boolean():
    """Its name has a mark of its own in the header."""
    assert answer(b"?true\n1\n", Limits()) == {"vars": ["true"], "rows": [["1"]], "count": 1}


def test_fitting_rows_are_counted_in_bytes():
    """As JSON has them."""
    rows = [["a"], ["é"], ["c" * 50]]
    taken, used = fitting(rows, 3, 20)
    assert taken == [["a"], ["é"]]
    assert used == len(json.dumps(taken, ensure_ascii=False, separators=(",", ":")).encode()) - 1
