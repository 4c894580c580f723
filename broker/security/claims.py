"""What a verified token says (RFC 7519, 4.1; RFC 9068, 2.2), each claim of its type or the token is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from triplewire.broker.rights import Scope

from .jws import refused

if TYPE_CHECKING:
    from collections.abc import Mapping

_SCOPES = {scope.value: scope for scope in Scope}


@dataclass(frozen=True, slots=True)
class Claims:
    """Who bears a token and what it is for; `issued_at` and `expires` in seconds since the epoch.

    `scopes` is None where the token names none of ours; `expires` has its issuer's leeway in it.  What the issuer
    leaves out is empty, and 0 for `issued_at`.
    """

    issuer: str
    client: str
    scopes: frozenset[Scope] | None
    jti: str
    issued_at: float
    expires: float
    groups: tuple[str, ...] = ()


def text(claims: Mapping[str, Any], name: str) -> str:
    """A claim that must be there.  Raises Unauthorized."""
    value = claims.get(name)
    if not isinstance(value, str) or not value:
        raise refused(f"the token's claim {name} must be a text")
    return value


def moment(claims: Mapping[str, Any], name: str) -> float:
    """A NumericDate (RFC 7519, 2) that must be there.  Raises Unauthorized."""
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(_float(value)):
        raise refused(f"the token's claim {name} must be a number of seconds")
    return float(value)


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # JSON's whole numbers have no end
        return math.inf


def check_times(claims: Mapping[str, Any], now: float, leeway: float = 0.0) -> float:
    """When the token ends, with the leeway; nbf and iat are checked where they are there.

    Raises:
        Unauthorized: it has expired, is not yet valid, or says nonsense.
    """
    expires = moment(claims, "exp") + leeway
    if expires <= now:  # RFC 7519, 4.1.4: on or after it
        raise refused("the token has expired")
    if "nbf" in claims and moment(claims, "nbf") > now + leeway:
        raise refused("the token is not yet valid")
    if "iat" in claims and moment(claims, "iat") > now + leeway:
        raise refused("the token was issued in the future")
    return expires


def named_scopes(names: str) -> frozenset[Scope]:
    """Those of ours among scopes that are separated by spaces (RFC 6749, 3.3)."""
    return frozenset(_SCOPES[name] for name in names.split() if name in _SCOPES)
