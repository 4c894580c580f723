"""Where queries, updates and subscriptions go: to the broker that was named, or where a profile sends them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from triplewire.broker.model import Query, Update
from triplewire.clients.addresses import Addresses, socket_url
from triplewire.clients.application import Addressed
from triplewire.clients.flows import Method

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triplewire.clients.application import Application

STREAM_PORTS = {"http": 8001, "https": 8444}


@dataclass(frozen=True, slots=True)
class Addressing:
    """`url` is None where the profile's own addresses are meant; one of the two is there.

    `streams` is the base of the stream port, as `http://localhost:8001`.
    """

    url: str | None
    application: Application | None
    streams: str

    def query(self, text: str, values: Mapping[str, object] | None = None) -> Addressed[Query]:
        """A SPARQL text, or with a profile also a query's id; raises ProfileError."""
        if self.application is None:
            return Addressed(Query(text), self._at.query)
        to = self.application.query(text, values or {})
        return to if self.url is None else replace(to, url=self._at.query, method=Method.POST)

    def update(self, text: str, values: Mapping[str, object] | None = None) -> Addressed[Update]:
        """As `query`."""
        if self.application is None:
            return Addressed(Update(text), self._at.update)
        to = self.application.update(text, values or {})
        return to if self.url is None else replace(to, url=self._at.update, method=Method.POST)

    def subscription(self, text: str, values: Mapping[str, object] | None = None) -> Addressed[Query]:
        """As `query`."""
        if self.application is None:
            return Addressed(Query(text), self._at.subscribe)
        to = self.application.subscription(text, values or {})
        return to if self.url is None else replace(to, url=socket_url(self.url))

    @property
    def _at(self) -> Addresses:
        assert self.url is not None  # without a profile it was given
        return Addresses.of(self.url)


def streams_beside(url: str) -> str:
    """Where the stream port of a broker is by default: on the host of its HTTP port."""
    parts = urlsplit(url)
    host = parts.hostname or "localhost"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{STREAM_PORTS[parts.scheme]}"
