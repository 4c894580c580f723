"""Where a broker answers, worked out from the one URL that a user gives."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

_SOCKETS = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}


@dataclass(frozen=True, slots=True)
class Addresses:
    """The URLs of one broker, or of one SPARQL endpoint elsewhere."""

    query: str
    update: str
    subscribe: str
    graph_store: str
    register: str
    token: str
    revoke: str

    @classmethod
    def of(cls, url: str) -> Addresses:
        """A URL that ends with its host or with a slash is a base: `/query`, `/update` and so on are below it.

        Any other URL is an endpoint, for queries and updates alike, as SPARQL servers with one path are.

        Raises:
            ValueError: it is not an http or https URL.
        """
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"a broker's URL starts with http:// or https:// and a host; {url!r} does not")
        host = f"{parts.scheme}://{parts.netloc}"
        if parts.path.endswith("/") or not parts.path:
            base = host + parts.path.rstrip("/")
            return cls(f"{base}/query", f"{base}/update", socket_url(url), *_others(base))
        return cls(url, url, socket_url(host), *_others(host))


def _others(base: str) -> tuple[str, str, str, str]:
    return (
        f"{base}/rdf-graph-store",
        f"{base}/oauth/register",
        f"{base}/oauth/token",
        f"{base}/oauth/revoke",
    )


def socket_url(url: str) -> str:
    """The WebSocket URL to subscribe at: an http URL's own port, where the path is `/subscribe` unless it has one.

    Raises:
        ValueError: the scheme is none of ws, wss, http and https.
    """
    parts = urlsplit(url)
    if parts.scheme not in _SOCKETS or not parts.hostname:
        raise ValueError(f"a WebSocket URL starts with ws:// or wss:// and a host; {url!r} does not")
    path = f"{parts.path}subscribe" if parts.path.endswith("/") else parts.path or "/subscribe"
    return urlunsplit((_SOCKETS[parts.scheme], parts.netloc, path, parts.query, ""))
