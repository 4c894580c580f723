"""How far a load has come, kept in a file that outlives a crash of anything.

What the file says has been answered by the broker; what came after the file was last written is sent again, which
changes nothing, as sets of quads without blank nodes are the same however often they are added.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from triplewire.clients.private_file import replace_file

from .errors import HistoryError
from .part_files import is_local, local_path

if TYPE_CHECKING:
    from collections.abc import Mapping

_LARGEST_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Position:
    """So many whole parts are loaded, and so many lines of the next one."""

    part: int = 0
    lines: int = 0


START = Position()


class ProgressFile:
    """Where the parts of one manifest are on their way to one destination.

    Replaced as a whole and synced, so that a loss of power leaves the old one or the new one.
    """

    def __init__(self, path: Path, manifest: str, destination: str) -> None:
        self.path = path
        self._manifest = manifest
        self._destination = destination

    def read(self) -> Position:
        """Where to go on; the start where nothing is kept, or the parts have been made anew since.

        Raises:
            HistoryError: it is no file of ours, or of another destination.
            OSError: it can't be read.
        """
        try:
            with self.path.open("rb") as file:
                text = file.read(_LARGEST_BYTES + 1)
        except FileNotFoundError:
            return START
        try:
            document = json.loads(text)
            manifest, destination = document["manifest"], document["destination"]
            part, lines = document["part"], document["lines"]
        except (ValueError, RecursionError, KeyError, TypeError):
            manifest, destination, part, lines = "", None, -1, -1
        if destination != self._destination or not _is_count(part) or not _is_count(lines):
            raise HistoryError(f"{self.path} does not tell how far a load has come: remove it to begin anew")
        return Position(part, lines) if manifest == self._manifest else START

    def keep(self, position: Position) -> None:
        """Put it in the place of what is there.

        Raises:
            OSError: it can't be written.
        """
        document = {
            "manifest": self._manifest,
            "destination": self._destination,
            "part": position.part,
            "lines": position.lines,
        }
        replace_file(self.path, f"{json.dumps(document)}\n", synced=True)
        _sync_folder(self.path.parent)


def progress_file(
    directory: str, manifest: str, destination: str, environment: Mapping[str, str]
) -> ProgressFile:
    """The file for these parts and this destination: beside the parts, or in the user's state directory.

    The latter where the parts are elsewhere, or may not be written (XDG Base Directory Specification).

    Raises:
        OSError: the state directory can't be made.
    """
    name = hashlib.sha256(destination.encode()).hexdigest()[:16]
    if is_local(directory) and os.access(local_path(directory), os.W_OK):
        # Spark leaves out names that begin with a dot
        return ProgressFile(local_path(directory) / f".loading-{name}.json", manifest, destination)
    where = hashlib.sha256(directory.rstrip("/").encode()).hexdigest()[:16]
    return ProgressFile(state_folder(environment) / f"loading-{where}-{name}.json", manifest, destination)


def state_folder(environment: Mapping[str, str]) -> Path:
    """Where what is under way is kept (XDG Base Directory Specification), made where it is not there.

    Raises:
        OSError: it can't be made.
    """
    home = environment.get("XDG_STATE_HOME", "")
    state = Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "state"
    folder = state / "triplewire"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
