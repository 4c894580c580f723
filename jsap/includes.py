"""Profiles made of several files: which file an include names, and what a parent and its children are together.

Children are loaded after their parent and win: a child's scalar replaces its parent's, graphs are united, entries and
namespaces of the same name are replaced whole, `extended` is merged to its depths with arrays appended.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from triplewire.broker.errors import ProfileError

from .documents import read
from .shape import Members, name_of
from .spellings import Document, present

# Deeper than any profile that a person wrote; cycles are found by themselves.
_DEEPEST = 16


def load(path: Path) -> Document:
    """The file at `path` with its children, as one document in the present spelling.

    Raises:
        ProfileError: a file is missing or malformed, or includes itself.
    """
    return _load(path, ())


def resolved(document: Members, folder: Path | None) -> Document:
    """`document` in the present spelling with the children it names, looked up from `folder`."""
    return _resolved(document, folder, ())


def merged(parent: Members, child: Members) -> Document:
    """What a parent and one of its children are together."""
    return {**parent, **{name: _joined(name, parent, value) for name, value in child.items()}}


def deeply(parent: Any, child: Any, *, append: bool = False) -> Any:
    """Objects merged to their depths, the child winning; with `append`, arrays one after the other."""
    if isinstance(parent, dict) and isinstance(child, dict):
        both = {
            name: deeply(parent[name], child[name], append=append) for name in parent.keys() & child.keys()
        }
        return {**parent, **child, **both}
    if append and isinstance(parent, list) and isinstance(child, list):
        return [*parent, *child]
    return child


def _load(path: Path, trail: tuple[Path, ...]) -> Document:
    real = path.resolve()
    if real in trail:
        circle = " -> ".join(step.name for step in (*trail[trail.index(real) :], real))
        raise ProfileError("include", f"{path} includes itself: {circle}")
    if len(trail) > _DEEPEST:
        raise ProfileError("include", f"{path} is included more than {_DEEPEST} files deep")
    return _resolved(read(path), path.parent, (*trail, real))


def _resolved(document: Members, folder: Path | None, trail: tuple[Path, ...]) -> Document:
    whole = present(document)
    for index, name in enumerate(whole.pop("include", ())):
        child = _file(name, folder, f"include[{index}]")
        whole = merged(whole, _load(child, trail))
    return whole


def _file(name: str, folder: Path | None, path: str) -> Path:
    """The file that an include names: a path or a file URI, from the folder of the file that says so.

    `file:///queries.jsap` means the file beside this one, unless there is one at the root (SEPA's own files do so).
    """
    if folder is None:
        raise ProfileError(path, f"there is no folder to look for {name!r} in")
    try:
        parts = urlsplit(name)
    except ValueError as error:
        raise ProfileError(path, f"{name!r} names no file: {error}") from error
    if parts.scheme not in {"", "file"} and len(parts.scheme) > 1:  # one letter is a drive
        raise ProfileError(path, f"{name!r} is not a file; only files are included")
    found = Path(unquote(parts.path) if parts.scheme == "file" else name)
    beside = folder / found.relative_to(found.anchor) if parts.scheme == "file" else folder / found
    for candidate in (found, beside) if found.is_absolute() else (beside,):
        if candidate.is_file():
            return candidate
    raise ProfileError(path, f"there is no file {beside} to include")


def _joined(name: str, parent: Members, child: Any) -> Any:
    before = parent.get(name)
    if name == "extended":
        return child if before is None else deeply(before, child, append=True)
    if not isinstance(before, dict):
        return child
    if not isinstance(child, dict):
        raise ProfileError(name, f"an object in one file, {name_of(child)} in another")
    match name:
        case "updates" | "queries" | "namespaces":
            return {**before, **child}
        case "graphs":
            return {**before, **{key: _united(before.get(key), value) for key, value in child.items()}}
        case _:
            return deeply(before, child)


def _united(before: Any, after: Any) -> Any:
    if isinstance(before, list) and isinstance(after, list):
        return list(dict.fromkeys([*before, *after]))
    return after
