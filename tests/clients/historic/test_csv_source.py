"""CSV files as rows: headers, quotes, delimiters, encodings, and lines that are broken, with their numbers."""

from __future__ import annotations

import gzip
from contextlib import contextmanager

import pytest
from support.tables import found

from triplewire.clients.historic.errors import SourceError
from triplewire.clients.historic.plan import Source
from triplewire.clients.historic.sources import table_of

SPLIT = "spark.sql.files.maxPartitionBytes"


@contextmanager
def splits_of(spark, size):
    """Files are cut into pieces of so many bytes."""
    before = spark.conf.get(SPLIT)
    spark.conf.set(SPLIT, size)
    try:
        yield
    finally:
        spark.conf.set(SPLIT, before)


def write(folder, **files):
    for name, text in files.items():
        data = text.encode() if isinstance(text, str) else text
        (folder / f"{name}.csv").write_bytes(data)
    return folder


def cells(rows):
    return [(row.file, row.line, row.row) for row in rows]


def test_each_file_has_a_header_of_its_own(spark, tmp_path):
    """Columns in another order, ends of lines in CRLF, a byte order mark, compressed files; an empty file has no rows."""
    write(
        tmp_path,
        a="x,y\n1,2\n\n3,4",
        b="y,x\r\n5,6\r\n",
        c="\ufeffx,y\n7,8\n",
        d="",
        e="x,y\n",
        f='"x","y"\n9,10\n',
    )
    (tmp_path / "g.csv.gz").write_bytes(gzip.compress(b"x,y\n11,12\n"))
    assert cells(found(spark, tmp_path, "csv")) == [
        ("a.csv", 2, {"x": "1", "y": "2"}),
        ("a.csv", 4, {"x": "3", "y": "4"}),
        ("b.csv", 2, {"x": "6", "y": "5"}),
        ("c.csv", 2, {"x": "7", "y": "8"}),
        ("f.csv", 2, {"x": "9", "y": "10"}),
        ("g.csv.gz", 2, {"x": "11", "y": "12"}),
    ]


def test_broken_lines_have_their_numbers_across_splits(spark, tmp_path):
    """Each reason, in a file of many pieces and in one that can't be cut."""
    broken = {
        3: ("1", "too few columns"),
        40: ("1,2,3", "too many columns"),
        77: ('"1,2', "bad line"),
        90: ('"1"x,2', "bad line"),
        120: (b"\xff,2", "bad encoding"),
    }
    lines = [b"x,y"] + [f"{number},{number}".encode() for number in range(2, 130)]
    for number, (line, _) in broken.items():
        lines[number - 1] = line if isinstance(line, bytes) else line.encode()
    data = b"\n".join(lines) + b"\n"
    (tmp_path / "a.csv").write_bytes(data)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(data))
    with splits_of(spark, "200"):
        rows = found(spark, tmp_path, "csv")
    for file in ("a.csv", "b.csv.gz"):
        assert {row.line: row.fault for row in rows if row.file == file and row.fault} == {
            number: reason for number, (_, reason) in broken.items()
        }
    assert all(row.row == {"x": str(row.line), "y": str(row.line)} for row in rows if not row.fault)
    assert len(rows) == 2 * 128
    assert next(row.raw for row in rows if row.line == 40) == "1,2,3"


