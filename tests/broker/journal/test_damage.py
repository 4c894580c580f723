"""The promise of it all: after damage there is the dataset of some record, or an error, and never anything else."""

from __future__ import annotations

import logging

import pyoxigraph
from hypothesis import given
from hypothesis import strategies as st
from support.deltas import World, examples, fresh_directory, histories, record

from triplewire.broker.config import JournalConfig
from triplewire.broker.errors import JournalDamaged
from triplewire.broker.journal.checkpoint import checkpoint
from triplewire.broker.journal.inspection import verify
from triplewire.broker.journal.journal import Journal
from triplewire.broker.journal.recovery import recover

CONFIG = JournalConfig(segment_bytes=1500, snapshots_kept=2)


def written(directory, history, data):
    """A journal of several segments, with snapshots; its files."""
    store = pyoxigraph.Store()
    journal = Journal.open(directory, CONFIG)
    for delta in history.deltas:
        record(journal, [delta], store)
        if data.draw(st.integers(0, 3)) == 0:
            checkpoint(journal, store, CONFIG, 0)
    journal.close()
    return sorted(
        path
        for folder in ("journal", "snapshots")
        for path in (directory / folder).rglob("*")
        if path.is_file()
    )


def recovered(directory):
    """The number and the dataset that a start would come to, None where it stops."""
    store = pyoxigraph.Store()
    try:
        return recover(directory, store).sequence, World.of(store)
    except JournalDamaged:
        return None


@given(histories(min_size=3, max_size=10), st.data())
@examples(40)
def test_a_wrong_bit_anywhere(history, data):
    """It is told, or it was in something that another whole thing replaces: nothing is lost in silence."""
    logging.disable()
    with fresh_directory() as directory:
        files = written(directory, history, data)
        for _ in range(12):
            path = data.draw(st.sampled_from(files))
            whole = path.read_bytes()
            place = data.draw(st.integers(0, len(whole) * 8 - 1))
            wrong = bytearray(whole)
            wrong[place // 8] ^= 1 << place % 8
            path.write_bytes(wrong)
            found = recovered(directory)
            if found is not None:
                assert found == (len(history.deltas), history.worlds[-1])
            if path.suffix == ".twj":
                assert str(path) in "".join(verify(directory).problems)
            path.write_bytes(whole)
    logging.disable(logging.NOTSET)


@given(histories(min_size=3, max_size=10), st.data())
@examples(40)
def test_a_file_cut_short_anywhere(history, data):
    """At the end of the journal, the records before it are left; elsewhere it is told, or does not matter."""
    logging.disable()
    with fresh_directory() as directory:
        files = written(directory, history, data)
        last = max(path for path in files if path.suffix == ".twj")
        for _ in range(12):
            path = data.draw(st.sampled_from([*files, last, last]))
            whole = path.read_bytes()
            size = data.draw(st.integers(0, len(whole) - 1))
            path.write_bytes(whole[:size] + bytes(data.draw(st.sampled_from([0, 0, 1, 100]))))
            found = recovered(directory)
            if found is not None:
                sequence, world = found
                assert world == history.worlds[sequence]
                assert path == last or sequence == len(history.deltas)
            path.write_bytes(whole)
    logging.disable(logging.NOTSET)
