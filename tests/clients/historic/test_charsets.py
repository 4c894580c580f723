"""Encodings that can be read, by lines or whole."""

from __future__ import annotations

import pytest
from support.tables import found

from triplewire.clients.historic.charsets import UTF_8, charset_of, is_single_byte
from triplewire.clients.historic.errors import SourceError
from triplewire.clients.historic.plan import Source


@pytest.mark.parametrize("name", ["iso-8859-1", "ISO-8859-7", "windows-1252", "cp437", "koi8-r", "latin-1"])
def test_encodings_with_a_byte_for_each_character(name):
    """A line's end is a byte that is nothing else."""
    assert is_single_byte(name)


@pytest.mark.parametrize(
    "name", ["utf-16", "utf-16-le", "utf-32", "shift_jis", "gbk", "euc-jp", "iso2022_jp", "cp037", "utf-7"]
)
def test_encodings_with_more(name):
    """Bytes that are halves of characters, that shift, or that are not ASCII's."""
    assert not is_single_byte(name)


def test_names_of_utf_8(spark):
    """ASCII is UTF-8."""
    assert {charset_of(spark, Source("s", "", "csv", encoding=name)) for name in ("utf8", "US-ASCII")} == {
        UTF_8
    }


@pytest.mark.parametrize("name", ["klingon", "rot13", "no name", ""])
def test_what_is_none(spark, name):
    """The source is named."""
    with pytest.raises(SourceError, match=r"s: the encoding .* is not known"):
        charset_of(spark, Source("s", "", "csv", encoding=name))


@pytest.mark.parametrize("multiline", [False, True])
def test_bytes_that_are_none_break_a_row(spark, tmp_path, multiline):
    """Not the run: windows-1252 has five of them."""
    (tmp_path / "a.csv").write_bytes(b"x,y\n\x81,1\n\x80,2\n")
    rows = found(spark, tmp_path / "a.csv", "csv", encoding="windows-1252", multiline=multiline)
    assert [(row.line, row.fault, row.row) for row in rows] == [
        (2, "bad encoding", None),
        (3, None, {"x": "\u20ac", "y": "2"}),
    ]
