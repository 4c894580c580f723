"""A profile's operations as something to send: by id, or as a SPARQL text with the profile's prefixes and addresses."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from triplewire.broker.errors import ProfileError
from triplewire.broker.model import Query, Update
from triplewire.jsap.entries import Entry, entry
from triplewire.jsap.profile import Profile

from .client_credentials import ClientCredentials
from .credentials import CredentialsFile
from .flows import Method
from .settings import ClientSettings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from .authorization import Authorization

    Values: TypeAlias = Mapping[str, object]

logger = logging.getLogger("triplewire.clients")

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
        """The settings as given, or the defaults with the profile's own wishes to reconnect and to trust anybody."""
        if given is not None:
            return given
        trusting = self.profile.oauth.enable and self.profile.oauth.trust_all
        if trusting:
            logger.warning(
                "! oauth.trustall: any certificate is believed, so whoever is on the way can read all"
            )
        return ClientSettings(reconnect=self.profile.reconnect, verify=not trusting)

    def authorization(
        self, given: Authorization | None, identity: str | None, settings: ClientSettings
    ) -> Authorization | None:
        """What was given, or the tokens that the profile's `oauth` says how to get.

        Without an identity it is the one that this user has registered there, where it is the only one.

        Raises:
            ProfileError: OAuth is enabled, and the profile does not say where tokens come from.
        """
        oauth = self.profile.oauth
        if given is not None or not oauth.enable:
            return given
        if not oauth.token:
            raise ProfileError("oauth", "enabled, but there is no URL to get tokens from")
        if identity is None:
            known = CredentialsFile().identities(oauth.token)
            if len(known) != 1:
                logger.warning("! oauth is enabled, and no identity is given: no token will be sent")
                return None
            identity = known[0]
        # Keycloak's way to register is none of a client that should not be able to make clients.
        sepa = oauth.provider != "keycloak"
        return ClientCredentials(
            identity, oauth.register if sepa else None, oauth.token, form=not sepa, settings=settings
        )

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
