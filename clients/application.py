"""A profile's operations as something to send: by id, or as a SPARQL text with the profile's prefixes and addresses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from triplewire.broker.model import Query, Update
from triplewire.jsap.entries import Entry, entry
from triplewire.jsap.profile import Profile

from .flows import Method
from .settings import ClientSettings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    Values: TypeAlias = Mapping[str, object]

Operation = TypeVar("Operation", Query, Update)


@dataclass(frozen=True, slots=True)
class Addressed(Generic[Operation]):
    """An operation, where it goes, and how; the method means nothing to a subscription."""

    operation: Operation
    url: str
    method: Method = Method.POST


class Application:
    """What a profile offers.  Values force bindings; for a text, a string is a literal, an IRI a NamedNode."""

    def __init__(self, profile: Profile | str | PathLike[str]) -> None:
        self.profile = profile if isinstance(profile, Profile) else Profile.load(Path(profile))

    def query(self, name: str, values: Values) -> Addressed[Query]:
        """The query to ask; raises ProfileError."""
        profile = self._with_query(name, values)
        endpoint = profile.query_endpoint(name)
        return Addressed(profile.query(name, values), endpoint.url, Method(endpoint.method))

    def update(self, name: str, values: Values) -> Addressed[Update]:
        """The update to make; raises ProfileError."""
        profile = self._with_update(name, values)
        endpoint = profile.update_endpoint(name)
        return Addressed(profile.update(name, values), endpoint.url, Method(endpoint.method))

    def subscription(self, name: str, values: Values) -> Addressed[Query]:
        """The query to follow; raises ProfileError."""
        profile = self._with_query(name, values)
        return Addressed(profile.query(name, values), profile.subscribe_url(name))

    def settings(self, given: ClientSettings | None) -> ClientSettings:
        """The settings as given, or the defaults with the profile's own wish to reconnect."""
        return given or ClientSettings(reconnect=self.profile.reconnect)

    def _with_query(self, name: str, values: Values) -> Profile:
        if name in self.profile.queries or not _is_sparql(name):
            return self.profile
        return replace(self.profile, queries={name: _entry(name, values)})

    def _with_update(self, name: str, values: Values) -> Profile:
        if name in self.profile.updates or not _is_sparql(name):
            return self.profile
        return replace(self.profile, updates={name: _entry(name, values)})


def _is_sparql(name: str) -> bool:
    """Whether it is a text rather than an id; the shortest texts (`CLEAR ALL`) still have a blank in them."""
    return "{" in name or len(name.split()) > 1


def _entry(sparql: str, values: Values) -> Entry:
    return entry("text", {"sparql": sparql, "forcedBindings": {name: {} for name in values}}, "text")
