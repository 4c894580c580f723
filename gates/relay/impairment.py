"""Bad networks, for tests: what a link does to what is sent over it."""

from __future__ import annotations

from typing import Protocol


class Impairment(Protocol):
    """Asked by each link of a node."""

    def hold_s(self, peer: str) -> float:
        """How long a message to that peer is held before it is written; their order is kept."""

    def loses(self, peer: str) -> bool:
        """Whether this parcel to that peer is lost."""
