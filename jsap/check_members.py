"""Problems of a profile's members, those of its texts aside: names, hosts, ports, paths, graphs and namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import entries as parts
from .endpoints import FORMATS, HTTP, METHODS, SCHEMES, SE, port_number
from .forced_bindings import near
from .problems import Problem, error, warning
from .shape import at, flag, members, strings, text
from .spellings import GRAPHS
from .terms import checked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .shape import Members

# Each finds problems and may raise ProfileError at a member that is not of its shape; `check` reports that too.


def unknown_members(holder: Members, known: Iterable[str], path: str) -> Iterator[Problem]:
    """Members that nobody reads."""
    names = list(known)
    for name in holder:
        if name not in names:
            hint = near(name, names)
            yield warning(at(path, name), f"not a member that is read{hint if 'mean' in hint else ''}")


def oauth_problems(document: Members) -> Iterator[Problem]:
    """OAuth switched on, and no way to get a token."""
    found = parts.oauth(document)
    if found.enable and not found.token:
        yield warning("oauth", "enabled, but there is no URL to get tokens from")


def host_problems(document: Members) -> Iterator[Problem]:
    """A profile that can be sent nowhere."""
    hosts = (text(members(document, protocol), "host", protocol) for protocol in (HTTP, SE))
    if not text(document, "host") and not all(hosts):
        yield warning("host", "missing; operations can't be sent anywhere")


def namespace_problems(document: Members) -> Iterator[Problem]:
    """Namespaces that are not IRIs."""
    for prefix, namespace in parts.namespaces(document).items():
        yield from _iri(namespace, at("namespaces", prefix))


def usable_namespaces(document: Members) -> dict[str, str]:
    """The namespaces, with something in the place of those that are not IRIs: they are a problem once, not at each use."""
    own = document.get("namespaces")
    found: dict[str, str] = dict(parts.KNOWN_NAMESPACES)
    for prefix, namespace in own.items() if isinstance(own, dict) else ():
        usable = isinstance(namespace, str) and not any(_iri(namespace, ""))
        found[prefix] = namespace if usable else f"urn:undeclared:{prefix}:"
    return found


def graph_problems(holder: Members, path: str) -> Iterator[Problem]:
    """Graphs that are not IRIs, and names of lists that nobody reads."""
    found, where = members(holder, "graphs", path), at(path, "graphs")
    yield from unknown_members(found, GRAPHS, where)
    for name in GRAPHS:
        for graph in strings(found, name, where) or ():
            yield from _iri(graph, at(where, name))


def protocol_problems(holder: Members, path: str) -> Iterator[Problem]:
    """Protocol, port, paths, methods and formats for queries and updates, of a profile or an entry."""
    http, where = members(holder, HTTP, path), at(path, HTTP)
    yield from _one_of(http, "protocol", (*SCHEMES[HTTP], "jena_api", "jena-api"), where)
    port_number(http.get("port"), where)
    for operation in ("query", "update"):
        found = members(http, operation, where)
        yield from _path(found, at(where, operation))
        yield from _one_of(found, "method", METHODS[operation], at(where, operation))
        yield from _one_of(found, "format", FORMATS[operation], at(where, operation))


def subscription_problems(holder: Members, path: str) -> Iterator[Problem]:
    """The same of the SE Protocol."""
    protocol, here = members(holder, SE, path), at(path, SE)
    flag(protocol, "reconnect", here, default=True)
    available, where = members(protocol, "availableProtocols", here), at(here, "availableProtocols")
    for name in available:
        found = members(available, name, where)
        yield from _one_of(found, "scheme", SCHEMES[SE], at(where, name))
        port_number(found.get("port"), at(where, name))
        yield from _path(found, at(where, name))
    if available:
        yield from _one_of(protocol, "protocol", available, here)


def _one_of(holder: Members, name: str, known: Iterable[str], path: str) -> Iterator[Problem]:
    value = text(holder, name, path)
    if value is not None and value not in known:
        yield error(at(path, name), f"{value!r} is none of {', '.join(known)}")


def _path(holder: Members, path: str) -> Iterator[Problem]:
    value = text(holder, "path", path)
    if value is None:
        return
    if value != value.strip():
        yield warning(at(path, "path"), f"{value!r} has blanks around it; they are dropped")
    if not value.strip().startswith("/"):
        yield warning(at(path, "path"), f"{value!r} does not begin with /; one is added")


def _iri(value: str, path: str) -> Iterator[Problem]:
    try:
        checked(value)
    except ValueError as problem:
        yield error(path, str(problem))
