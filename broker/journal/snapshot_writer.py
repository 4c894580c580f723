"""Writing a snapshot of a live store, on any thread, while another one writes into the store."""

from __future__ import annotations

import hashlib
import shutil
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyoxigraph import RdfFormat

from triplewire.broker.errors import StoreError

from .files import sync_folder, write_synced
from .quad_lines import graph_text
from .snapshot import FOLDER, MANIFEST, Manifest, Part, Snapshot, remove_snapshot, snapshot_path

if TYPE_CHECKING:
    from pathlib import Path

    import pyoxigraph

# A part is loaded in one piece: large enough for the loader's speed, small enough for memory.
_PART_BYTES = 16 * 1024 * 1024
# Oxigraph gives 8 KiB at a time; each Python step on them would hold up the other threads.
_BLOCK_BYTES = 1024 * 1024
_GZIP = 31


@dataclass(frozen=True, slots=True)
class Draft:
    """A snapshot that is written but has no manifest yet, so nobody will take it for one."""

    directory: Path
    path: Path
    sequence: int
    graphs: tuple[str, ...]
    parts: tuple[Part, ...]

    def publish(self, until: int, time_ms: int) -> Snapshot:
        """Give it its manifest and its name; a snapshot of that name is replaced.

        Raises:
            StoreError: it can't be written.
        """
        manifest = Manifest(
            sequence=self.sequence,
            until=until,
            time_ms=time_ms,
            quads=sum(part.quads for part in self.parts),
            graphs=self.graphs,
            parts=self.parts,
        )
        path = snapshot_path(self.directory, self.sequence)
        try:
            write_synced(self.path / MANIFEST, manifest.encode())
            sync_folder(self.path)
            remove_snapshot(self.directory, self.sequence)
            self.path.rename(path)
            sync_folder(path.parent)
        except OSError as error:
            raise _failed(path, error) from error
        return Snapshot(path, manifest)

    def discard(self) -> None:
        """Take it away."""
        shutil.rmtree(self.path, ignore_errors=True)


def write_draft(directory: Path, store: pyoxigraph.Store, sequence: int) -> Draft:
    """All quads and graphs of `store`, which holds every record up to `sequence`.

    Raises:
        StoreError: it can't be written; then nothing is there.
    """
    folder = directory / FOLDER
    path = folder / f"{sequence:020}.draft"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob("*.draft"):
            shutil.rmtree(left)
        path.mkdir()
        graphs = tuple(sorted(graph_text(graph) for graph in store.named_graphs()))
        parts = _Parts(path)
        store.dump(parts, format=RdfFormat.N_QUADS)  # type: ignore[arg-type]  # write() and flush() are enough
        parts.close()
    except OSError as error:
        shutil.rmtree(path, ignore_errors=True)
        raise _failed(path, error) from error
    return Draft(directory, path, sequence, graphs, tuple(parts.written))


class _Parts:
    """A binary file to Oxigraph; parts on disk, each ending with a line's end."""

    def __init__(self, folder: Path) -> None:
        self.written: list[Part] = []
        self._folder = folder
        self._blocks: list[bytes] = []
        self._block_bytes = 0
        self._deflated: list[bytes] = []
        self._text_bytes = 0
        self._quads = 0
        self._deflate = zlib.compressobj(1, zlib.DEFLATED, _GZIP)

    def write(self, data: bytes) -> int:
        """Take some bytes."""
        self._blocks.append(data)
        self._block_bytes += len(data)
        if self._block_bytes >= _BLOCK_BYTES:
            self._take()
        return len(data)

    def flush(self) -> None:
        """Nothing: parts are whole or not there."""

    def close(self) -> None:
        """Write what is left."""
        self._take()
        if self._text_bytes:
            self._end_part()

    def _take(self) -> None:
        text = b"".join(self._blocks)
        is_full = self._text_bytes + len(text) >= _PART_BYTES
        end = text.rfind(b"\n") + 1 if is_full else 0
        taken, rest = (text[:end], text[end:]) if end else (text, b"")
        self._blocks = [rest]
        self._block_bytes = len(rest)
        self._deflated.append(self._deflate.compress(taken))
        self._text_bytes += len(taken)
        self._quads += taken.count(b"\n")
        if end:
            self._end_part()

    def _end_part(self) -> None:
        self._deflated.append(self._deflate.flush())
        data = b"".join(self._deflated)
        name = f"part-{len(self.written):05}.nq.gz"
        write_synced(self._folder / name, data)
        self.written.append(Part(name, len(data), hashlib.sha256(data).hexdigest(), self._quads))
        self._deflated.clear()
        self._text_bytes = self._quads = 0
        self._deflate = zlib.compressobj(1, zlib.DEFLATED, _GZIP)


def _failed(path: Path, error: OSError) -> StoreError:
    return StoreError(f"a snapshot can't be written: {error} ({path})")
