"""What has happened at a tracker since its start: counted where it happens, shown at /metrics."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counts:
    """Each only grows; what they are is said in `tracker_metrics`."""

    statuses: int = 0
    late: int = 0
    joins: int = 0
    leaves: int = 0
    put_off: int = 0
    gone: int = 0
    changes: int = 0
    instructed: int = 0
    signed: int = 0
    proofs: int = 0
    unproven: int = 0
    refused_pairs: int = 0
    improvements: int = 0
    sent: int = 0
    not_sent: int = 0
