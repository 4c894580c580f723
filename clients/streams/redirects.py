"""Where a request is sent on to, and whether the token may go along (RFC 9110, 15.4; RFC 6750, 5.3).

A token goes to the servers that the user named, and to those of `trusted_redirects`.  It goes on to another server only
where a tracker that the user named says so: to send consumers to relays is what a tracker is for, it has been given the
token by then, and relays want to know who follows.  Any other server that sends us elsewhere is not believed so much, and
nobody can make us leave TLS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

import httpx

from triplewire.broker.errors import BrokerRefused

from .addresses import is_at_tracker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triplewire.clients.flows import Reply

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MOST_HOPS = 5
_MOST_CHARS = 65_536  # an item's id in it can be as long as headers are
_PORTS = {"http": 80, "https": 443}
_NODE = "triplewire-node"


class Origin(NamedTuple):
    """A server (RFC 6454)."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Origin:
        """That of a URL.

        Raises:
            ValueError: it is none of http or https, or not well-formed.
        """
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError(f"{url[:200]!r} is no http or https URL")
        return cls(parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme])

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


class Trust:
    """Whom tokens are sent to: the servers of the URLs that a user `named`, and others that it `trusted`.

    Raises:
        ValueError: one of these is no http or https URL.
    """

    def __init__(self, named: Iterable[str], trusted: Iterable[str] = ()) -> None:
        self._named = frozenset(map(Origin.of, named))
        self._known = self._named | frozenset(map(Origin.of, trusted))

    def reaches(self, url: str, since: str) -> bool:
        """Whether a token that may be sent to `since` may be sent on to `url`, where that server sends us."""
        if Origin.of(url) in self._known:
            return True
        return is_at_tracker(since) and Origin.of(since) in self._named


class Trail:
    """The way of one request, from one of a user's URLs over servers that send it on.

    `url` is where to ask, `shares_token` whether the token may be sent there, `is_moved` whether it was sent on, `node` what
    the last server that named a relay calls it, "" where none did.
    """

    def __init__(self, url: str, trust: Trust, *, shares_token: bool = True, node: str = "") -> None:
        self.url = url
        self.shares_token = shares_token
        self.node = node
        self.is_moved = False
        self._trust = trust
        self._been = [url]

    @property
    def start(self) -> str:
        """Where it began."""
        return self._been[0]

    def follow(self, reply: Reply, ours: Iterable[str]) -> None:
        """Go where a reply of REDIRECTS sends us; the parameters called as `ours` were added here, and are taken off.

        Raises:
            BrokerRefused: there is no going there.
        """
        self.is_moved = True
        self.node = reply.headers.get(_NODE, "")[:200] or self.node
        url = _without(self._target(reply), frozenset(ours))
        if url in self._been:
            self._refuse(reply, f"it sends us in a circle, to {url}")
        if len(self._been) > MOST_HOPS:
            self._refuse(reply, f"it was sent on more than {MOST_HOPS} times")
        self.shares_token = self._trust.reaches(url, self.url if self.shares_token else "")
        self.url = url
        self._been.append(url)

    def _target(self, reply: Reply) -> str:
        location = reply.headers.get("location", "")
        if (
            not location
            or len(location) > _MOST_CHARS
            or not location.isascii()
            or not location.isprintable()
        ):
            self._refuse(reply, "it sends us on, and does not say where to")
        try:
            url = urljoin(self.url, location)
            origin = Origin.of(url)
            httpx.URL(url)  # what it can't take would be an error of ours later on
        except (ValueError, httpx.InvalidURL):
            self._refuse(reply, f"it sends us to {location:.200}")
        if "@" in urlsplit(url).netloc:
            self._refuse(reply, "it sends us to a URL with a password in it")
        if origin.scheme == "http" and Origin.of(self.url).scheme == "https":
            self._refuse(reply, f"it sends us from https to {origin}")
        return url

    def _refuse(self, reply: Reply, why: str) -> NoReturn:
        raise BrokerRefused("bad_redirect", reply.status, f"{self.start}: {why}")


def _without(url: str, names: frozenset[str]) -> str:
    """The URL without its fragment, and without the parameters of these names."""
    parts = urlsplit(url)
    query = parts.query
    given = parse_qsl(query, keep_blank_values=True)
    if any(name in names for name, _ in given):
        query = urlencode([pair for pair in given if pair[0] not in names])
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))
