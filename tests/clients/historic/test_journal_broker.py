"""A journal over the network is the one on disk."""

from __future__ import annotations

import gzip
import json
import time

import httpx
import pytest
from support.archives import broker_at, fill
from support.following import journal

from triplewire.broker.journal.inspection import dump
from triplewire.clients.authorization import source_of
from triplewire.clients.historic.journal_broker import JournalBroker
from triplewire.clients.historic.journal_place import JournalGap, OriginAway, OriginError, Place
from triplewire.clients.settings import ClientSettings

ALL = 1 << 62
SNAPSHOTS = ("--set=journal.segment_bytes=4096", "--set=journal.snapshot_bytes=8192")


def at(url, tokens=None):
    return JournalBroker(url, source_of(tokens), ClientSettings(timeout_s=5))


def quiet(broker):
    """Wait until no snapshot is due."""
    deadline = time.monotonic() + 20
    while journal(broker)["bytes_since_snapshot"] > 8192:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_records_snapshot_and_gap(tmp_path):
    """The same records, in one go or in batches; a snapshot's quads; and what is not kept is said so."""
    with broker_at(tmp_path, *SNAPSHOTS) as broker:
        fill(broker, 60)
        origin = at(broker.http)
        begin = origin.beginning()
        assert begin.place.sequence == 0
        assert begin.until == journal(broker)["last_sequence"]
        end = origin.end(begin.place, ALL)
        assert end.sequence == begin.until
        assert list(origin.records(begin.place, end.sequence)) == list(dump(tmp_path, up_to=end.sequence))
        assert begin.place.sequence < origin.end(begin.place, 1000).sequence < end.sequence
        assert origin.end(end, ALL) == end
        assert begin.snapshot is not None
        quiet(broker)
        snapshot = origin.beginning().snapshot
        (part,) = origin.snapshot_parts(snapshot)
        texts = list(origin.snapshot_texts(snapshot, part))
        assert all(text.endswith(b"\n") for text in texts)
        assert sum(text.count(b"\n") for text in texts) > snapshot // 2
        with pytest.raises(JournalGap, match="has been replaced by"):
            list(origin.snapshot_texts(snapshot - 1, part))
        with pytest.raises(JournalGap, match="begin a new archive"):
            origin.end(Place(3, "another"), ALL)
        with pytest.raises(JournalGap, match="begin a new archive"):
            origin.end(Place(end.sequence + 5, end.epoch), ALL)


def test_nobody_is_there():
    """An error that may pass, with the address in it."""
    with pytest.raises(OriginAway, match=r"127\.0\.0\.1:9"):
        at("http://127.0.0.1:9").beginning()


def test_a_broker_without_a_journal(tmp_path):
    """It says so itself."""
    from support.running import RunningBroker

    broker = RunningBroker.start()
    try:
        with pytest.raises(OriginError, match="there is no journal to follow"):
            at(broker.http).beginning()
    finally:
        broker.stop()


def scripted(monkeypatch, answer):
    """What the broker says is what `answer` gives."""
    origin = at("http://broker", lambda: "first")
    client = httpx.Client

    def made(self):
        from triplewire.clients.historic.journal_broker import _Bearer

        return client(transport=httpx.MockTransport(answer), auth=_Bearer(self._tokens, self._base))

    monkeypatch.setattr(JournalBroker, "_client", made)
    return origin


def test_bytes_that_are_no_journal(monkeypatch):
    """They are not taken for one."""
    origin = scripted(monkeypatch, lambda _: httpx.Response(200, content=iter([b"<html>" * 100])))
    with pytest.raises(OriginError, match="not to be understood"):
        origin.end(Place(0, ""), ALL)
    with pytest.raises(OriginError, match="no snapshot"):
        list(origin.snapshot_texts(1, "1"))


def test_a_snapshot_that_is_cut_off(monkeypatch):
    """Fewer quads than its head says are an error."""
    head = {"epoch": "e", "sequence": 4, "graphs": [], "quads": 3, "writer": "another"}
    data = gzip.compress(json.dumps(head).encode() + b"\n") + gzip.compress(b"<a:a> <a:a> <a:a> .\n")
    origin = scripted(monkeypatch, lambda _: httpx.Response(200, content=iter([data[:50], data[50:]])))
    with pytest.raises(OriginError, match="1 quads came of 3"):
        list(origin.snapshot_texts(4, "4"))


def test_tokens(monkeypatch):
    """One that is refused is asked for once more, then what the broker says is told."""
    seen = []

    def answer(request):
        seen.append(request.headers.get("Authorization"))
        return httpx.Response(401, json={"error_description": "who are you?"})

    origin = scripted(monkeypatch, answer)
    with pytest.raises(OriginError, match="401 who are you"):
        origin.end(Place(0, ""), ALL)
    assert seen == ["Bearer first", "Bearer first"]