def test_quotes(spark, tmp_path):
    """RFC 4180: delimiters and doubled quotes within quotes; spaces stay; an empty cell is null unless said otherwise."""
    text = 'x,y\n"a,b","say ""hi"""\n" a ", b \n"",\n5" pipe,6\n'
    write(tmp_path, a=text)
    rows = cells(found(spark, tmp_path / "a.csv", "csv", nulls=()))
    assert rows == [
        ("a.csv", 2, {"x": "a,b", "y": 'say "hi"'}),
        ("a.csv", 3, {"x": " a ", "y": " b "}),
        ("a.csv", 4, {"x": "", "y": ""}),
        ("a.csv", 5, {"x": '5" pipe', "y": "6"}),
    ]


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("x;y\n'a;b';2\n", {"delimiter": ";", "quote": "'"}, {"x": "a;b", "y": "2"}),
        ("x\ty\na \t2,5\n", {"delimiter": "\t"}, {"x": "a ", "y": "2,5"}),
        ('x|y\n"a|2\n', {"delimiter": "|", "quote": ""}, {"x": '"a', "y": "2"}),
        ("a,1\n", {"header": False, "columns": ("x", "y")}, {"x": "a", "y": "1"}),
        (
            "gr\u00f6\u00dfe,y\n\u00b0C,2\n".encode("iso-8859-1"),
            {"encoding": "ISO-8859-1"},
            {"gr\u00f6\u00dfe": "\u00b0C", "y": "2"},
        ),
        (
            "\u20ac,y\n\u201c,2\n".encode("windows-1252"),
            {"encoding": "windows-1252"},
            {"\u20ac": "\u201c", "y": "2"},
        ),
        (
            "\ufeff\u010da,y\r\n\u65e5\u672c,2\r\n".encode("utf-16-be"),
            {"encoding": "UTF-16", "multiline": True},
            {"\u010da": "\u65e5\u672c", "y": "2"},
        ),
        ("a.b,`c`\n1,2\n", {}, {"a.b": "1", "`c`": "2"}),
        ("x y,_bad\n1,2\n", {}, {"x y": "1", "_bad": "2"}),
        ("Time,time\n1,2\n", {}, {"Time": "1", "time": "2"}),
    ],
)
def test_what_a_mapping_may_say_of_a_file(spark, tmp_path, text, options, expected):
    """Delimiter, quote, header, encoding; and names of columns that Spark has other ideas about."""
    write(tmp_path, a=text)
    rows = found(spark, tmp_path / "a.csv", "csv", **options)
    assert [row.row for row in rows] == [expected]


def test_cells_with_ends_of_lines(spark, tmp_path):
    """A row's number is that of its first line."""
    write(tmp_path, a='x,y\n"a\nb",1\nc,2\n"d\n\ne",3\nf\ng,5\n', b="\ufeffy,x\n1,z\n")
    rows = found(spark, tmp_path, "csv", multiline=True)
    assert [(row.file, row.line, row.row, row.fault) for row in rows] == [
        ("a.csv", 2, {"x": "a\nb", "y": "1"}, None),
        ("a.csv", 4, {"x": "c", "y": "2"}, None),
        ("a.csv", 5, {"x": "d\n\ne", "y": "3"}, None),
        ("a.csv", 8, None, "too few columns"),
        ("a.csv", 9, {"x": "g", "y": "5"}, None),
        ("b.csv", 2, {"x": "z", "y": "1"}, None),
    ]


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        ({"a": "x,y\n", "b": "x,z\n"}, {}, r"b\.csv has other columns than .*a\.csv: y, z"),
        ({"a": "x,y,x\n"}, {}, r"a\.csv: the header has the name 'x' twice"),
        ({"a": "\n1,2\n"}, {}, r"a\.csv: the header is empty"),
        ({"a": ""}, {}, "there is nothing in its files"),
        ({"a": b"x,\xff\n"}, {}, r"a\.csv: the header is not in UTF-8"),
        ({"a": "x\n"}, {"encoding": "UTF-16LE"}, "UTF-16LE is not read by lines"),
        ({"a": "x\n"}, {"encoding": "klingon"}, "klingon"),
        ({"a": "x\n"}, {"encoding": "klingon", "multiline": True}, "klingon"),
        ({"a": "x\n"}, {"header": False}, "must name the columns"),
        ({"a": "x" * (1 << 20)}, {}, r"a\.csv: the first line does not end within"),
    ],
)
def test_files_that_are_not_as_they_must_be(spark, tmp_path, files, options, message):
    """The message says which file, and why."""
    write(tmp_path, **files)
    with pytest.raises(SourceError, match=message):
        table_of(spark, Source("s", str(tmp_path), "csv", **options))
