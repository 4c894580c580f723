"""The whole dataset in a folder: N-Quads in gzip parts, and a manifest that checks them.

A snapshot is written while updates go on, so it is not of one sequence number but between two: it holds every record
up to `sequence`, perhaps some or all of those up to `until`, and nothing of what came later.  Records say exactly what
came and went, so replaying from `sequence` on makes it right, whatever it already holds.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import zlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from triplewire.broker.errors import JournalDamaged

from .quad_lines import WRITER, rewritten

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDER = "snapshots"
MANIFEST = "manifest.json"
_FORMAT = 1
_NAME = re.compile(r"\d{20}")
_GZIP = 31  # zlib's window bits for gzip's header and trailer


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a snapshot; its checksum is of its bytes as they lie there."""

    name: str
    size: int
    sha256: str
    quads: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a snapshot holds; `graphs` are all named graphs, also those without a quad."""

    sequence: int
    until: int
    time_ms: int
    quads: int
    graphs: tuple[str, ...]
    parts: tuple[Part, ...]
    writer: str = WRITER

    def encode(self) -> bytes:
        """The manifest as it is written: JSON, with a checksum of its content."""
        content = {"format": _FORMAT, **asdict(self)}
        return json.dumps({"content": content, "sha256": _checksum(content)}, indent=1).encode()

    @classmethod
    def decode(cls, data: bytes) -> Manifest:
        """The manifest of those bytes.

        Raises:
            ValueError: they are not one.
        """
        try:
            document = json.loads(data)
            content = document["content"]
            if document["sha256"] != _checksum(content):
                raise ValueError("its checksum is wrong")
            if content.pop("format") != _FORMAT:
                raise ValueError(f"its format is not {_FORMAT}")
            parts = tuple(Part(**part) for part in content.pop("parts"))
            return cls(parts=parts, graphs=tuple(content.pop("graphs")), **content)
        except (KeyError, TypeError) as error:
            raise ValueError(f"it is no manifest: {error!r}") from error


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot whose manifest could be read."""

    path: Path
    manifest: Manifest

    @classmethod
    def open(cls, directory: Path, sequence: int) -> Snapshot:
        """The snapshot of that number.

        Raises:
            JournalDamaged: its manifest can't be trusted.
        """
        path = snapshot_path(directory, sequence)
        try:
            manifest = Manifest.decode((path / MANIFEST).read_bytes())
        except (OSError, ValueError) as error:
            raise JournalDamaged(str(path / MANIFEST), 0, f"a manifest ({error})") from error
        if manifest.sequence != sequence:
            raise JournalDamaged(
                str(path / MANIFEST), 0, f"the sequence number of the folder's name, {sequence}"
            )
        return cls(path, manifest)

    @property
    def size(self) -> int:
        """How much it takes on disk."""
        return sum(part.size for part in self.manifest.parts)

    def check(self) -> None:
        """Read all of it.

        Raises:
            JournalDamaged: a part is not what was written.
        """
        for part in self.manifest.parts:
            self._read(part)

    def texts(self) -> Iterator[bytes]:
        """Its quads as N-Quads, part by part.

        Raises:
            JournalDamaged: a part is not what was written.
        """
        for part in self.manifest.parts:
            text = zlib.decompress(self._read(part), _GZIP)
            yield text if self.manifest.writer == WRITER else rewritten(text)

    def _read(self, part: Part) -> bytes:
        path = self.path / part.name
        try:
            data = path.read_bytes()
        except OSError as error:
            raise JournalDamaged(str(path), 0, f"a part of a snapshot ({error.strerror})") from error
        if hashlib.sha256(data).hexdigest() != part.sha256:
            raise JournalDamaged(str(path), 0, f"{part.size} bytes with the manifest's checksum")
        return data


def snapshot_path(directory: Path, sequence: int) -> Path:
    """Where the snapshot of that number is."""
    return directory / FOLDER / f"{sequence:020}"


def snapshot_sequences(directory: Path) -> list[int]:
    """The sequence numbers of the snapshots, whole or not, in order."""
    try:
        names = [path.name for path in (directory / FOLDER).iterdir()]
    except FileNotFoundError:
        return []
    return sorted(int(name) for name in names if _NAME.fullmatch(name))


def remove_snapshot(directory: Path, sequence: int) -> None:
    """Take a snapshot away, its manifest first, so that none looks whole while it goes."""
    path = snapshot_path(directory, sequence)
    (path / MANIFEST).unlink(missing_ok=True)
    shutil.rmtree(path, ignore_errors=True)
