"""The journal's settings."""

from __future__ import annotations

from triplewire.broker.journal.config import FSYNC, JournalConfig


def test_the_defaults():
    """A second of what was answered is the most that a loss of power takes."""
    config = JournalConfig()
    assert config.enabled
    assert config.fsync in FSYNC
    assert config.fsync_s <= 1
    assert config.segment_bytes < config.snapshot_bytes < config.keep_bytes
    assert config.snapshots_kept == 2
