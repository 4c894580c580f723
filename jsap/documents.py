"""A profile's file as one document: JSON, or YAML that means the same as its JSON.

YAML 1.1 guesses types that JSON has not: `no` would be false, `12:30` the number 750 and `2018-06-28T00:00:00` a date.
Here true, false, and the numbers of both YAML 1.1 and JSON are what they look like.  All else is a string, so that a
profile means the same in both syntaxes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import yaml

from triplewire.broker.errors import ProfileError

from .shape import name_of

if TYPE_CHECKING:
    from collections.abc import Hashable
    from pathlib import Path

YAML_SUFFIXES = frozenset({".yaml", ".yml", ".ysap"})


# Deeper than any profile that a person wrote, and far from Python's own limit.
_DEEPEST = 100


class MalformedProfile(ProfileError):
    """The file is not JSON or not YAML; `line` and `column` count from 1, None where unknown."""

    def __init__(self, reason: str, *, line: int | None = None, column: int | None = None) -> None:
        place = "" if line is None else f" (line {line}, column {column})"
        super().__init__("", f"{reason}{place}")
        self.reason = reason
        self.line = line
        self.column = column


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, with JSON's types only."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """An object, whose members have the names that are written."""
        for name, _ in node.value:
            if isinstance(name, yaml.ScalarNode) and name.tag != "tag:yaml.org,2002:merge":
                name.tag = "tag:yaml.org,2002:str"
        return super().construct_mapping(node, deep)


_NUMBER = r"-?(?:0|[1-9][0-9]*)"
_TYPES = (
    ("bool", "true|false", "tf"),
    ("int", _NUMBER, "-0123456789"),
    ("float", rf"{_NUMBER}\.[0-9]+(?:[eE][-+][0-9]+)?", "-0123456789"),
)
_GUESSED = {f"tag:yaml.org,2002:{name}" for name in ("bool", "int", "float", "timestamp")}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _GUESSED]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for _name, _pattern, _first in _TYPES:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(f"^(?:{_pattern})$"), list(_first))


def read(path: Path) -> dict[str, Any]:
    """The document in the file at `path`.

    Raises:
        ProfileError: the file can't be read, or is not an object in JSON or YAML.
    """
    try:
        content = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ProfileError("", f"{path} can't be read: {_reason(error)}") from error
    return parse(content, name=str(path), is_yaml=path.suffix.lower() in YAML_SUFFIXES)


def parse(content: str, *, name: str = "the profile", is_yaml: bool = False) -> dict[str, Any]:
    """The document that `content` is.

    Raises:
        MalformedProfile: it is not JSON, or not YAML; the description names the place.
        ProfileError: it is something else than an object.
    """
    try:
        document = plain(_yaml(content, name) if is_yaml else _json(content, name))
    except RecursionError as error:
        raise ProfileError("", f"{name} is nested too deep") from error
    if not isinstance(document, dict):
        raise ProfileError("", f"{name}: expected an object, not {name_of(document)}")
    return document


def plain(value: Any, depth: int = 0) -> Any:
    """A copy of `value` in plain dicts and lists, with strings as the names of members.

    Raises:
        ProfileError: it is nested too deep.
    """
    if depth > _DEEPEST:
        raise ProfileError("", f"the profile is nested more than {_DEEPEST} deep")
    if isinstance(value, Mapping):
        return {str(key): plain(member, depth + 1) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    return value


def _json(content: str, name: str) -> Any:
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        reason = f"{name} is not JSON: {error.msg}"
        raise MalformedProfile(reason, line=error.lineno, column=error.colno) from error


def _yaml(content: str, name: str) -> Any:
    try:
        return yaml.load(content, _Loader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
        raise MalformedProfile(f"{name} is not YAML: {error.problem}", line=line, column=column) from error
    except (yaml.YAMLError, ValueError) as error:
        raise MalformedProfile(f"{name} is not YAML: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or " ".join(str(error).split())
