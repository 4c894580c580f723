"""Filling an empty store with the dataset as it was, blank nodes by their labels."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from triplewire.broker.errors import StoreError

from .past import past
from .quad_lines import by_blank_nodes, load_labeled, load_plain, read_graph

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyoxigraph

    from .moment import Moment


@dataclass(frozen=True, slots=True)
class Recovered:
    """What the store holds now, and what it took; the torn bytes were left out."""

    sequence: int
    snapshot: int | None
    records: int
    seconds: float
    torn_bytes: int


def recover(directory: Path, store: pyoxigraph.Store, up_to: Moment | None = None) -> Recovered:
    """Fill `store`, which is empty, from the newest whole snapshot and the records behind it.

    `up_to` is a sequence number or a time with its zone; without it, everything that was appended is there.  Changes
    no file: `Journal.open` cuts a torn tail off.

    Raises:
        JournalDamaged: what is kept can't be trusted; the store may hold a part of it.
        StoreError: that moment is not kept, or the store failed.
    """
    began = time.perf_counter()
    found = past(directory, up_to)
    try:
        for plain, labeled in _ahead(map(by_blank_nodes, found.texts())):
            load_plain(store, plain)
            load_labeled(store, labeled)
        for graph in found.graphs:
            store.add_graph(read_graph(graph))
    except (SyntaxError, ValueError, OSError) as error:
        raise StoreError(f"the store could not be filled from the journal: {error}") from error
    return Recovered(
        sequence=found.sequence,
        snapshot=found.snapshot.manifest.sequence if found.snapshot is not None else None,
        records=found.records,
        seconds=time.perf_counter() - began,
        torn_bytes=found.torn_bytes,
    )


def _ahead(texts: Iterator[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    """The same, the next one made ready on another thread while the store takes this one."""
    with ThreadPoolExecutor(1, "triplewire-recovery") as pool:
        coming = pool.submit(next, texts, None)
        while (text := coming.result()) is not None:
            coming = pool.submit(next, texts, None)
            yield text
