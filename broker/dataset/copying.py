"""A copy of an Oxigraph store in memory, as it was when the copying began, without what is dead in it.

Blank nodes keep their labels.  Oxigraph's dump and its loader work without Python's lock for nearly all of the time,
so the broker goes on beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyoxigraph
from pyoxigraph import RdfFormat

from triplewire.broker.delta_writer import write_delta
from triplewire.broker.errors import StoreError
from triplewire.broker.journal.quad_lines import by_blank_nodes, load_labeled, load_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pyoxigraph import BlankNode, NamedNode

    from triplewire.broker.model import QuadDelta

# Loaded at once: each load is a transaction, small enough that its log does not matter.
_BLOCK_BYTES = 4 * 1024 * 1024


def copy_of(store: pyoxigraph.Store, check: Callable[[], None]) -> tuple[pyoxigraph.Store, int]:
    """The copy, and how many quads it has.  `check` is called now and then, and stops the copying by raising.

    Raises:
        StoreError: Oxigraph failed.
    """

    def read(loader: _Loader) -> list[NamedNode | BlankNode]:
        graphs = list(store.named_graphs())
        store.dump(loader, format=RdfFormat.N_QUADS)  # type: ignore[arg-type]  # write() and flush() are enough
        return graphs

    return _filled(read, check)


def copy_from(
    path: Path, graphs: Iterable[NamedNode | BlankNode], check: Callable[[], None]
) -> pyoxigraph.Store:
    """A store with the quads of a file of N-Quads, blank nodes by their labels, and these graphs.

    Raises:
        StoreError: Oxigraph failed.
    """

    def read(loader: _Loader) -> Iterable[NamedNode | BlankNode]:
        with path.open("rb") as file:
            while data := file.read(_BLOCK_BYTES):
                loader.write(data)
        return graphs

    return _filled(read, check)[0]


def _filled(
    read: Callable[[_Loader], Iterable[NamedNode | BlankNode]], check: Callable[[], None]
) -> tuple[pyoxigraph.Store, int]:
    """A store with what `read` writes, and the graphs that it returns."""
    copy = pyoxigraph.Store()
    loader = _Loader(copy, check)
    try:
        graphs = read(loader)
        loader.close()
        for graph in graphs:  # those without a quad are in no line
            copy.add_graph(graph)
    except (OSError, RuntimeError, SyntaxError, ValueError) as error:
        raise StoreError(f"the store could not be copied: {error!s:.300}") from error
    return copy, loader.quads


def bring_forward(store: pyoxigraph.Store, deltas: Iterable[QuadDelta]) -> int:
    """Carry out changes in a store that nobody else has yet; how many quads came, less those that went.

    Raises:
        StoreError: Oxigraph failed.
    """
    more = 0
    for delta in deltas:
        write_delta(store, delta)
        more += len(delta.inserted) - len(delta.deleted)
    return more


class _Loader:
    """A binary file to Oxigraph, that loads what is written."""

    def __init__(self, store: pyoxigraph.Store, check: Callable[[], None]) -> None:
        self.quads = 0
        self._store = store
        self._check = check
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> int:
        """Take some bytes."""
        self._parts.append(data)
        self._size += len(data)
        if self._size >= _BLOCK_BYTES:
            self._load()
        return len(data)

    def flush(self) -> None:
        """Nothing: `close` does it."""

    def close(self) -> None:
        """Load what is left."""
        self._load()

    def _load(self) -> None:
        self._check()
        text = b"".join(self._parts)
        end = text.rfind(b"\n") + 1
        whole, rest = text[:end], text[end:]
        self._parts, self._size = [rest], len(rest)
        plain, labeled = by_blank_nodes(whole)
        load_plain(self._store, plain)
        load_labeled(self._store, labeled)
        self.quads += whole.count(b"\n")
