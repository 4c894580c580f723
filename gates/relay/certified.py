"""A chain of a stream, as one node knows it: whose it is, and how far it is here."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .messages import Certified, encode

if TYPE_CHECKING:
    from .tickets import Certificate


@dataclass(slots=True, eq=False)
class CertifiedChain:
    """`newest` is its last item that is here; at `heard_at` something of it came last.

    A chain `begins` here with that number, as far as others say; None where nobody has said so.  A `fresh` one begins while this node is there: all its items are still to come, or on their way.  One that is `new` may have
    begun while this node was there and did not hear of it: all that is kept of it is wanted.
    """

    certificate: Certificate
    token: str = field(repr=False)
    fresh: bool
    new: bool
    heard_at: float
    newest: int = 0
    own: bool = False  # published here
    begins: int | None = None

    @property
    def is_to_begin(self) -> bool:
        """Whether nothing of it has come, and all of it is to."""
        return self.fresh and not self.newest

    @property
    def has_ended(self) -> bool:
        """Whether its certificate has."""
        return time.time() > self.certificate.expires

    @property
    def message(self) -> bytes:
        """Its certificate."""
        return encode(Certified(self.token, begun=not self.is_to_begin))
