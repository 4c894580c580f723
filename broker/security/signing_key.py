"""One key that signs tokens, as a PEM file and as a JSON Web Key."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from jwt.utils import base64url_encode

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

PrivateKey: TypeAlias = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
PublicKey: TypeAlias = rsa.RSAPublicKey | ec.EllipticCurvePublicKey

RSA_BITS = 2048  # RFC 7518, 3.3: at least
# What a thumbprint is made of, in the order of the names (RFC 7638, 3.2); also what of a key is public.
_MEMBERS = {"RSA": ("e", "kty", "n"), "EC": ("crv", "kty", "x", "y")}


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key pair; `created` in seconds since the epoch, `kid` is the key's thumbprint (RFC 7638), base64url."""

    kid: str
    algorithm: str
    created: float
    private: PrivateKey = field(repr=False)
    public: PublicKey = field(repr=False)

    @classmethod
    def make(cls, algorithm: str, created: float) -> SigningKey:
        """A new one for RS256 or ES256; that takes a tenth of a second for RSA."""
        if algorithm == "ES256":
            return cls._of(ec.generate_private_key(ec.SECP256R1()), created)
        return cls._of(rsa.generate_private_key(public_exponent=65537, key_size=RSA_BITS), created)

    @classmethod
    def from_pem(cls, pem: bytes, created: float) -> SigningKey:
        """Raises ValueError where it is no private key, is encrypted, or is not one for RS256 or ES256."""
        try:
            return cls._of(load_pem_private_key(pem, password=None), created)
        except TypeError as error:  # an encrypted one
            raise ValueError("the key is encrypted") from error

    @classmethod
    def _of(cls, private: PrivateKeyTypes, created: float) -> SigningKey:
        if isinstance(private, rsa.RSAPrivateKey) and private.key_size >= RSA_BITS:
            return cls(_thumbprint(private.public_key()), "RS256", created, private, private.public_key())
        if isinstance(private, ec.EllipticCurvePrivateKey) and isinstance(private.curve, ec.SECP256R1):
            return cls(_thumbprint(private.public_key()), "ES256", created, private, private.public_key())
        raise ValueError(f"expected an RSA key of at least {RSA_BITS} bits or one on the curve P-256")

    def pem(self) -> bytes:
        """The private key, PKCS #8, not encrypted."""
        return self.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def jwk(self) -> dict[str, str]:
        """The public key, RFC 7517: what verifies a token, and nothing that signs one."""
        return _public_members(self.public) | {"use": "sig", "alg": self.algorithm, "kid": self.kid}


def _public_members(public: PublicKey) -> dict[str, str]:
    if isinstance(public, rsa.RSAPublicKey):
        jwk = RSAAlgorithm.to_jwk(public, as_dict=True)
    else:
        jwk = ECAlgorithm.to_jwk(public, as_dict=True)
    return {name: jwk[name] for name in _MEMBERS[jwk["kty"]]}


def _thumbprint(public: PublicKey) -> str:
    text = json.dumps(_public_members(public), sort_keys=True, separators=(",", ":"))
    return base64url_encode(hashlib.sha256(text.encode("ascii")).digest()).decode("ascii")
