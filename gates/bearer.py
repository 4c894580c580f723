"""The token in an Authorization header (RFC 6750, 2.1)."""

from __future__ import annotations

import re

from triplewire.broker.errors import Unauthorized

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # b64token


def bearer_of(header: str | None) -> str | None:
    """The bearer token; None without one, also where the header is another scheme's.

    Raises:
        Unauthorized: the header says Bearer and has no token, or there are several.
    """
    scheme, _, token = (header or "").strip().partition(" ")
    if scheme.lower() != "bearer":
        return None
    token = token.strip()
    if _TOKEN.fullmatch(token) is None:
        raise Unauthorized(
            "the Authorization header must be Bearer and one token",
            code="invalid_request",
            challenge='Bearer error="invalid_request"',
        )
    return token
