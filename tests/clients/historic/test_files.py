"""Which files there are at a path, and how each begins."""

from __future__ import annotations

import gzip

import pytest

from triplewire.clients.historic.errors import SourceError
from triplewire.clients.historic.files import (
    base_of,
    below,
    files_at,
    first_line,
    paths_of,
    shown,
    size_of,
)

ODD = "a [1] {b} *?\u00e4 50%.csv"


@pytest.fixture
def folder(tmp_path):
    """Files in folders, some of which nobody asked for."""
    for name in ("b.csv", "a.csv", "deep/er/c.csv", "_SUCCESS", ".hidden", "deep/_temporary/d.csv", ODD):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\nrest")
    return tmp_path


def names(spark, path, folder):
    return [shown(uri).removeprefix(f"{folder}/") for uri in files_at(spark, str(path))]


def test_directories_globs_and_files(spark, folder):
    """With what is below a directory, but not what begins with `_` or a point."""
    assert names(spark, folder, folder) == sorted([ODD, "a.csv", "b.csv", "deep/er/c.csv"])
    assert names(spark, folder / "[ab].csv", folder) == ["a.csv", "b.csv"]
    assert names(spark, folder / "{a,b}.csv", folder) == ["a.csv", "b.csv"]
    assert names(spark, folder / "deep" / "*", folder) == ["deep/er/c.csv"]
    assert names(spark, folder / "a.csv", folder) == ["a.csv"]
    assert names(spark, f"file://{folder}/a.csv", folder) == ["a.csv"]


def test_a_file_is_read_whatever_its_name(spark, folder):
    """What would be a glob in it is none."""
    (uri,) = [uri for uri in files_at(spark, str(folder)) if "50" in uri]
    assert [row.value for row in spark.read.text(paths_of([uri])).collect()] == [ODD, "rest"]
    assert first_line(spark, uri).decode() == ODD


@pytest.mark.parametrize(("path", "message"), [("none", "nothing to read"), ("*.txt", "nothing to read")])
def test_nothing_there(spark, folder, path, message):
    """The path is named."""
    with pytest.raises(SourceError, match=message) as told:
        files_at(spark, str(folder / path))
    assert str(folder / path) in str(told.value)


def test_an_empty_directory(spark, tmp_path):
    """There is something, but no file."""
    with pytest.raises(SourceError, match="there are no files in it"):
        files_at(spark, str(tmp_path))


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"x,y\nz", b"x,y"),
        (b"x,y\r\nz", b"x,y"),
        (b"x,y", b"x,y"),
        (b"", b""),
        (b"\n\n", b""),
        (b"\xff\x00 z\n", b"\xff\x00 z"),
    ],
)
def test_first_lines(spark, tmp_path, data, line):
    """As bytes, without their ends; compressed or not."""
    (tmp_path / "a.csv").write_bytes(data)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(data))
    for name in ("a.csv", "a.csv.gz"):
        assert first_line(spark, (tmp_path / name).as_uri()) == line


def test_a_first_line_that_can_not_be_read(spark, tmp_path):
    """It is not there, does not end, or is not compressed as its name says."""
    for name in ("none.csv", "long.csv", "plain.csv.gz"):
        path = tmp_path / name
        if name != "none.csv":
            path.write_bytes(b"x" * (1 << 20))
        with pytest.raises(SourceError, match=name):
            first_line(spark, path.as_uri())


def test_sizes(spark, tmp_path):
    """Those compressed count six times."""
    (tmp_path / "a").write_bytes(b"x" * 10)
    (tmp_path / "b.gz").write_bytes(b"x" * 10)
    assert size_of(spark, [(tmp_path / name).as_uri() for name in ("a", "b.gz")]) == 70


def test_a_file_from_where_its_source_is(spark):
    """By the part of the path that has no wildcards, whatever the scheme."""
    uris = ["file:///d/a%20b/x.nt", "file:///d/c/x.nt"]
    for path in ("/d", "/d/", "/d/*/x.nt", "file:///d", "file:/d/**"):
        assert [below(base_of(spark, path), uri) for uri in uris] == ["a b/x.nt", "c/x.nt"]
    assert below(base_of(spark, "/d/c/x.nt"), uris[1]) == "x.nt"
    assert below("/elsewhere", uris[0]) == "x.nt"


def test_files_as_people_write_them():
    """Elsewhere they keep their URIs."""
    assert shown("file:///a%20b/c") == "/a b/c"
    assert shown("hdfs://host/a%20b") == "hdfs://host/a%20b"


def test_a_relative_path_is_from_where_this_process_is(spark, tmp_path, monkeypatch):
    """Spark's own process stays where it was started."""
    (tmp_path / "a.csv").write_text("a\n1\n")
    monkeypatch.chdir(tmp_path)
    for path in ("a.csv", "./a.csv", "*.csv"):
        assert [shown(uri) for uri in files_at(spark, path)] == [str(tmp_path / "a.csv")]
