"""The members of a document, taken out with their shape checked: the path of what is wrong is in each error."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from triplewire.broker.errors import ProfileError

Members: TypeAlias = Mapping[str, Any]

_NAMES = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}


def name_of(value: object) -> str:
    """What JSON calls the kind of `value`."""
    return next((name for kind, name in _NAMES.items() if isinstance(value, kind)), "a number")


def members(document: Members, name: str, path: str = "") -> Members:
    """The object under `name`, empty where there is none."""
    value = document.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ProfileError(at(path, name), f"expected an object, not {name_of(value)}")
    return value


def text(document: Members, name: str, path: str = "") -> str | None:
    """The string under `name`, None where there is none."""
    value = document.get(name)
    if value is not None and not isinstance(value, str):
        raise ProfileError(at(path, name), f"expected a string, not {name_of(value)}")
    return value


def flag(document: Members, name: str, path: str = "", *, default: bool) -> bool:
    """The boolean under `name`; the words true and false are taken too."""
    value = document.get(name)
    if value is None:
        return default
    if isinstance(value, str) and value.lower() in {"true", "false"}:
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise ProfileError(at(path, name), f"expected true or false, not {name_of(value)}")
    return value


def strings(document: Members, name: str, path: str = "") -> tuple[str, ...] | None:
    """The strings under `name`, where one alone needs no array; None where there is no such member."""
    value = document.get(name)
    if value is None:
        return None
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise ProfileError(at(path, name), "expected a string or an array of strings")
    return tuple(items)


def at(path: str, name: str) -> str:
    """The path of the member `name` of what is at `path`."""
    return f"{path}.{name}" if path else name


def frozen(value: Any) -> Any:
    """A copy of JSON that nobody can change: objects as read-only mappings, arrays as tuples."""
    if isinstance(value, Mapping):
        return MappingProxyType({key: frozen(member) for key, member in value.items()})
    if isinstance(value, list | tuple):
        return tuple(frozen(item) for item in value)
    return value


def thawed(value: Any) -> Any:
    """A copy of JSON that belongs to the caller: plain dicts and lists."""
    if isinstance(value, Mapping):
        return {key: thawed(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [thawed(item) for item in value]
    return value
