"""A snapshot says what it holds, and notices when it does not."""

from __future__ import annotations

import json

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad
from support.deltas import EX, examples

from triplewire.broker.errors import JournalDamaged
from triplewire.broker.journal import snapshot as snapshot_module
from triplewire.broker.journal.quad_lines import read_lines
from triplewire.broker.journal.snapshot import (
    Manifest,
    Part,
    Snapshot,
    remove_snapshot,
    snapshot_path,
    snapshot_sequences,
)
from triplewire.broker.journal.snapshot_writer import write_draft

NODE = NamedNode(EX)
QUADS = frozenset(Quad(NODE, NODE, Literal(str(n)), NODE) for n in range(5))
parts = st.builds(Part, st.text(), st.integers(0), st.text(), st.integers(0))
manifests = st.builds(
    Manifest,
    sequence=st.integers(0),
    until=st.integers(0),
    time_ms=st.integers(0),
    quads=st.integers(0),
    graphs=st.lists(st.text()).map(tuple),
    parts=st.lists(parts).map(tuple),
    writer=st.text(),
)


@pytest.fixture
def snapshot(tmp_path):
    """Of five quads."""
    store = pyoxigraph.Store()
    store.extend(QUADS)
    return write_draft(tmp_path, store, 7).publish(9, 1000)


@given(manifests)
@examples()
def test_manifests_come_back(manifest):
    """As JSON that people can read."""
    assert Manifest.decode(manifest.encode()) == manifest
    assert json.loads(manifest.encode())["content"]["format"] == 1


def test_what_it_holds(snapshot, tmp_path):
    """By its number."""
    again = Snapshot.open(tmp_path, 7)
    assert again == snapshot
    again.check()
    assert frozenset(read_lines(b"".join(again.texts()))) == QUADS
    assert (again.manifest.sequence, again.manifest.until, again.manifest.quads) == (7, 9, 5)
    assert again.manifest.graphs == (EX,)
    assert again.size == sum(path.stat().st_size for path in again.path.glob("part-*"))


def test_any_zcat_can_read_it(snapshot):
    """Parts are N-Quads in gzip."""
    import gzip

    assert gzip.decompress((snapshot.path / "part-00000.nq.gz").read_bytes()).count(b"\n") == 5


def looked_at(directory):
    """Which file is damaged, or what the manifest says."""
    try:
        snapshot = Snapshot.open(directory, 7)
        snapshot.check()
    except JournalDamaged as error:
        return error.path, None
    return None, snapshot.manifest


@pytest.mark.parametrize("name", ["manifest.json", "part-00000.nq.gz"])
def test_a_wrong_bit_at_every_byte(snapshot, tmp_path, name):
    """Is found, or was of no account: a space in the JSON."""
    path = snapshot.path / name
    whole = bytearray(path.read_bytes())
    for place in range(len(whole)):
        whole[place] ^= 1 << place % 8
        path.write_bytes(whole)
        damaged, manifest = looked_at(tmp_path)
        assert damaged == str(path) or (name == "manifest.json" and manifest == snapshot.manifest)
        whole[place] ^= 1 << place % 8


@pytest.mark.parametrize("name", ["manifest.json", "part-00000.nq.gz"])
def test_cut_short_at_every_byte(snapshot, tmp_path, name):
    """Or not there at all."""
    path = snapshot.path / name
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(JournalDamaged):
            Snapshot.open(tmp_path, 7).check()
    path.unlink()
    with pytest.raises(JournalDamaged, match="No such file"):
        Snapshot.open(tmp_path, 7).check()


def test_under_another_number(snapshot, tmp_path):
    """It says where it belongs."""
    snapshot.path.rename(snapshot_path(tmp_path, 8))
    with pytest.raises(JournalDamaged, match="the folder's name, 8"):
        Snapshot.open(tmp_path, 8)


@pytest.mark.parametrize("content", ["{}", "[]", "1", '{"content": {}, "sha256": ""}', "\x00"])
def test_no_manifest(content):
    """Any other JSON."""
    with pytest.raises(ValueError, match=r"."):
        Manifest.decode(content.encode())


def test_another_format():
    """By its number."""
    content = json.loads(Manifest(1, 1, 1, 0, (), ()).encode())["content"] | {"format": 2}
    document = {"content": content, "sha256": snapshot_module._checksum(content)}
    with pytest.raises(ValueError, match="its format is not 1"):
        Manifest.decode(json.dumps(document).encode())


def test_lines_of_another_version(snapshot, monkeypatch):
    """Are written anew, so that they compare with today's."""
    monkeypatch.setattr(snapshot_module, "WRITER", "9.9.9")
    monkeypatch.setattr(snapshot_module, "rewritten", lambda text: text.upper())
    assert b"HTTP://EXAMPLE.ORG/" in b"".join(snapshot.texts())


def test_only_snapshots_are_listed(snapshot, tmp_path):
    """Drafts and other folders are none."""
    (tmp_path / "snapshots" / f"{8:020}.draft").mkdir()
    (tmp_path / "snapshots" / "notes").mkdir()
    assert snapshot_sequences(tmp_path) == [7]
    remove_snapshot(tmp_path, 7)
    assert snapshot_sequences(tmp_path) == []
    remove_snapshot(tmp_path, 7)
    assert snapshot_sequences(tmp_path / "absent") == []
