"""A token's outer form: a signed JSON Web Token in compact serialization (RFC 7515, 7.1), read strictly.

What is read here is what anybody may have written, until `verify` has returned.  The header chooses no key and no
algorithm: `jwk`, `jku`, `x5u` and `x5c` are not looked at, and whoever verifies says with what.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from jwt import PyJWTError
from jwt.api_jws import PyJWS
from jwt.utils import base64url_decode

from triplewire.broker.errors import Unauthorized

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from .signing_key import PublicKey

MOST_CHARS = 8192  # a token; servers of HTTP take headers of this size, and hardly larger ones
_COMPACT = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+")
# RFC 9068, 2.1 has at+jwt; many providers write JWT, or nothing.
ACCESS_TOKEN = frozenset({"at+jwt", "application/at+jwt"})
_JWS = PyJWS(options={"verify_signature": True, "enforce_minimum_key_length": True})


def refused(description: str) -> Unauthorized:
    """The error for a token that is not good (RFC 6750, 3.1); the text must have nothing of the token in it."""
    return _unauthorized(description, "invalid_grant")


def unreadable(description: str) -> Unauthorized:
    """The error for what is no token at all; SEPA has another code for that."""
    return _unauthorized(description, "invalid_request")


def _unauthorized(description: str, code: str) -> Unauthorized:
    challenge = f'Bearer error="invalid_token", error_description="{description}"'
    return Unauthorized(description, code=code, challenge=challenge)


@dataclass(frozen=True, slots=True)
class Jws:
    """A token that could be read; header and claims are not to be believed before `verify`."""

    token: str = field(repr=False)
    header: dict[str, Any] = field(repr=False)
    claims: dict[str, Any] = field(repr=False)

    @classmethod
    def parse(cls, token: str) -> Jws:
        """Raises Unauthorized, invalid_request, where it is too long or not of the form."""
        if len(token) > MOST_CHARS:
            raise unreadable(f"the token has more than {MOST_CHARS} characters")
        if (parts := _COMPACT.fullmatch(token)) is None:
            raise unreadable("the token is not a signed JSON Web Token")
        jws = cls(token, _object(parts[1], "header"), _object(parts[2], "payload"))
        if not isinstance(jws.header.get("alg"), str) or not isinstance(jws.header.get("kid", ""), str):
            raise unreadable("the token's header needs alg, a text, and kid must be one")
        if (
            "crit" in jws.header
        ):  # RFC 7515, 4.1.11: what is not understood is refused, and nothing is understood
            raise refused("the token's header has critical extensions")
        return jws

    @property
    def algorithm(self) -> str:
        """As the header says."""
        return str(self.header["alg"])

    @property
    def kid(self) -> str | None:
        """As the header says; a name to look up among known keys, nothing else."""
        return self.header.get("kid")

    def verify(self, key: PublicKey | Ed25519PublicKey, algorithm: str) -> None:
        """Raises Unauthorized where the header names another algorithm than the key's, or the signature is wrong."""
        if self.algorithm != algorithm:
            raise refused("the token is not signed by its key's algorithm")
        try:
            _JWS.decode(self.token, key, algorithms=[algorithm])
        except PyJWTError as error:
            raise refused("the token's signature is wrong") from error


def _object(segment: str, name: str) -> dict[str, Any]:
    try:
        found = json.loads(
            base64url_decode(segment).decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_number
        )
    except (ValueError, RecursionError):
        # Without a cause: what the JSON decoder says has the token's text in it.
        raise unreadable(f"the token's {name} is not JSON, or has a member twice") from None
    if not isinstance(found, dict):
        raise unreadable(f"the token's {name} is not a JSON object")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # RFC 7519, 4 leaves open which of two claims counts; who verifies and who looks could differ.
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member is there twice")
    return members


def _no_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
