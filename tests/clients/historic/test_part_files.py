import gzip
from io import BytesIO

import pytest
from support.hand_made_parts import observations, write_parts

from triplewire.clients.historic.part_files import PartFiles, PartsError, is_local, local_path

LINES = observations(20)


@pytest.mark.parametrize("gzipped", [False, True])
def test_parts_are_read_in_their_order(tmp_path, gzipped):
    """Whether compressed or not; the numbers are the manifest's."""
    with write_parts(tmp_path, LINES, 4, gzipped=gzipped) as files:
        found = []
        for part in files.parts:
            with files.open(part) as lines:
                found += list(lines)

    assert found == LINES
    assert (files.lines, files.size) == (len(LINES), len(b"".join(LINES)))


@pytest.mark.parametrize("size", [1, 7, 100_000, -1])
def test_all_parts_are_one_stream(tmp_path, size):
    """However it is read; what was read is told."""
    told = []
    with write_parts(tmp_path, LINES, 4, gzipped=True) as files:
        stream, data = files.stream(told.append), BytesIO()
        while chunk := stream.read(size):
            data.write(chunk)

    assert data.getvalue() == b"".join(LINES)
    assert sum(told) == files.size


def test_the_hash_is_of_the_manifest(tmp_path):
    """Other parts have another one."""
    one, same, other = (
        write_parts(tmp_path / name, lines) for name, lines in (("a", LINES), ("b", LINES), ("c", LINES[1:]))
    )
    assert one.hash == same.hash != other.hash


def test_parts_that_are_elsewhere_are_fetched(tmp_path):
    """One at a time, and nothing of them is left."""
    write_parts(tmp_path / "there", LINES, 3)
    here = []

    def fetch(name, to):
        assert not any(path.exists() for path in here if path.name != "manifest.json")
        here.append(to)
        to.write_bytes((tmp_path / "there" / name).read_bytes())

    with PartFiles("hdfs://somewhere/there", fetch) as files:
        stream = files.stream(lambda _: None)
        found = b"".join(iter(stream.read, b""))

    assert found == b"".join(LINES)
    assert len(here) == 4
    assert not here[0].parent.exists()


def test_unfinished_parts_are_none(tmp_path):
    """The manifest is written last."""
    (tmp_path / "part-0.nq").write_bytes(b"")
    with pytest.raises(PartsError, match="never finished"):
        PartFiles(str(tmp_path))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        '{"parts": [{}]}',
        '{"parts": [{"name": "../x", "lines": 1, "bytes": 1}]}',
        '{"parts": [{"name": "x", "lines": "1", "bytes": 1}]}',
    ],
    ids=range(7),
)
def test_what_is_no_manifest_is_refused(tmp_path, text):
    """With its place."""
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(PartsError, match=r"manifest\.json is no manifest"):
        PartFiles(str(tmp_path))


@pytest.mark.parametrize("damage", ["missing", "torn", "not gzip"])
def test_damaged_parts_are_named(tmp_path, damage):
    """Before or while they are read."""
    files = write_parts(tmp_path, LINES, 1, gzipped=True)
    part = tmp_path / files.parts[0].name
    if damage == "missing":
        part.unlink()
    else:
        part.write_bytes(gzip.compress(b"x" * 99)[:-9] if damage == "torn" else b"not gzip")

    with pytest.raises(PartsError, match=r"part-00000\.nq\.gz"), files.open(files.parts[0]) as lines:
        lines.read()


@pytest.mark.parametrize(
    ("directory", "local"),
    [
        ("parts", True),
        ("/a/b", True),
        ("file:///a/b%20c", True),
        ("hdfs://a/b", False),
        ("s3a://b", False),
        ("C:/x", True),
    ],
)
def test_a_scheme_tells_where_a_directory_is(directory, local):
    """Only `file:` is here."""
    assert is_local(directory) is local


def test_a_file_url_is_a_path():
    """Decoded."""
    assert str(local_path("file:///a/b%20c")) == "/a/b c"
