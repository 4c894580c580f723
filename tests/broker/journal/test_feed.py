"""Bytes between a leader and its followers: whole however they are split, refused where they were changed."""

from __future__ import annotations

import io

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.deltas import World, examples, fresh_directory, histories, record, replacement

from triplewire.broker.config import JournalConfig
from triplewire.broker.errors import StoreError
from triplewire.broker.journal import feed
from triplewire.broker.journal.checkpoint import checkpoint
from triplewire.broker.journal.feed import (
    Beat,
    FeedParser,
    SnapshotStream,
    beat_bytes,
    load_snapshot,
    record_of,
)
from triplewire.broker.journal.journal import Journal
from triplewire.broker.journal.quad_lines import WRITER

MOST = 1_000_000


@examples(60)
@given(histories(), st.data())
def test_records_come_through_however_they_are_split(history, data):
    """And beats between them."""
    with fresh_directory() as directory:
        journal = Journal.open(directory, JournalConfig(segment_bytes=300))
        record(journal, history.deltas)
        sent = b"".join(encoded + beat_bytes(sequence) for sequence, encoded in journal.read().encoded())
        journal.close()
    parser = FeedParser(MOST)
    items = []
    while sent:
        size = data.draw(st.integers(1, len(sent)))
        items += parser.feed(sent[:size])
        sent = sent[size:]
    assert [item.sequence for item in items if isinstance(item, Beat)] == list(
        range(1, len(history.deltas) + 1)
    )
    records = [record_of(item, WRITER) for item in items if not isinstance(item, Beat)]
    assert [one.delta() for one in records] == history.deltas


@pytest.fixture
def sent(journal):
    record(journal, [replacement(number) for number in range(1, 4)])
    return b"".join(encoded for _, encoded in journal.read().encoded()) + beat_bytes(3)


def test_any_flipped_bit_is_found(sent):
    """Wherever it is: nothing wrong is ever handed on."""
    right = FeedParser(MOST).feed(sent)
    for at in range(len(sent)):
        wrong = bytearray(sent)
        wrong[at] ^= 1 << (at % 8)
        try:
            items = FeedParser(MOST).feed(bytes(wrong))
        except ValueError:
            continue
        assert items == right[: len(items)]
        assert len(items) < len(right)


def test_a_record_that_is_too_long_is_refused(sent):
    """Before its bytes have come."""
    with pytest.raises(ValueError, match="header"):
        FeedParser(10).feed(sent[:60])


def filled(journal, history, config):
    store = pyoxigraph.Store()
    record(journal, history.deltas, store)
    checkpoint(journal, store, config, 2000.0)
    return store


@examples(30)
@given(histories())
def test_a_snapshot_comes_through(history):
    """With its graphs and its number."""
    config = JournalConfig()
    with fresh_directory() as directory:
        journal = Journal.open(directory, config)
        filled(journal, history, config)
        journal.close()
        stream = SnapshotStream(directory, "epoch")
        sent = b"".join(stream.chunks())
        stream.close()
    store = pyoxigraph.Store()
    head = load_snapshot(io.BytesIO(sent), store)
    assert (head.epoch, head.sequence) == ("epoch", len(history.deltas))
    assert head.quads == len(history.worlds[-1].quads)
    assert World.of(store) == history.worlds[-1]


def test_an_empty_journal_is_an_empty_snapshot(tmp_path):
    """Before record 1 there was nothing."""
    Journal.open(tmp_path, JournalConfig()).close()
    stream = SnapshotStream(tmp_path, "e")
    head = load_snapshot(io.BytesIO(b"".join(stream.chunks())), pyoxigraph.Store())
    assert (head.sequence, head.quads) == (0, 0)


def test_what_is_dropped_meanwhile_is_still_sent(tmp_path, monkeypatch):
    """Its files are held."""
    monkeypatch.setattr(feed, "_CHUNK", 10)
    config = JournalConfig(snapshots_kept=1)
    journal = Journal.open(tmp_path, config)
    store = pyoxigraph.Store()
    record(journal, [replacement(1)], store)
    checkpoint(journal, store, config, 2000.0)
    stream = SnapshotStream(tmp_path, "e")
    chunks = stream.chunks()
    sent = next(chunks)
    record(journal, [replacement(2)], store)
    checkpoint(journal, store, config, 2001.0)
    sent += b"".join(chunks)
    stream.close()
    journal.close()
    again = pyoxigraph.Store()
    assert load_snapshot(io.BytesIO(sent), again).sequence == 1
    assert frozenset(again) == replacement(1).inserted


@pytest.mark.parametrize("cut", [0, 1, 20, -1, -30])
def test_a_snapshot_that_is_cut_off_is_refused(tmp_path, cut):
    """However much of it came."""
    config = JournalConfig()
    journal = Journal.open(tmp_path, config)
    store = pyoxigraph.Store()
    record(journal, [replacement(1)], store)
    checkpoint(journal, store, config, 2000.0)
    journal.close()
    stream = SnapshotStream(tmp_path, "e")
    sent = b"".join(stream.chunks())
    stream.close()
    with pytest.raises(ValueError, match="snapshot"):
        load_snapshot(io.BytesIO(sent[:cut]), pyoxigraph.Store())


def test_without_any_there_is_an_error(tmp_path):
    """Where the journal does not reach back to the beginning."""
    config = JournalConfig(segment_bytes=200, keep_bytes=0, snapshots_kept=1)
    journal = Journal.open(tmp_path, config)
    store = pyoxigraph.Store()
    record(journal, [replacement(number) for number in range(1, 10)], store)
    made = checkpoint(journal, store, config, 2000.0)
    journal.close()
    (made.path / "manifest.json").unlink()
    with pytest.raises(StoreError, match="no whole snapshot"):
        SnapshotStream(tmp_path, "e")
