"""What is wrong with a profile: everything that can be told without sending it anywhere.

Each query and update is bound with its defaults, or with samples where a value is required, and Oxigraph is asked
whether it is SPARQL; nothing is evaluated and nothing reaches the network.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from triplewire.broker.errors import ProfileError

from . import entries as parts
from . import includes
from .check_entries import entry_problems
from .check_members import (
    graph_problems,
    host_problems,
    namespace_problems,
    oauth_problems,
    protocol_problems,
    subscription_problems,
    unknown_members,
    usable_namespaces,
)
from .documents import MalformedProfile
from .endpoints import HTTP, SE
from .problems import Problem, error, warning
from .shape import at, members

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .shape import Members

_PROFILE = ("host", "oauth", HTTP, SE, "graphs", "namespaces", "extended", "updates", "queries")
_ENTRY = ("sparql", "forcedBindings", "graphs", HTTP, SE, "authentication", "host")
_BINDING = ("type", "value", "datatype", "language")


def check(path: str | Path) -> list[Problem]:
    """The problems of the profile at `path`, in the order of the document; none if it is as it should be."""
    try:
        document = includes.load(Path(path))
    except MalformedProfile as malformed:
        return [error(malformed.path, malformed.reason, malformed.line, malformed.column)]
    except ProfileError as problem:
        return [error(problem.path, problem.description)]
    return [*_profile(document), *_entries(document)]


def _profile(document: Members) -> Iterator[Problem]:
    yield from unknown_members(document, _PROFILE, "")
    if not document.get("updates") and not document.get("queries"):
        yield warning("", "there are no updates and no queries")
    yield from _guarded(host_problems(document))
    yield from _guarded(oauth_problems(document))
    yield from _guarded(protocol_problems(document, ""))
    yield from _guarded(subscription_problems(document, ""))
    yield from _guarded(graph_problems(document, ""))
    yield from _guarded(namespace_problems(document))


def _entries(document: Members) -> Iterator[Problem]:
    namespaces = usable_namespaces(document)
    for kind in ("updates", "queries"):
        yield from _guarded(_kind(document, kind, namespaces))


def _kind(document: Members, kind: str, namespaces: Mapping[str, str]) -> Iterator[Problem]:
    for name, value in members(document, kind).items():
        yield from _guarded(_entry(value, kind, name, namespaces))


def _entry(value: Members, kind: str, name: str, namespaces: Mapping[str, str]) -> Iterator[Problem]:
    entry = parts.entry(name, value, at(kind, name))
    yield from unknown_members(value, _ENTRY, entry.path)
    yield from protocol_problems(value, entry.path)
    yield from subscription_problems(value, entry.path)
    yield from graph_problems(value, entry.path)
    for variable, binding in members(value, "forcedBindings").items():
        where = f"{entry.path}.forcedBindings.{variable}"
        yield from unknown_members(binding, _BINDING, where)
        if "type" not in binding:
            yield warning(at(where, "type"), "missing; taken for a literal")
    yield from entry_problems(entry, namespaces, is_update=kind == "updates")


def _guarded(problems: Iterator[Problem]) -> Iterator[Problem]:
    """These problems; a member of the wrong shape is one too, and ends them."""
    try:
        yield from problems
    except ProfileError as problem:
        yield error(problem.path, problem.description)
