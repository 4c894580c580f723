"""The parts of a profile as nouns: its queries and updates with their forced bindings, graphs and OAuth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from triplewire.broker.errors import ProfileError

from .endpoints import HTTP, SE
from .shape import Members, at, flag, frozen, members, name_of, strings, text
from .spellings import GRAPHS
from .terms import ForcedBinding


def _nothing() -> Members:
    return MappingProxyType({})


KNOWN_NAMESPACES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


@dataclass(frozen=True, slots=True)
class Graphs:
    """The protocol's dataset: None where it is not said, () where it is said to be empty."""

    default: tuple[str, ...] | None = None
    named: tuple[str, ...] | None = None
    using: tuple[str, ...] | None = None
    using_named: tuple[str, ...] | None = None

    @classmethod
    def of(cls, holder: Members, path: str = "") -> Graphs:
        """The `graphs` of a profile or an entry."""
        graphs = members(holder, "graphs", path)
        return cls(*(strings(graphs, name, at(path, "graphs")) for name in GRAPHS))


@dataclass(frozen=True, slots=True)
class Entry:
    """A query or an update of the profile; the protocols are the entry's own members, over the profile's."""

    id: str
    path: str
    sparql: str
    forced_bindings: Mapping[str, ForcedBinding]
    graphs: Graphs
    host: str | None
    protocol: Members
    se_protocol: Members
    authentication: Members = field(repr=False)


@dataclass(frozen=True, slots=True)
class OAuth:
    """How a client of a secure broker gets its tokens; credentials are kept as they stand, and out of the repr."""

    enable: bool = False
    provider: str = "sepa"
    register: str | None = None
    token: str | None = None
    ssl: str | None = None
    trust_all: bool = False
    trust_material: Members = field(default_factory=_nothing, repr=False)
    registration: Members = field(default_factory=_nothing, repr=False)
    authentication: Members = field(default_factory=_nothing, repr=False)


def entries(document: Members, kind: str) -> Mapping[str, Entry]:
    """The entries under `updates` or `queries` by their id.

    Raises:
        ProfileError: one of them is not an entry.
    """
    found = members(document, kind)
    return MappingProxyType({name: entry(name, value, f"{kind}.{name}") for name, value in found.items()})


def entry(name: str, value: Any, path: str) -> Entry:
    """The entry that `value` describes."""
    if not isinstance(value, Mapping):
        raise ProfileError(path, f"expected an object, not {name_of(value)}")
    sparql = text(value, "sparql", path)
    if sparql is None:
        raise ProfileError(at(path, "sparql"), "missing")
    return Entry(
        id=name,
        path=path,
        sparql=sparql,
        forced_bindings=_forced_bindings(value, path),
        graphs=Graphs.of(value, path),
        host=text(value, "host", path),
        protocol=frozen(members(value, HTTP, path)),
        se_protocol=frozen(members(value, SE, path)),
        authentication=frozen(members(value, "authentication", path)),
    )


def namespaces(document: Members) -> Mapping[str, str]:
    """The profile's namespaces over the well-known ones."""
    own = members(document, "namespaces")
    found = {prefix: text(own, prefix, "namespaces") for prefix in own}
    return MappingProxyType(
        {**KNOWN_NAMESPACES, **{prefix: iri for prefix, iri in found.items() if iri is not None}}
    )


def oauth(document: Members) -> OAuth:
    """The profile's OAuth, in either shape."""
    found = members(document, "oauth")
    registration = members(found, "registration", "oauth")
    authentication = members(found, "authentication", "oauth")
    return OAuth(
        enable=flag(found, "enable", "oauth", default=False),
        provider=text(found, "provider", "oauth") or "sepa",
        register=text(registration, "endpoint", "oauth.registration") or text(found, "register", "oauth"),
        token=text(authentication, "endpoint", "oauth.authentication")
        or text(found, "tokenRequest", "oauth"),
        ssl=text(found, "ssl", "oauth"),
        trust_all=flag(found, "trustall", "oauth", default=False),
        trust_material=frozen(members(found, "loadTrustMaterial", "oauth")),
        registration=frozen(registration),
        authentication=frozen(authentication),
    )


def _forced_bindings(value: Members, path: str) -> Mapping[str, ForcedBinding]:
    where = at(path, "forcedBindings")
    found = members(value, "forcedBindings", path)
    return MappingProxyType(
        {name: _forced_binding(members(found, name, where), at(where, name)) for name in found}
    )


def _forced_binding(value: Members, path: str) -> ForcedBinding:
    return ForcedBinding(
        type=text(value, "type", path) or "literal",
        value=frozen(value.get("value")),
        datatype=text(value, "datatype", path) or None,
        language=text(value, "language", path) or None,
    )
