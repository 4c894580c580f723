"""What the parts in a directory were made of, so that a load that was interrupted after its mapping need not map again."""

from __future__ import annotations

import glob
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from .part_files import is_local, local_path
from .progress_file import state_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_LARGEST_BYTES = 64 * 1024


def fingerprint(mapping: Path, sources: Iterable[str], *more: str) -> str:
    """Tells these inputs from others: the mapping's text, and each source's files by name, size and time.

    Of sources that are not here only the paths are known.

    Raises:
        OSError: the mapping can't be read.
    """
    hashed = hashlib.sha256(mapping.read_bytes())
    for text in more:
        hashed.update(f"\n{text}".encode())
    for source in sources:
        hashed.update(f"\n\n{source}".encode())
        for line in _files(source):
            hashed.update(f"\n{line}".encode())
    return hashed.hexdigest()


def _files(source: str) -> Iterator[str]:
    if not is_local(source):
        return
    for name in sorted(glob.glob(str(local_path(source)))):  # noqa: PTH207 - absolute patterns, too
        path = Path(name)
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                told = file.stat()
                yield f"{file} {told.st_size} {told.st_mtime_ns}"


class Inputs:
    """Remembers the inputs of the parts in one directory, in the user's state directory."""

    def __init__(self, directory: str, environment: Mapping[str, str]) -> None:
        name = hashlib.sha256(directory.rstrip("/").encode()).hexdigest()[:16]
        self._path = state_folder(environment) / f"inputs-{name}.json"

    def made(self, fingerprint: str, manifest: str) -> bool:
        """Whether the parts with this manifest were made of these inputs."""
        try:
            with self._path.open("rb") as file:
                document = json.loads(file.read(_LARGEST_BYTES))
        except (OSError, ValueError, RecursionError):
            return False
        return bool(document == {"inputs": fingerprint, "manifest": manifest})

    def keep(self, fingerprint: str, manifest: str) -> None:
        """The parts with this manifest were made of these inputs."""
        self._path.write_text(json.dumps({"inputs": fingerprint, "manifest": manifest}), encoding="utf-8")

    def forget(self) -> None:
        """The parts are gone."""
        self._path.unlink(missing_ok=True)
