"""Where a profile's operations are sent: SPARQL 1.1 Protocol and SE Protocol endpoints, out of their members.

Defaults are those of SEPA's Java client, and for TLS the scheme's own port.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from triplewire.broker.errors import ProfileError

from .shape import at, members, text

if TYPE_CHECKING:
    from .shape import Members

HTTP, SE = "sparql11protocol", "sparql11seprotocol"
SCHEMES = {HTTP: ("http", "https"), SE: ("ws", "wss")}
METHODS = {"query": ("GET", "POST", "URL_ENCODED_POST"), "update": ("POST", "URL_ENCODED_POST")}
FORMATS = {"query": ("JSON", "XML", "CSV"), "update": ("JSON", "HTML")}

_PORTS = {"http": 8000, "https": 443, "ws": 9000, "wss": 443}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A URL, and for HTTP how SEPA's clients are told to ask it."""

    url: str
    method: str = ""
    format: str = ""


def http_endpoint(operation: str, protocol: Members, host: str | None) -> Endpoint:
    """Where queries or updates go; `operation` is "query" or "update".

    Raises:
        ProfileError: no host is known, or a member is not what it has to be.
    """
    name = text(protocol, "protocol", HTTP)
    # jena_api is SEPA's engine in the client's own process; what is left of it is HTTP
    scheme = "https" if name == "https" else "http"
    found = members(protocol, operation, HTTP)
    path = text(found, "path", at(HTTP, operation)) or "/sparql"
    return Endpoint(
        _url(scheme, host, protocol.get("port"), path, HTTP),
        (text(found, "method", at(HTTP, operation)) or "URL_ENCODED_POST").upper(),
        (text(found, "format", at(HTTP, operation)) or "JSON").upper(),
    )


def subscribe_endpoint(protocol: Members, host: str | None) -> Endpoint:
    """Where subscriptions are held: the one of the available protocols that is chosen.

    Raises:
        ProfileError: no host is known, or the chosen protocol is not available.
    """
    name = text(protocol, "protocol", SE) or "ws"
    available = members(protocol, "availableProtocols", SE)
    if name not in available and name not in SCHEMES[SE]:
        raise ProfileError(at(SE, "protocol"), f"{name!r} is none of the availableProtocols")
    path = at(SE, f"availableProtocols.{name}")
    chosen = members(available, name, at(SE, "availableProtocols"))
    scheme = text(chosen, "scheme", path) or (name if name in SCHEMES[SE] else "ws")
    if scheme not in SCHEMES[SE]:
        raise ProfileError(at(path, "scheme"), f"expected ws or wss, not {scheme!r}")
    return Endpoint(_url(scheme, host, chosen.get("port"), text(chosen, "path", path) or "/subscribe", path))


def _url(scheme: str, host: str | None, port: Any, path: str, where: str) -> str:
    name = (host or "").strip()
    if not name:
        raise ProfileError("host", "no host is given")
    if any(character in name for character in "/?#@ "):
        raise ProfileError("host", f"{name!r} is not the name of a host")
    if ":" in name and not name.startswith("["):
        name = f"[{name}]"  # RFC 3986, 3.2.2: an IPv6 address
    return f"{scheme}://{name}:{port_number(port, where) or _PORTS[scheme]}/{path.strip().lstrip('/')}"


def port_number(port: Any, where: str) -> int | None:
    """The port that a member says, None where it says nothing."""
    if port is None:
        return None
    try:
        number = int(port)
    except (TypeError, ValueError):
        number = -1
    if isinstance(port, bool) or not 0 < number < 65536:
        raise ProfileError(at(where, "port"), f"{port!r} is not a port")
    return number
