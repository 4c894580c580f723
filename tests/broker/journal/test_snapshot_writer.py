"""Writing a snapshot of a live store."""

from __future__ import annotations

import errno
import os

import pyoxigraph
import pytest
from hypothesis import given
from pyoxigraph import BlankNode, Literal, NamedNode, Quad
from support.deltas import EX, World, examples, fresh_directory, histories

from triplewire.broker.delta_writer import write_delta
from triplewire.broker.errors import StoreError
from triplewire.broker.journal import snapshot_writer
from triplewire.broker.journal.quad_lines import read_graph, read_lines
from triplewire.broker.journal.snapshot import Snapshot, snapshot_sequences
from triplewire.broker.journal.snapshot_writer import write_draft

NODE = NamedNode(EX)


def world(snapshot):
    return World(
        frozenset(read_lines(b"".join(snapshot.texts()))),
        frozenset(map(read_graph, snapshot.manifest.graphs)),
    )


@given(histories())
@examples(50)
def test_all_of_the_dataset(history):
    """Every kind of term, blank nodes by their labels, graphs without a quad."""
    store = pyoxigraph.Store()
    for delta in history.deltas:
        write_delta(store, delta)
    with fresh_directory() as directory:
        snapshot = write_draft(directory, store, 1).publish(1, 0)
        assert world(snapshot) == history.worlds[-1]
        assert snapshot.manifest.quads == len(store)


def test_an_empty_dataset(tmp_path):
    """Has a manifest and no parts."""
    snapshot = write_draft(tmp_path, pyoxigraph.Store(), 0).publish(0, 0)
    assert world(snapshot) == World()
    assert snapshot.manifest.parts == ()


@pytest.mark.parametrize("block", [1, 100, 1000, 100_000])
def test_parts_end_with_a_line(tmp_path, monkeypatch, block):
    """However the store's pieces fall, and where a line is longer than a part."""
    monkeypatch.setattr(snapshot_writer, "_PART_BYTES", 20_000)
    monkeypatch.setattr(snapshot_writer, "_BLOCK_BYTES", block)
    store = pyoxigraph.Store()
    some = {Quad(BlankNode(), NODE, Literal(str(n))) for n in range(2000)}
    some |= {Quad(NODE, NODE, Literal(letter * 50_000)) for letter in "xyz"}
    store.extend(some)
    snapshot = write_draft(tmp_path, store, 1).publish(1, 0)
    assert len(snapshot.manifest.parts) > 3
    assert all(text.endswith(b"\n") for text in snapshot.texts())
    assert [text.count(b"\n") for text in snapshot.texts()] == [
        part.quads for part in snapshot.manifest.parts
    ]
    assert world(snapshot).quads == some


def test_a_draft_is_no_snapshot(tmp_path):
    """Until it has its manifest and its name; drafts of a process that died are cleared away."""
    first = write_draft(tmp_path, pyoxigraph.Store(), 1)
    assert snapshot_sequences(tmp_path) == []
    second = write_draft(tmp_path, pyoxigraph.Store(), 2)
    assert not first.path.exists()
    second.discard()
    assert not second.path.exists()
    with pytest.raises(StoreError, match="can't be written"):
        second.publish(2, 0)


def test_one_of_the_same_number_is_replaced(tmp_path):
    """It was not whole, or nobody would have written another."""
    store = pyoxigraph.Store()
    write_draft(tmp_path, store, 1).publish(1, 0)
    store.add(Quad(NODE, NODE, NODE))
    write_draft(tmp_path, store, 1).publish(1, 0)
    assert Snapshot.open(tmp_path, 1).manifest.quads == 1


def test_a_full_disk(tmp_path, monkeypatch):
    """Leaves nothing behind."""

    def full(fd):
        raise OSError(errno.ENOSPC, "No space left on device")

    store = pyoxigraph.Store()
    store.add(Quad(NODE, NODE, NODE))
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=r"a snapshot can't be written: .*No space left on device"):
        write_draft(tmp_path, store, 1)
    assert list((tmp_path / "snapshots").iterdir()) == []


def test_a_full_disk_in_the_middle(tmp_path, monkeypatch):
    """While Oxigraph is writing into us: its error is ours again."""

    def full(path, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    store = pyoxigraph.Store()
    store.extend(Quad(NODE, NODE, Literal(f"{n} {'x' * 100}")) for n in range(1000))
    monkeypatch.setattr(snapshot_writer, "_PART_BYTES", 10_000)
    monkeypatch.setattr(snapshot_writer, "_BLOCK_BYTES", 1000)
    monkeypatch.setattr(snapshot_writer, "write_synced", full)
    with pytest.raises(StoreError, match="No space left on device"):
        write_draft(tmp_path, store, 1)
    assert list((tmp_path / "snapshots").iterdir()) == []
