"""The queries and updates of a profile (JSAP) as tools of their own, with their forced bindings as typed arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from mcp.types import Tool, ToolAnnotations

from triplewire.broker.tokens import tokens
from triplewire.jsap.lexical import INTEGERS

from .schemas import READS, rows, schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triplewire.jsap.entries import Entry
    from triplewire.jsap.profile import Profile
    from triplewire.jsap.terms import ForcedBinding

    from .limits import Limits

Kind = Literal["query", "update", "subscribe"]

# What clients of the protocol take as a tool's name.
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 64
_REMOVING = frozenset({"DELETE", "CLEAR", "DROP", "MOVE", "COPY"})
_NUMBERS = {
    **dict.fromkeys(("decimal", "double", "float"), "number"),
    **dict.fromkeys((name.rpartition("#")[2] for name in INTEGERS), "integer"),
    "boolean": "boolean",
}
_KINDS = {"number": (int, float), "integer": (int,), "boolean": (bool,), "string": (str,)}


@dataclass(frozen=True, slots=True)
class ProfileTool:
    """A tool, and the entry of the profile that it stands for."""

    tool: Tool
    kind: Kind
    entry: Entry


def profile_tools(
    profile: Profile, limits: Limits, taken: Iterable[str], *, read_only: bool
) -> list[ProfileTool]:
    """A tool for each update, unless nothing may be changed, and two for each query: to ask and to follow it."""
    names = set(taken)
    made = []
    for entry in profile.queries.values():
        made.append(_made("query", entry, profile, limits, names))
        made.append(_made("subscribe", entry, profile, limits, names))
    if not read_only:
        made += [_made("update", entry, profile, limits, names) for entry in profile.updates.values()]
    return made


def _made(kind: Kind, entry: Entry, profile: Profile, limits: Limits, names: set[str]) -> ProfileTool:
    name = _name(f"{kind}_{entry.id}", names)
    properties = {
        variable: _parameter(declared, profile) for variable, declared in entry.forced_bindings.items()
    }
    required = tuple(name for name, declared in entry.forced_bindings.items() if declared.is_required)
    if kind != "update" and "limit" not in properties:
        properties["limit"] = rows(limits)
    what = {
        "query": "Ask the application's query",
        "subscribe": "Follow the answer to the application's query",
        "update": "Make the application's update",
    }[kind]
    return ProfileTool(
        Tool(
            name=name,
            title=f"{what} {entry.id}",
            description=f"{what} {entry.id}. Its SPARQL, whose variables of the arguments' names are replaced by the "
            f"arguments:\n{entry.sparql[:4000]}",
            input_schema=schema(properties, required),
            annotations=_annotations(kind, entry.sparql),
        ),
        kind,
        entry,
    )


def _name(wanted: str, names: set[str]) -> str:
    base = _UNFIT.sub("_", wanted)[:_LONGEST_NAME]
    name, number = base, 1
    while name in names:
        number += 1
        ending = f"_{number}"
        name = base[: _LONGEST_NAME - len(ending)] + ending
    names.add(name)
    return name


def _annotations(kind: Kind, sparql: str) -> ToolAnnotations:
    if kind != "update":
        return READS
    words = {token.text.upper() for token in tokens(sparql) if token.kind == "word"}
    return ToolAnnotations(
        read_only_hint=False,
        destructive_hint=not _REMOVING.isdisjoint(words),
        idempotent_hint=False,
        open_world_hint=False,
    )


def _parameter(declared: ForcedBinding, profile: Profile) -> dict[str, Any]:
    if declared.type == "uri":
        prefixes = ", ".join(f"{prefix}:" for prefix in list(profile.namespaces)[:20])
        kind, description = "string", f"An IRI, or a name with one of the prefixes {prefixes}"
    elif declared.type == "bnode":
        kind, description = "string", "The label of a blank node."
    else:
        local = (declared.datatype or "").rpartition("#")[2].rpartition(":")[2]
        kind = _NUMBERS.get(local, "string")
        description = f"A literal of the datatype {declared.datatype}." if declared.datatype else "A text."
        if declared.language:
            description = f"A text in the language {declared.language}."
    parameter: dict[str, Any] = {"type": kind, "description": description}
    if not declared.is_required and isinstance(declared.value, _KINDS[kind]):
        parameter["default"] = declared.value
    return parameter
