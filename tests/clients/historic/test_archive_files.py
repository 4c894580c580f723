"""Small files of an archive."""

from __future__ import annotations

import pytest

from triplewire.clients.historic.archive_files import ArchiveFiles
from triplewire.clients.historic.errors import HistoryError


def test_a_file_is_new_or_it_is_not_written(spark, tmp_path):
    """Its text comes back; another one of its name is refused; what a crash left of one does not matter."""
    files = ArchiveFiles(spark, str(tmp_path / "out"))
    assert files.names("manifest") == []
    assert files.write_new("manifest/1.json", "é\n")
    assert not files.write_new("manifest/1.json", "other")
    assert files.read("manifest/1.json") == "é\n"
    (tmp_path / "out/manifest/2.json.draft").write_text("hal")
    assert files.write_new("manifest/2.json", "half")
    assert [name for name in files.names("manifest") if name.endswith("json")] == ["1.json", "2.json"]
    assert files.read("manifest/2.json") == "half"
    files.remove("manifest/1.json")
    assert not files.has("manifest/1.json")
    assert files.at("x") == f"{tmp_path}/out/x"
    with pytest.raises(HistoryError, match=r"1\.json"):
        files.read("manifest/1.json")


def test_a_file_system_that_nobody_knows(spark):
    """Its path is in the error."""
    with pytest.raises(HistoryError, match="nofs://x/y"):
        ArchiveFiles(spark, "nofs://x/y")
