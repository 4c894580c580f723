"""What trackers have signed, as a node reads it: tickets for links, certificates of chains (see `tracker_key`).

A node trusts the trackers that it is told of, and has their public keys from `GET /keys`.  A token is verified once and
remembered by its hash, as one certificate comes to a node over each of its links.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from triplewire.broker.errors import ProtocolError, Unauthorized
from triplewire.broker.security.claims import check_times, text
from triplewire.broker.security.jws import Jws, refused
from triplewire.broker.stream_checks import is_stream_name

from .members import Members, is_node
from .parcels import chain_name
from .tracker_key import (
    ALGORITHM,
    CERTIFICATE,
    ISSUER,
    TICKET,
    TrackerKey,
    decoded,
    encoded,
    thumbprint,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LEEWAY_S", "Certificate", "Forged", "Ticket", "TrackerKey", "TrackerKeys", "decoded", "encoded"]

LEEWAY_S = 30.0  # how far the clocks of a tracker and a node may differ
_MOST_KEYS = 16  # of one tracker
_KEY_BYTES = 32

T = TypeVar("T", "Ticket", "Certificate")


class Forged(Unauthorized):
    """A token that names a key which has not signed it: who believes none such passes none on."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """That two nodes may have a link for a stream; `expires` in seconds since the epoch."""

    stream: str
    nodes: frozenset[str]
    expires: float


@dataclass(frozen=True, slots=True)
class Certificate:
    """Whose a chain is: what is signed by `key` and bears `chain` (see `chain_name`) was published by `publisher` at `node`.

    `publisher` is a client's id, "" where nobody had to say who they are; `links_at` is where the node takes links.
    """

    stream: str
    chain: bytes
    key: Ed25519PublicKey = field(repr=False)
    publisher: str
    node: str
    links_at: str
    expires: float


class TrackerKeys:
    """The public keys of the trackers that a node trusts, and what they have signed; `remembered` tokens of each kind.

    A tracker is named by its URL; one that has several has the same keys under each.
    """

    def __init__(self, remembered: int = 10_000) -> None:
        self._keys: dict[str, Ed25519PublicKey] = {}  # by kid
        # By tracker: the kids that it has, and those that it had before
        self._kids: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        self._tickets: _Remembered[Ticket] = _Remembered(remembered)
        self._certificates: _Remembered[Certificate] = _Remembered(remembered)

    def add(self, jwks: Mapping[str, Any] | bytes | str, tracker: str) -> None:
        """A tracker's keys, in the place of those that it had before the last.

        The last ones stay, as what they have signed is about until it expires.

        Raises:
            ProtocolError: it is no JWK Set, or none with a key of ours.
        """
        members = Members.of(jwks) if isinstance(jwks, bytes | str) else Members(dict(jwks))
        found = {
            kid: key
            for kid, key in (_public_key(each) for each in members.listed("keys", _MOST_KEYS))
            if key is not None
        }
        if not found:
            raise ProtocolError("keys: there is no Ed25519 key")
        newest, _ = self._kids.get(tracker, (frozenset(), frozenset()))
        if newest != found.keys():
            self._kids[tracker] = frozenset(found), newest
        kids = frozenset().union(*itertools.chain.from_iterable(self._kids.values()))
        self._keys = {kid: key for kid, key in {**self._keys, **found}.items() if kid in kids}

    def same(self, tracker: str) -> list[str]:
        """The other names of a tracker: those that have a key of its own now."""
        newest, _ = self._kids.get(tracker, (frozenset(), frozenset()))
        return [other for other, (theirs, _) in self._kids.items() if other != tracker and theirs & newest]

    def knows(self, token: str) -> bool:
        """Whether the key that a token names is known; if not, its tracker's keys should be asked for anew.

        Raises:
            Unauthorized: it is no token.
        """
        return Jws.parse(token).kid in self._keys

    def ticket(self, token: str, now: float) -> Ticket:
        """What a ticket says; `now` in seconds since the epoch.

        Raises:
            Unauthorized: it is no ticket, is signed by nobody whom we trust, or has expired; Forged, see there.
        """
        return self._tickets.get(token, now) or self._tickets.put(token, self._ticket(token, now))

    def certificate(self, token: str, now: float) -> Certificate:
        """What a chain's certificate says; `now` in seconds since the epoch.

        Raises:
            Unauthorized: it is no certificate, is signed by nobody whom we trust, or has expired; Forged, see there.
        """
        return self._certificates.get(token, now) or self._certificates.put(
            token, self._certificate(token, now)
        )

    def _ticket(self, token: str, now: float) -> Ticket:
        claims, expires = self._verified(token, TICKET, now)
        nodes = claims.get("nodes")
        if not isinstance(nodes, list) or not all(isinstance(node, str) and is_node(node) for node in nodes):
            raise refused("the token's claim nodes must be two nodes' ids")
        both = frozenset(nodes)
        if len(nodes) != 2 or len(both) != 2:
            raise refused("the token's claim nodes must be two nodes' ids")
        return Ticket(_stream(claims), both, expires)

    def _certificate(self, token: str, now: float) -> Certificate:
        claims, expires = self._verified(token, CERTIFICATE, now)
        publisher = claims.get("publisher")
        if not isinstance(publisher, str):
            raise refused("the token's claim publisher must be a text")
        try:
            key = Ed25519PublicKey.from_public_bytes(decoded(text(claims, "key")))
        except ValueError as error:
            raise refused("the token's claim key must be an Ed25519 public key, base64url") from error
        if not is_node(node := text(claims, "node")):
            raise refused("the token's claim node must be a node's id")
        links_at = text(claims, "links_at")
        stream = _stream(claims)
        chain = chain_name(stream, node, key.public_bytes_raw())
        return Certificate(stream, chain, key, publisher, node, links_at, expires)

    def _verified(self, token: str, kind: tuple[str, str], now: float) -> tuple[dict[str, Any], float]:
        """A token's claims, and when it ends; the signature is looked at last, as that takes the longest."""
        typ, audience = kind
        jws = Jws.parse(token)
        if jws.header.get("typ") != typ:
            raise refused(f"the token is no {typ}")
        key = self._keys.get(jws.kid or "")
        if key is None:
            raise refused("the token is signed by no tracker that this node knows")
        if text(jws.claims, "iss") != ISSUER or text(jws.claims, "aud") != audience:
            raise refused("the token is another issuer's, or for another audience")
        expires = check_times(jws.claims, now, LEEWAY_S)
        try:
            jws.verify(key, ALGORITHM)
        except Unauthorized as error:
            raise Forged(error.description, challenge=error.challenge) from error
        return jws.claims, expires - LEEWAY_S


