"""Files written at once, wherever Spark writes."""

from __future__ import annotations

import pytest

from triplewire.clients.historic.errors import HistoryError
from triplewire.clients.historic.hadoop import Folder


def test_a_file_is_there_whole_and_replaces_another(spark, tmp_path):
    """Folders on the way are made; nothing is left beside it."""
    folder = Folder(spark, f"{tmp_path}/a b/c/")
    assert not folder.has("m.json")
    folder.write("m.json", b"one" * 10_000)
    folder.write("m.json", b"\x00two")
    assert folder.has("m.json")
    assert (tmp_path / "a b" / "c" / "m.json").read_bytes() == b"\x00two"
    assert [path.name for path in (tmp_path / "a b" / "c").iterdir() if path.suffix != ".crc"] == ["m.json"]


def test_files_and_directories_are_removed(spark, tmp_path):
    """What is not there is removed already."""
    folder = Folder(spark, str(tmp_path))
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "e" / "f").write_text("x")
    for name in ("d", "d", "none"):
        folder.remove(name)
        assert not folder.has(name)
    assert not (tmp_path / "d").exists()


def test_its_whole_name(spark, tmp_path):
    """As Spark tells it of the files in it."""
    assert Folder(spark, str(tmp_path)).uri == tmp_path.as_uri()
    assert Folder(spark, f"file://{tmp_path}/").path == f"file://{tmp_path}"
    assert Folder(spark, "/").path == "/"


def test_what_can_not_be_done_is_said(spark, tmp_path):
    """A file where a folder should be; a file system that nobody knows."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(HistoryError, match="file can't be written"):
        Folder(spark, f"{tmp_path}/file").write("m.json", b"x")
    with pytest.raises(HistoryError, match="nosuch://host/x can't be opened"):
        Folder(spark, "nosuch://host/x")
