"""The journal's settings."""

from __future__ import annotations

from triplewire.broker.config import JournalConfig


def test_the_defaults():
    """A second of what was answered is the most that a loss of power takes."""
    config = JournalConfig()
    assert config.fsync in {"always", "interval", "never"}
    assert config.fsync_s <= 1
    assert config.segment_bytes < config.snapshot_bytes < config.keep_bytes
    assert config.snapshots_kept == 2