class _Remembered(Generic[T]):
    """What tokens said that were verified, by their hashes; the one that was not asked for the longest goes first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._by_hash: OrderedDict[bytes, T] = OrderedDict()

    def get(self, token: str, now: float) -> T | None:
        """None where it was not verified before, or has expired."""
        name = _hash(token)
        found = self._by_hash.get(name)
        if found is None:
            return None
        if found.expires + LEEWAY_S <= now:
            del self._by_hash[name]
            return None
        self._by_hash.move_to_end(name)
        return found

    def put(self, token: str, said: T) -> T:
        """Remember; returns the same."""
        self._by_hash[_hash(token)] = said
        if len(self._by_hash) > self._most:
            self._by_hash.popitem(last=False)
        return said


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _stream(claims: Mapping[str, Any]) -> str:
    if not is_stream_name(stream := text(claims, "stream")):
        raise refused("the token's claim stream must be the name of a stream")
    return stream


def _public_key(members: Members) -> tuple[str, Ed25519PublicKey | None]:
    """A JWK's kid and key; None where it is a key of another kind (RFC 7517, 5: those are passed over)."""
    if (members.word("kty"), members.word("crv", "")) != ("OKP", "Ed25519"):
        return "", None
    x = members.word("x")
    try:
        data = decoded(x)
    except ValueError as error:
        raise members.wrong("x", "32 bytes, base64url") from error
    if len(data) != _KEY_BYTES:
        raise members.wrong("x", "32 bytes, base64url")
    if members.word("kid") != thumbprint(encoded(data)):  # or one tracker could take another's kid
        raise members.wrong("kid", "the key's thumbprint")
    return members.word("kid"), Ed25519PublicKey.from_public_bytes(data)
