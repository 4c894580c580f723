"""The settings of the journal."""

from __future__ import annotations

from dataclasses import dataclass

FSYNC = ("always", "interval", "never")


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalConfig:
    """How safe, how large and how old; sizes and ages are of files that a snapshot has made dispensable.

    `fsync` says when what was appended is made safe from a loss of power: before each answer ("always"), every
    `fsync_s` ("interval"), or when the system likes ("never").  The death of the process loses nothing in any case.
    """

    enabled: bool = True
    fsync: str = "interval"
    fsync_s: float = 1.0
    segment_bytes: int = 64 * 1024 * 1024
    keep_bytes: int = 1024 * 1024 * 1024
    keep_s: float = 7 * 24 * 3600.0
    snapshot_bytes: int = 256 * 1024 * 1024
    snapshots_kept: int = 2
