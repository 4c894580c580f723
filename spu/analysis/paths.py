"""Property paths as trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from .syntax import Constant


@dataclass(frozen=True, slots=True)
class Link:
    """One predicate: a constant or a variable."""

    predicate: str | Constant


@dataclass(frozen=True, slots=True)
class Inverse:
    """`^path`."""

    path: Path


@dataclass(frozen=True, slots=True)
class Sequence:
    """`path/path`."""

    steps: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Alternative:
    """`path|path`."""

    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Closure:
    """`path*`, `path+` and `path?`; `zero` where it may have no length."""

    path: Path
    zero: bool


@dataclass(frozen=True, slots=True)
class Negated:
    """`!(p|^q)`: what it allows in either direction is any other predicate."""

    forward: bool
    backward: bool


Path: TypeAlias = Link | Inverse | Sequence | Alternative | Closure | Negated


def is_sequence(path: Path) -> bool:
    """Whether it is nothing but predicates one after the other, in either direction: a join of triples."""
    match path:
        case Link():
            return True
        case Inverse(inner):
            return is_sequence(inner)
        case Sequence(parts):
            return all(map(is_sequence, parts))
    return False


def needs_quad(path: Path) -> bool:
    """Whether each match has at least one quad."""
    match path:
        case Closure(inner, zero):
            return not zero and needs_quad(inner)
        case Inverse(inner):
            return needs_quad(inner)
        case Sequence(parts):
            return any(map(needs_quad, parts))
        case Alternative(parts):
            return all(map(needs_quad, parts))
    return True
