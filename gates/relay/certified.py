"""A chain of a stream, as one node knows it: whose it is, and how far it is here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .tickets import Certificate


@dataclass(slots=True)
class CertifiedChain:
    """`newest` is its last item that is here.

    Until `fresh_until` it is taken to have begun just now; at `heard_at` something of it came last.
    """

    certificate: Certificate
    message: bytes  # the certificate's
    fresh_until: float
    heard_at: float
    newest: int = 0
    own: bool = False  # published here
