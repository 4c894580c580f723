"""A JSON SPARQL Application Profile: an application's queries and updates by name, and where to send them.

    profile = Profile.load("chat.jsap")
    update = profile.update("SEND", text="Ciao!", sender="chat:Ann", receiver="chat:Bob")
    query = profile.query("SENT", receiver="chat:Bob")
    profile.subscribe_url("SENT")        # ws://localhost:9000/subscribe

A profile never changes: what a call binds is forgotten after it, and what it returns is the caller's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from triplewire.broker.errors import ProfileError
from triplewire.broker.model import Query, Update

from . import entries as parts
from . import includes, prologue
from .documents import plain
from .endpoints import HTTP, SE, http_endpoint, subscribe_endpoint
from .forced_bindings import bind, near
from .shape import at, flag, frozen, members, text, thawed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .endpoints import Endpoint
    from .entries import Entry, Graphs, OAuth
    from .shape import Members


@dataclass(frozen=True, slots=True)
class Profile:
    """An application profile, read-only to its depths."""

    host: str | None
    updates: Mapping[str, Entry]
    queries: Mapping[str, Entry]
    namespaces: Mapping[str, str]
    graphs: Graphs
    oauth: OAuth
    reconnect: bool
    _protocol: Members = field(repr=False)
    _se_protocol: Members = field(repr=False)
    _extended: Any = field(repr=False)

    @classmethod
    def load(cls, path: str | Path, *, overrides: Mapping[str, object] | None = None) -> Profile:
        """The profile in a file, JSON or (`.yaml`, `.yml`, `.ysap`) YAML, with the files that it includes.

        Args:
            path: a path, or a file: URL.
            overrides: members to set over what the files say, by their path, as `{"sparql11protocol.port": 8001}`.

        Raises:
            ProfileError: a file is missing or malformed, or a member is not of its shape.
        """
        return cls._read(includes.load(_local(path)), overrides)

    @classmethod
    def of(
        cls,
        document: Mapping[str, Any],
        base_dir: str | Path | None = None,
        *,
        overrides: Mapping[str, object] | None = None,
    ) -> Profile:
        """The profile that a document is; only with a `base_dir` may it include files."""
        folder = None if base_dir is None else Path(base_dir)
        return cls._read(includes.resolved(plain(document), folder), overrides)

    @property
    def extended(self) -> Any:
        """The application's own data; each time a copy, which is the caller's."""
        return thawed(self._extended)

    def update(
        self, update_id: str, values: Mapping[str, object] | None = None, /, **bindings: object
    ) -> Update:
        """The update with its forced bindings, from `values` and keywords alike, and its dataset.

        Raises:
            ProfileError: there is no such update, or a value is missing, wrong, or for no variable of it.
        """
        entry = self._entry("updates", update_id)
        graphs, own = self.graphs, entry.graphs
        return Update(
            self._bound(entry, {**(values or {}), **bindings}),
            _graphs(own.using, graphs.using),
            _graphs(own.using_named, graphs.using_named),
        )

    def query(
        self, query_id: str, values: Mapping[str, object] | None = None, /, **bindings: object
    ) -> Query:
        """The query with its forced bindings, from `values` and keywords alike, and its dataset.

        Raises:
            ProfileError: there is no such query, or a value is missing, wrong, or for no variable of it.
        """
        entry = self._entry("queries", query_id)
        graphs, own = self.graphs, entry.graphs
        return Query(
            self._bound(entry, {**(values or {}), **bindings}),
            _graphs(own.default, graphs.default),
            _graphs(own.named, graphs.named),
        )

    def query_endpoint(self, query_id: str) -> Endpoint:
        """The URL, method and format for this query."""
        return self._http("query", self._entry("queries", query_id))

    def update_endpoint(self, update_id: str) -> Endpoint:
        """The URL, method and format for this update."""
        return self._http("update", self._entry("updates", update_id))

    def query_url(self, query_id: str) -> str:
        """Where this query is sent."""
        return self.query_endpoint(query_id).url

    def update_url(self, update_id: str) -> str:
        """Where this update is sent."""
        return self.update_endpoint(update_id).url

    def subscribe_url(self, query_id: str) -> str:
        """Where this query is subscribed to."""
        entry = self._entry("queries", query_id)
        own = entry.se_protocol
        protocol = includes.deeply(thawed(self._se_protocol), thawed(own))
        host = (
            text(own, "host", at(entry.path, SE))
            or entry.host
            or text(self._se_protocol, "host", SE)
            or self.host
        )
        return subscribe_endpoint(protocol, host).url

    @classmethod
    def _read(cls, document: Members, overrides: Mapping[str, object] | None) -> Profile:
        for path, value in (overrides or {}).items():
            document = includes.deeply(document, _nested(path, value))
        se_protocol = members(document, SE)
        return cls(
            host=text(document, "host"),
            updates=parts.entries(document, "updates"),
            queries=parts.entries(document, "queries"),
            namespaces=parts.namespaces(document),
            graphs=parts.Graphs.of(document),
            oauth=parts.oauth(document),
            reconnect=flag(se_protocol, "reconnect", SE, default=True),
            _protocol=frozen(members(document, HTTP)),
            _se_protocol=frozen(se_protocol),
            _extended=frozen(document.get("extended", {})),
        )

    def _bound(self, entry: Entry, values: Mapping[str, object]) -> str:
        bound = bind(
            entry.sparql,
            entry.forced_bindings,
            values,
            self.namespaces,
            path=at(entry.path, "forcedBindings"),
        )
        return prologue.missing(entry.sparql, self.namespaces) + bound

    def _entry(self, kind: str, name: str) -> Entry:
        known = self.updates if kind == "updates" else self.queries
        if name not in known:
            raise ProfileError(at(kind, name), f"there is no {name!r} among the {kind}{near(name, known)}")
        return known[name]

    def _http(self, operation: str, entry: Entry) -> Endpoint:
        own = entry.protocol
        protocol = includes.deeply(thawed(self._protocol), thawed(own))
        host = (
            text(own, "host", at(entry.path, HTTP))
            or entry.host
            or text(self._protocol, "host", HTTP)
            or self.host
        )
        return http_endpoint(operation, protocol, host)


def _graphs(own: tuple[str, ...] | None, general: tuple[str, ...] | None) -> tuple[str, ...]:
    """An entry that says "none" means it, whatever the profile says in general."""
    return (general or ()) if own is None else own


def _local(path: str | Path) -> Path:
    if isinstance(path, Path) or "://" not in path:
        return Path(path)
    parts = urlsplit(path)
    if parts.scheme != "file":
        raise ProfileError("", f"{path} is not a file; a profile is read from files only")
    return Path(unquote(parts.path))


def _nested(path: str, value: object) -> dict[str, Any]:
    """`value` at `path`, as the objects around it."""
    first, dot, rest = path.partition(".")
    return {first: _nested(rest, value) if dot else value}
