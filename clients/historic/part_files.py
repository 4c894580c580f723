"""Reads the parts that a mapping made: a directory of N-Quads files, and `manifest.json`, which names them in order.

The directory may be anywhere that Spark can write; what is not a folder here is fetched by a `Fetch`, one part at a time.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, Self, cast
from urllib.parse import unquote, urlsplit

from .errors import HistoryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

MANIFEST = "manifest.json"
# A name and a few numbers for each part: what is larger is no manifest.
_LARGEST_MANIFEST = 256 * 1024 * 1024


class PartsError(HistoryError):
    """A directory has no parts, or they are not what its manifest says."""


class Fetch(Protocol):
    """Makes a copy of one file of the directory; raises OSError or HistoryError."""

    def __call__(self, name: str, to: Path) -> None:
        """Copy the file of that name to a path here."""
        ...


@dataclass(frozen=True, slots=True)
class Part:
    """One file: its name, and how many lines and bytes of N-Quads it has before compression."""

    name: str
    lines: int
    size: int


class PartFiles:
    """The parts in a directory; a context manager, as fetched copies are removed in the end.

    `hash` tells this manifest from any other.
    """

    def __init__(self, directory: str, fetch: Fetch | None = None) -> None:
        """Reads the manifest; `fetch` is for directories that are not here (`is_local`).

        Raises:
            PartsError: there is none, or it is not one.
        """
        self.directory = directory
        self._fetch = fetch
        self._copies = tempfile.TemporaryDirectory(prefix="triplewire-parts-") if fetch is not None else None
        try:
            with self._file(MANIFEST) as path, path.open("rb") as file:
                data = file.read(_LARGEST_MANIFEST)
        except FileNotFoundError as error:
            self.close()
            raise PartsError(
                f"{directory}: there is no {MANIFEST}, which is written last: its parts were never finished"
            ) from error
        except BaseException:
            self.close()
            raise
        self.hash = hashlib.sha256(data).hexdigest()
        self.parts = _parts(data, f"{directory}/{MANIFEST}")

    @property
    def lines(self) -> int:
        """Of all parts together."""
        return sum(part.lines for part in self.parts)

    @property
    def size(self) -> int:
        """The bytes of all parts together, before compression."""
        return sum(part.size for part in self.parts)

    @contextmanager
    def open(self, part: Part) -> Iterator[IO[bytes]]:
        """The part's lines, as bytes.

        Raises:
            PartsError: it is not there, or can't be decompressed; also while it is read.
        """
        try:
            with self._file(part.name) as path, _decompressed(path) as lines:
                yield lines
        except (FileNotFoundError, EOFError, gzip.BadGzipFile) as error:
            raise PartsError(f"{self.directory}/{part.name} is not as its manifest says: {error}") from error

    def stream(self, told: Callable[[int], None]) -> IO[bytes]:
        """All parts as one file; `told` hears of the bytes that were read."""
        return cast("IO[bytes]", _Stream(self, told))

    @contextmanager
    def _file(self, name: str) -> Iterator[Path]:
        if self._fetch is None or self._copies is None:
            yield local_path(self.directory) / name
            return
        copy = Path(self._copies.name) / Path(name).name
        self._fetch(name, copy)
        try:
            yield copy
        finally:
            copy.unlink(missing_ok=True)

    def close(self) -> None:
        """Remove what was fetched."""
        if self._copies is not None:
            self._copies.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Stream:
    """A file of files, read one after the other."""

    def __init__(self, files: PartFiles, told: Callable[[int], None]) -> None:
        self._chunks = self._read(files)
        self._told = told
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return b""
            self._rest = chunk
        size = len(self._rest) if size < 0 else size
        data, self._rest = self._rest[:size], self._rest[size:]
        self._told(len(data))
        return data

    @staticmethod
    def _read(files: PartFiles) -> Iterator[bytes]:
        for part in files.parts:
            with files.open(part) as lines:
                while chunk := lines.read(1 << 16):
                    yield chunk


def is_local(directory: str) -> bool:
    """Whether it is a folder of this machine: no URL, or one of `file:`."""
    scheme = urlsplit(directory).scheme
    # A drive's letter is no scheme.
    return len(scheme) < 2 or scheme == "file"


def local_path(directory: str) -> Path:
    """The folder that a local directory is."""
    parts = urlsplit(directory)
    return Path(unquote(parts.path)) if parts.scheme == "file" else Path(directory)


def _parts(data: bytes, where: str) -> tuple[Part, ...]:
    try:
        document = json.loads(data)
        return tuple(_part(entry) for entry in document["parts"])
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise PartsError(f"{where} is no manifest of parts: {type(error).__name__} {error!s:.200}") from error


def _part(entry: dict[str, Any]) -> Part:
    name, lines, size = entry["name"], entry["lines"], entry["bytes"]
    if not isinstance(name, str) or not isinstance(lines, int) or not isinstance(size, int):
        raise TypeError("a part has a name, lines and bytes")
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise ValueError(f"the part {name!r:.100} is not in its directory")
    return Part(name, lines, size)


@contextmanager
def _decompressed(path: Path) -> Iterator[IO[bytes]]:
    if path.suffix == ".gz":
        with gzip.open(path) as lines:
            yield cast("IO[bytes]", lines)
    else:
        with path.open("rb") as lines:
            yield lines
