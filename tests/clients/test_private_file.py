"""A file that is replaced as a whole, or not at all."""

from __future__ import annotations

import pytest

from triplewire.clients.private_file import replace_file


@pytest.mark.parametrize("synced", [False, True])
def test_it_is_replaced_and_nobody_elses(tmp_path, synced):
    """Whatever its mode was; nothing else is left in the folder."""
    path = tmp_path / "kept.json"
    path.write_text("old")
    path.chmod(0o644)
    replace_file(path, "new é\n", synced=synced)
    assert path.read_text(encoding="utf-8") == "new é\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [*tmp_path.iterdir()] == [path]


def test_what_fails_leaves_the_old_one(tmp_path):
    """And no draft."""
    path = tmp_path / "kept.json"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        replace_file(path, "\udc80", synced=True)
    assert path.read_text() == "old"
    assert [*tmp_path.iterdir()] == [path]
