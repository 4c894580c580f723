"""What each client may do: a TOML file of clients, groups and a default; conf/permissions.toml explains it.

What is not there is not allowed, but that the scopes publish and subscribe are good for all streams where none are named: a client has the union of its own lines and those of its groups.  A client that is not
named, and is in no group that is, has the lines under [default].  Without a file everybody may do everything but
administer.
"""

from __future__ import annotations

import logging
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from pyoxigraph import NamedNode

from triplewire.broker.errors import ConfigError
from triplewire.broker.rights import ALL, DEFAULT, NONE, Rights, Scope

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from triplewire.broker.rights import Graphs, Streams

_log = logging.getLogger("triplewire.broker.security")

Granted: TypeAlias = tuple[frozenset[Scope], Rights]

_NOTHING: Granted = (frozenset(), NONE)
_WITHOUT_A_FILE: Granted = (frozenset(Scope) - {Scope.ADMIN}, ALL)
_SCOPES = {scope.value: scope for scope in Scope}
_GRANT = ("scopes", "read", "append", "write", "publish", "follow")
_KNOWN = 10_000  # unions that are kept, so that clients with the same groups share one


@dataclass(frozen=True, slots=True)
class _Client:
    own: Granted
    groups: frozenset[str]
    provider: bool


@dataclass(frozen=True, slots=True)
class _Table:
    """One reading of the file."""

    default: Granted = _WITHOUT_A_FILE
    groups: Mapping[str, Granted] = field(default_factory=dict)
    clients: Mapping[str, _Client] = field(default_factory=dict)
    unions: dict[tuple[str | None, frozenset[str]], Granted] = field(default_factory=dict)


class Permissions:
    """Scopes and rights of clients, as the file has them."""

    def __init__(self, path: Path | None = None) -> None:
        """Raises ConfigError, with the path into the file, where it can't be read or has what it can't mean."""
        self._path = path
        self._table = _Table() if path is None else _read(path)

    @classmethod
    def read(cls, path: Path | None) -> Permissions:
        """See the constructor; of no file where `path` is None."""
        return cls(path)

    def reread(self) -> bool:
        """Read the file again; whether the permissions are now its.  If it is wrong, that is logged, and they stay."""
        if self._path is None:
            return True
        try:
            self._table = _read(self._path)
        except ConfigError as error:
            _log.error("the permissions stay as they were: %s", error)
            return False
        _log.info("= permissions of %d clients from %s", len(self._table.clients), self._path)
        return True

    def of(self, client_id: str, groups: Iterable[str] = (), *, provider: bool = False) -> Granted:
        """What a client may do: its scopes, and its rights to graphs.

        `groups` are those that an identity provider puts it into; unknown ones mean nothing.  `provider` says that
        it is the provider that vouches for the client: lines of `provider = true` are for such clients only.
        """
        table = self._table
        client = table.clients.get(client_id)
        if client is not None and client.provider and not provider:
            client = None
        its = table.groups.keys() & (frozenset(groups) | (client.groups if client else frozenset()))
        if client is None and not its:
            return table.default
        key = (client_id if client else None, frozenset(its))
        if (known := table.unions.get(key)) is None:
            own = client.own if client else _NOTHING
            known = _union([own, *(table.groups[name] for name in sorted(its))])
            if len(table.unions) >= _KNOWN:
                table.unions.clear()
            table.unions[key] = known
        return known

    def lists(self, identity: str) -> bool:
        """Whether the file names the client, and lets it register here."""
        client = self._table.clients.get(identity)
        return client is not None and not client.provider


def _union(parts: list[Granted]) -> Granted:
    scopes, rights = _NOTHING
    for more, wider in parts:
        scopes, rights = scopes | more, rights | wider
    return scopes, rights


def _read(path: Path) -> _Table:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    try:
        return _table(document)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def _table(document: dict[str, Any]) -> _Table:
    _check_keys(document, "", ("default", "groups", "clients"))
    groups = {name: _granted(table, f"groups.{name}", _GRANT) for name, table in _tables(document, "groups")}
    clients = {name: _client(table, name, groups) for name, table in _tables(document, "clients")}
    default = document.get("default", {})
    return _Table(_granted(default, "default", _GRANT), groups, clients)


def _tables(document: dict[str, Any], section: str) -> Iterable[tuple[str, Any]]:
    tables = document.get(section, {})
    if not isinstance(tables, dict):
        raise ConfigError(f"{section} must be a table of tables: [{section}.NAME]")
    if "" in tables:
        raise ConfigError(f"{section}: a name must not be empty")
    return tables.items()


def _client(table: Any, name: str, groups: Mapping[str, Granted]) -> _Client:
    path = f"clients.{name}"
    own = _granted(table, path, (*_GRANT, "groups", "provider"))
    its = _texts(table, "groups", path)
    for group in its:
        if group not in groups:
            raise ConfigError(f"{path}.groups: there is no [groups.{group}]")
    provider = table.get("provider", False)
    if not isinstance(provider, bool):
        raise ConfigError(f"{path}.provider must be true or false, not {provider!r}")
    return _Client(own, frozenset(its), provider)


def _granted(table: Any, path: str, keys: Collection[str]) -> Granted:
    if not isinstance(table, dict):
        raise ConfigError(f"{path} must be a table: [{path}]")
    _check_keys(table, path, keys)
    scopes = _texts(table, "scopes", path)
    for scope in scopes:
        if scope not in _SCOPES:
            raise ConfigError(f"{path}.scopes: {scope!r} is no scope; there are {', '.join(_SCOPES)}")
    rights = Rights(
        _graphs(table, "read", path),
        _graphs(table, "append", path),
        _graphs(table, "write", path),
        _streams(table, "publish", path, granted=Scope.PUBLISH.value in scopes),
        _streams(table, "follow", path, granted=Scope.SUBSCRIBE.value in scopes),
    )
    return frozenset(_SCOPES[scope] for scope in scopes), rights


def _check_keys(table: dict[str, Any], path: str, keys: Collection[str]) -> None:
    for key in table:
        if key not in keys:
            where = f"{path}.{key}" if path else key
            raise ConfigError(f"{where} is not known here; there are {', '.join(sorted(keys))}")


def _texts(table: dict[str, Any], key: str, path: str) -> list[str]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise ConfigError(f"{path}.{key} must be a list of texts, not {value!r}")
    return value


def _graphs(table: dict[str, Any], key: str, path: str) -> Graphs:
    names = _texts(table, key, path)
    if "*" in names:
        if len(names) > 1:
            raise ConfigError(f'{path}.{key}: "*" is all graphs: it stands alone')
        return None
    return frozenset(_graph(name, f"{path}.{key}") for name in names)


def _streams(table: dict[str, Any], key: str, path: str, *, granted: bool) -> Streams:
    """Lines that do not give the scope must not widen what others give: of a union, those are all."""
    if key not in table:
        return None if granted else frozenset()
    names = _texts(table, key, path)
    if "*" in names:
        if len(names) > 1:
            raise ConfigError(f'{path}.{key}: "*" is all streams: it stands alone')
        return None
    return frozenset(names)


def _graph(name: str, path: str) -> str:
    if name == "default":
        return DEFAULT
    try:
        return NamedNode(name).value
    except ValueError as error:
        raise ConfigError(f'{path}: {name!r} is neither an absolute IRI nor "default" nor "*"') from error
