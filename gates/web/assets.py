"""The page's own files: modules, styles, the editor.  They are read once, and their address changes with their bytes.

All are under one name that is a hash of all of them, so browsers may keep them for ever, and modules of two versions
never meet: what a module imports is relative to where it is itself.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from importlib.resources.abc import Traversable

PATH = "/page"
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_NAME_CHARACTERS = 16  # of the hash: 64 bits, against chance only


@dataclass(frozen=True, slots=True)
class Asset:
    """One file: its bytes, the same compressed, its media type and its entity tag."""

    content: bytes
    compressed: bytes
    media_type: str
    etag: str

    @classmethod
    def of(cls, name: str, content: bytes) -> Asset:
        """The file `name` with these bytes."""
        return cls(
            content, gzip.compress(content, mtime=0), _TYPES[PurePosixPath(name).suffix], etag(content)
        )


@dataclass(frozen=True, slots=True)
class Assets:
    """All files by their path on the HTTP port; `base` is what they have in common."""

    base: str
    by_path: Mapping[str, Asset]


@cache
def assets() -> Assets:
    """Those of this package."""
    return bundle(_found(files(__package__).joinpath("page")))


def bundle(found: Iterable[tuple[str, bytes]]) -> Assets:
    """Files by their names and bytes, under one address."""
    named = dict(sorted(found))
    whole = hashlib.sha256()
    for name, content in named.items():
        whole.update(f"{name}\0{len(content)}\0".encode() + content)
    base = f"{PATH}/{whole.hexdigest()[:_NAME_CHARACTERS]}"
    return Assets(base, {f"{base}/{name}": Asset.of(name, content) for name, content in named.items()})


def borrowed(names: Iterable[str], package: str, folder: str) -> Assets:
    """The files of a folder of another package, and those of this one's page that it has use for."""
    page = files(__package__).joinpath("page")
    return bundle(
        [
            *_found(files(package).joinpath(folder)),
            *((name, page.joinpath(name).read_bytes()) for name in names),
        ]
    )


def etag(content: bytes) -> str:
    """A strong entity tag (RFC 9110, 8.8.3)."""
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def matches(tag: str, if_none_match: str) -> bool:
    """Whether a client has this already, by its If-None-Match (RFC 9110, 13.1.2); `*` asks for nothing."""
    return any(part.strip().removeprefix("W/") == tag for part in if_none_match.split(","))


def _found(folder: Traversable, above: str = "") -> Iterator[tuple[str, bytes]]:
    """What of the folder is for browsers; sources of the vendored file and what npm leaves are not."""
    for entry in folder.iterdir():
        name = f"{above}{entry.name}"
        if entry.is_dir():
            if entry.name != "node_modules":
                yield from _found(entry, f"{name}/")
        elif PurePosixPath(name).suffix in _TYPES:
            yield name, entry.read_bytes()
