"""An empty store, filled with what was."""

from __future__ import annotations

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Quad
from support.deltas import EX, World, examples, fresh_directory, histories, record, replacements

from triplewire.broker.config import JournalConfig
from triplewire.broker.errors import StoreError
from triplewire.broker.journal.checkpoint import checkpoint
from triplewire.broker.journal.journal import Journal
from triplewire.broker.journal.recovery import recover
from triplewire.broker.journal.segment import segment_path
from triplewire.broker.model import QuadDelta

CONFIG = JournalConfig(segment_bytes=1000)


@given(histories(max_size=10), st.data())
@examples(60)
def test_the_dataset_comes_back(history, data):
    """Quads, graphs without a quad, and blank nodes by their labels; with a snapshot or without."""
    with fresh_directory() as directory:
        store = pyoxigraph.Store()
        journal = Journal.open(directory, CONFIG)
        at = data.draw(st.none() | st.integers(0, len(history.deltas)))
        record(journal, history.deltas[: at or 0], store)
        if at is not None:
            checkpoint(journal, store, CONFIG, 0)
        record(journal, history.deltas[at or 0 :], store)
        journal.close()
        again = pyoxigraph.Store()
        found = recover(directory, again)
        assert World.of(again) == World.of(store) == history.worlds[-1]
        assert (found.sequence, found.snapshot) == (len(history.deltas), at)
        assert found.records == len(history.deltas) - (at or 0)


def test_what_it_took(journal, tmp_path):
    """Is told, with what was left out."""
    record(journal, replacements(3).deltas)
    with segment_path(tmp_path, 1).open("ab") as file:
        file.write(b"TWJr")
    store = pyoxigraph.Store()
    found = recover(tmp_path, store)
    assert (found.sequence, found.snapshot, found.records, found.torn_bytes) == (3, None, 3, 4)
    assert 0 < found.seconds < 10


def test_up_to_a_moment(journal, tmp_path):
    """As it was after a record."""
    record(journal, replacements(5).deltas)
    store = pyoxigraph.Store()
    assert recover(tmp_path, store, 3).sequence == 3
    assert World.of(store) == replacements(3).worlds[-1]


def test_more_than_fits_one_part(journal, tmp_path):
    """Many quads, blank and not, and a graph that is empty in the end."""
    node = NamedNode(EX)
    some = frozenset(
        Quad(node if n % 3 else BlankNode(), node, Literal(str(n)), node) for n in range(110_000)
    )
    passing = Quad(node, node, node, NamedNode(f"{EX}empty"))
    record(journal, [QuadDelta(some | {passing}, frozenset()), QuadDelta(frozenset(), frozenset([passing]))])
    store = pyoxigraph.Store()
    recover(tmp_path, store)
    assert World.of(store) == World(some, frozenset([node, NamedNode(f"{EX}empty")]))


def test_a_store_that_refuses(journal, tmp_path):
    """Is told as the store's failure."""

    class Full:
        def load(self, *_, **__):
            raise OSError("No space left on device")

    record(journal, replacements(1).deltas)
    with pytest.raises(StoreError, match="could not be filled from the journal: No space left"):
        recover(tmp_path, Full())
