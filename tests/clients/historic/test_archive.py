"""What of an archive's files counts."""

from __future__ import annotations

import pytest

from triplewire.clients.historic.archive import Archive, Manifest, live_folder
from triplewire.clients.historic.errors import HistoryError
from triplewire.clients.historic.journal_place import Place

FIRST = Manifest.first(Place(7, "e"), 1_000)


def test_manifests():
    """There and back; a generation follows on another; the name stays."""
    assert Manifest.decode(FIRST.encode()) == FIRST
    second = FIRST.next(Place(9, "f"))
    assert (second.generation, second.folded, second.place) == (2, (0, 1), Place(9, "f"))
    assert second.name == FIRST.name
    assert FIRST.name.startswith("urn:uuid:")
    assert FIRST.name != Manifest.first(Place(7, "e"), 1_000).name
    assert live_folder(2) == "live/00000002"
    for text in ("", "[]", "{}", FIRST.encode().replace('"format": 1', '"format": 2')):
        with pytest.raises(ValueError, match=r"format|manifest|JSON|Expecting"):
            Manifest.decode(text)


def test_the_newest_counts(spark, tmp_path):
    """A few older ones are kept; one of the same number is another writer's; damage is named."""
    archive = Archive(spark, str(tmp_path))
    assert archive.manifest() is None
    with pytest.raises(HistoryError, match="there is no archive"):
        archive.whole()
    manifest = FIRST
    for sequence in range(8):
        archive.publish(manifest)
        assert archive.whole() == manifest
        newest, manifest = manifest, manifest.next(Place(sequence, "e"))
    assert len(list((tmp_path / "manifest").glob("*.json"))) == 5
    with pytest.raises(HistoryError, match="another process"):
        archive.publish(newest)
    assert archive.since().isoformat() == "1970-01-01T00:00:01+00:00"
    assert archive.changes().isEmpty()
    (tmp_path / "manifest/00000008.json").write_text("{")
    with pytest.raises(HistoryError, match=r"00000008\.json"):
        archive.whole()


def test_a_folder_of_its_own(spark, tmp_path):
    """What is somebody else's is not touched; what a beginning left that was cut short goes."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/days").mkdir()
    with pytest.raises(HistoryError, match="is no archive"):
        Archive(spark, str(tmp_path / "theirs")).begin()
    assert (tmp_path / "theirs/days").exists()
    archive = Archive(spark, str(tmp_path / "ours"))
    archive.begin()
    (tmp_path / "ours/days/day=2026-05-04").mkdir(parents=True)
    archive.begin()
    assert not (tmp_path / "ours/days").exists()
