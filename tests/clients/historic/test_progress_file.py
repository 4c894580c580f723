import os

import pytest

from triplewire.clients.historic.errors import HistoryError
from triplewire.clients.historic.progress_file import START, Position, ProgressFile, progress_file


def at(path, manifest="m", destination="d"):
    return ProgressFile(path / "progress.json", manifest, destination)


def test_a_position_is_kept(tmp_path):
    """Nothing kept is the start; nothing else is left in the folder."""
    assert at(tmp_path).read() == START
    at(tmp_path).keep(Position(1, 2))
    at(tmp_path).keep(Position(3, 4))

    assert at(tmp_path).read() == Position(3, 4)
    assert [path.name for path in tmp_path.iterdir()] == ["progress.json"]


def test_other_parts_begin_at_the_start(tmp_path):
    """They were made anew since."""
    at(tmp_path).keep(Position(1, 2))
    assert at(tmp_path, manifest="other").read() == START


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[" * 60_000,
        '{"manifest": "m", "destination": "d", "part": -1, "lines": 0}',
        '{"manifest": "m", "destination": "d", "part": true, "lines": 0}',
        '{"manifest": "m", "destination": "x", "part": 1, "lines": 0}',
    ],
    ids=range(6),
)
def test_what_is_no_progress_is_refused(tmp_path, text):
    """With its path, and what to do."""
    (tmp_path / "progress.json").write_text(text)
    with pytest.raises(HistoryError, match=r"progress\.json.* remove it"):
        at(tmp_path).read()


def test_a_failure_leaves_what_was_kept(tmp_path, monkeypatch):
    """As on a full disk."""
    at(tmp_path).keep(Position(1, 2))

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="space"):
        at(tmp_path).keep(Position(3, 4))
    assert at(tmp_path).read() == Position(1, 2)
    assert len(list(tmp_path.iterdir())) == 1


def test_it_is_beside_the_parts(tmp_path):
    """One for each destination; hidden, so that Spark does not read it."""
    one, other = (progress_file(str(tmp_path), "m", url, {}) for url in ("http://a/", "http://b/"))

    assert one.path.parent == other.path.parent == tmp_path
    assert one.path != other.path
    assert one.path.name.startswith(".")


def test_for_parts_elsewhere_it_is_in_the_state_directory(tmp_path):
    """One for each directory and destination."""
    environment = {"XDG_STATE_HOME": str(tmp_path / "state")}
    files = {
        progress_file(directory, "m", url, environment).path
        for directory in ("hdfs://a/b", "hdfs://a/c", "hdfs://a/c/")
        for url in ("http://a/", "http://b/")
    }
    assert len(files) == 4
    assert {path.parent for path in files} == {tmp_path / "state" / "triplewire"}
    assert (tmp_path / "state" / "triplewire").stat().st_mode & 0o777 == 0o700
