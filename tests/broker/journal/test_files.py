"""Files that must survive a loss of power."""

from __future__ import annotations

from pathlib import Path

from triplewire.broker.journal import files


def test_contents_and_names_are_synced(tmp_path, monkeypatch):
    """The file when it is written, its name when its folder is synced."""
    synced = []
    monkeypatch.setattr(
        files.os, "fsync", lambda fd: synced.append(str(Path(f"/proc/self/fd/{fd}").readlink()))
    )
    files.write_synced(tmp_path / "x", b"content")
    files.sync_folder(tmp_path)
    assert (tmp_path / "x").read_bytes() == b"content"
    assert synced == [str(tmp_path / "x"), str(tmp_path)]
