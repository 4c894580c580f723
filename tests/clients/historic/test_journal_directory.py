"""A journal's files beside the broker that writes them: what is settled, what is gone, what is another's."""

from __future__ import annotations

import shutil
import time
from datetime import UTC, datetime, timedelta

import pytest
from pyoxigraph import NamedNode, Quad, Store

from triplewire.broker.config import JournalConfig
from triplewire.broker.journal.checkpoint import checkpoint
from triplewire.broker.journal.journal import Journal
from triplewire.broker.journal.segment import first_sequences
from triplewire.broker.model import QuadDelta
from triplewire.clients.historic.journal_directory import JournalDirectory
from triplewire.clients.historic.journal_place import JournalGap, OriginError, Place

from .histories import P, append

PAST = datetime.now(UTC) - timedelta(hours=1)
ALL = 1 << 62
SMALL = JournalConfig(segment_bytes=1_000, keep_bytes=1, snapshots_kept=1)


def delta(number):
    return QuadDelta(frozenset({Quad(P, P, NamedNode(f"http://example.org/{number}"))}), frozenset())


def sequences(origin, after, upto):
    return [record.sequence for record in origin.records(after, upto)]


def test_records_between_two_places(tmp_path):
    """Whatever the pieces are, together they are all, once."""
    append(tmp_path, PAST, 40, SMALL)
    origin = JournalDirectory(tmp_path)
    begin = origin.beginning()
    assert (begin.place.sequence, begin.snapshot, begin.time_ms) == (0, None, int(PAST.timestamp() * 1000))
    end = origin.end(begin.place, ALL)
    assert end.sequence == 40
    assert origin.end(end, ALL) == end
    pieces = origin.pieces(Place(3, ""), 38)
    assert len(pieces) > 5
    assert [number for after, upto in pieces for number in sequences(origin, after, upto)] == [*range(4, 39)]
    assert origin.pieces(end, 40) == []


def test_a_batch_is_bounded(tmp_path):
    """About so many bytes, at least a record; all of them in turn."""
    append(tmp_path, PAST, 40, SMALL)
    origin = JournalDirectory(tmp_path)
    places = [origin.beginning().place]
    while (end := origin.end(places[-1], 1)) != places[-1]:
        places.append(end)
    assert places[-1].sequence == 40
    assert len(places) > 5


def test_a_record_counts_when_it_is_a_second_old(tmp_path):
    """Until then the broker may take it back, and does here; what it wrote instead is seen."""
    append(tmp_path, PAST, 2)
    journal = Journal.open(tmp_path, JournalConfig())
    try:
        origin = JournalDirectory(tmp_path, settle_s=0.2)
        begin = origin.beginning().place
        journal.append(delta("refused"), "", time.time())
        assert origin.end(begin, ALL).sequence == 2
        journal.undo_last()
        assert origin.end(begin, ALL).sequence == 2
        journal.append(delta("instead"), "", time.time())
        journal.settle()
        origin.settle()
        assert origin.end(begin, ALL).sequence == 3
        (record,) = origin.records(Place(2, ""), 3)
        assert b"instead" in record.inserted
    finally:
        journal.close()


def test_segments_that_went(tmp_path):
    """The snapshot is named for what is not told by records any more; whoever is late hears where it begins."""
    append(tmp_path, PAST, 40, SMALL)
    journal = Journal.open(tmp_path, SMALL)
    try:
        origin = JournalDirectory(tmp_path)
        late = origin.records(Place(0, ""), 40)
        assert next(late).sequence == 1
        checkpoint(journal, Store(), SMALL, time.time())
        first = first_sequences(tmp_path)[0]
        assert first > 20
        with pytest.raises(JournalGap, match=f"is not kept any more, it begins with record {first}"):
            list(late)
        with pytest.raises(
            JournalGap, match=rf"record 11 .* it begins with record {first}.*journal\.keep_bytes"
        ):
            origin.end(Place(10, ""), ALL)
        begin = JournalDirectory(tmp_path).beginning()
        assert (begin.place.sequence, begin.snapshot, begin.until) == (first - 1, 40, 40)
        assert origin.snapshot_parts(40) == []
        with pytest.raises(JournalGap, match="snapshot 7 is not there any more"):
            origin.snapshot_parts(7)
    finally:
        journal.close()


def test_a_past_that_is_another(tmp_path):
    """A number that was given to another change, in a later epoch, is no place to go on from."""
    append(tmp_path / "a", PAST, 3)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    append(tmp_path / "a", PAST, 3)
    origin = JournalDirectory(tmp_path / "a")
    place = origin.end(origin.beginning().place, ALL)
    append(tmp_path / "b", PAST, 5)
    append(tmp_path / "b", PAST, 5)
    with pytest.raises(JournalGap, match="lost record 6"):
        JournalDirectory(tmp_path / "b").end(place, ALL)
    assert JournalDirectory(tmp_path / "b").end(place._replace(epoch=""), ALL).sequence == 13


def test_damage_and_nothing(tmp_path):
    """Errors say where."""
    with pytest.raises(OriginError, match="there is no journal"):
        JournalDirectory(tmp_path / "none").beginning()
    append(tmp_path, PAST, 3)
    (path,) = (tmp_path / "journal").iterdir()
    data = bytearray(path.read_bytes())
    data[120] ^= 1
    path.write_bytes(data)
    with pytest.raises(OriginError, match=path.name):
        JournalDirectory(tmp_path).end(Place(0, ""), ALL)
    with pytest.raises(OriginError, match=path.name):
        list(JournalDirectory(tmp_path).records(Place(0, ""), 3))
