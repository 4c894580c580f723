"""Loading files into the directory of a broker that is not running.

Into an empty dataset a file goes at the speed of Oxigraph's bulk loader, and one snapshot is made of it in the end.
Otherwise it goes into a store of its own first, and what is new of it is then written as changes like any other, so
that the journal tells the whole history.  A file that can't be read leaves nothing behind, either way.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from itertools import islice
from typing import IO, TYPE_CHECKING, Self

import pyoxigraph
from pyoxigraph import BlankNode, NamedNode

from triplewire.broker.config import JournalConfig, StoreConfig
from triplewire.broker.model import QuadDelta

from .opening import open_dataset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

    from pyoxigraph import RdfFormat

CLIENT = "load"
_AT_ONCE = 10_000


def engine_of(directory: Path) -> str:
    """The engine whose files are there; the one in memory where there are none."""
    return "disk" if (directory / "store").is_dir() else "memory"


class OfflineLoad:
    """Holds the directory while files are loaded; a context manager."""

    def __init__(self, directory: Path, engine: str | None = None) -> None:
        """Opens the directory.

        Raises:
            StoreError: a broker has it, or its files can't be read or written.
            JournalDamaged: what is kept can't be trusted.
        """
        self._directory = directory
        engine = engine or engine_of(directory)
        self._dataset = open_dataset(StoreConfig(data=str(directory), engine=engine), JournalConfig())
        assert self._dataset.kept is not None
        journal = self._dataset.kept.journal
        # A snapshot is enough of a history for a dataset that has none.
        self._is_first = journal.last_sequence == 0 and not self._dataset.churn.live
        self._loaded = False

    def load(self, source: IO[bytes], format_: RdfFormat, base_iri: str, graph: str | None) -> None:
        """Load one file; triples that are in no graph go into `graph`.

        Raises:
            SyntaxError: it can't be read; nothing of it is there.
            StoreError, OSError: it can't be written.
        """
        to_graph = NamedNode(graph) if graph is not None else None
        if self._is_first:
            self._dataset.store.bulk_load(
                source, format_, base_iri=base_iri, to_graph=to_graph, lenient=False
            )
            self._loaded = True
            return
        with self._staging() as staging:
            staging.bulk_load(source, format_, base_iri=base_iri, to_graph=to_graph, lenient=False)
            self._write(staging)

    def _write(self, staging: pyoxigraph.Store) -> None:
        store = self._dataset.store
        quads = staging.quads_for_pattern(None, None, None)
        while chunk := list(islice(quads, _AT_ONCE)):
            new = frozenset(quad for quad in chunk if quad not in store)
            if new:
                self._dataset.write(QuadDelta(new, frozenset()), CLIENT)
        graphs = frozenset(
            graph
            for graph in staging.named_graphs()
            if not isinstance(graph, BlankNode) and not store.contains_named_graph(graph)
        )
        if graphs:
            self._dataset.write(QuadDelta(frozenset(), frozenset(), graphs), CLIENT)

    @contextmanager
    def _staging(self) -> Iterator[pyoxigraph.Store]:
        if not self._dataset.is_disk:
            yield pyoxigraph.Store()
            return
        path = self._directory / "loading"
        shutil.rmtree(path, ignore_errors=True)
        try:
            yield pyoxigraph.Store(str(path))
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._loaded:
                self._dataset.snapshot()
        finally:
            self._dataset.close()
