"""A journal becomes an archive: all of it, each change once, whatever happens in between."""

from __future__ import annotations

import shutil
import threading
import time
from collections import Counter

import httpx
import pyoxigraph
import pytest
from pyoxigraph import QueryResultsFormat
from support.archives import archived, broker_at, fill, told
from support.following import journal, update

from triplewire.broker.journal.segment import first_sequences
from triplewire.clients.historic.archive import Archive
from triplewire.clients.historic.archiving import ArchiveSettings, Archiving
from triplewire.clients.historic.errors import HistoryError
from triplewire.clients.historic.journal_options import JournalOptions
from triplewire.clients.historic.journal_place import JournalGap

ONCE = ArchiveSettings()
SMALL = (
    "--set=journal.segment_bytes=4096",
    "--set=journal.keep_bytes=4096",
    "--set=journal.snapshot_bytes=8192",
)


def keep(spark, options, out, settings=ONCE):
    archive = Archive(spark, str(out))
    Archiving(archive, options, settings).run(threading.Event())
    return archive


def state(rows):
    """The quads that are there after all of the rows."""
    last = {}
    for row in sorted(rows):
        last[row[4:]] = row[3]
    return {quad for quad, added in last.items() if added}


def quads(broker):
    """The dataset of a broker, as texts of N-Triples, blank nodes by their labels."""
    response = httpx.post(
        f"{broker.http}/query",
        data={"query": "SELECT ?g ?s ?p ?o { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"},
        headers={"Accept": "application/sparql-results+json"},
        timeout=30,
    )
    found = pyoxigraph.parse_query_results(response.content, format=QueryResultsFormat.JSON)
    return {tuple("" if term is None else str(term) for term in row) for row in found}


def test_an_archive_is_the_journal(spark, tmp_path):
    """Of a stopped broker; and running again adds nothing, but what came meanwhile."""
    data = tmp_path / "data"
    with broker_at(data) as broker:
        fill(broker, 5)
    options = JournalOptions(data=str(data))
    archive = keep(spark, options, tmp_path / "out")
    assert archived(archive.changes()) == told(data)
    assert len(told(data)) > 15
    assert archived(keep(spark, options, tmp_path / "out").changes()) == told(data)
    with broker_at(data) as broker:
        fill(broker, 3, first=5)
        archive = keep(spark, options, tmp_path / "out")
        assert archived(archive.changes()) == told(data)


def test_over_the_network(spark, tmp_path):
    """A broker's journal is the same by its URL."""
    data = tmp_path / "data"
    with broker_at(data) as broker:
        fill(broker, 5)
        archive = keep(spark, JournalOptions(url=broker.http), tmp_path / "out")
        assert archived(archive.changes()) == told(data)


def test_what_a_trimmed_journal_lost_comes_from_the_snapshot(spark, tmp_path):
    """The dataset of before its first record stands at the archive's beginning, so that its end is the dataset."""
    data = tmp_path / "data"
    with broker_at(data, *SMALL) as broker:
        fill(broker, 150)
        deadline = time.monotonic() + 30
        while journal(broker)["first_sequence"] == 1:
            assert time.monotonic() < deadline
            fill(broker, 10, first=150)
            update(broker, "DELETE { ?s :p ?o } WHERE { ?s :p ?o }")
        everything = quads(broker)
        by_url = keep(spark, JournalOptions(url=broker.http), tmp_path / "by-url")
        rows = archived(by_url.changes())
        assert state(rows) == everything
        assert not [count for count in Counter(rows).values() if count > 1]
    first = first_sequences(data)[0]
    rows = archived(keep(spark, JournalOptions(data=str(data)), tmp_path / "out").changes())
    assert [row for row in rows if row[0] >= first] == told(data, first - 1)
    assert {row[0] for row in rows if row[0] < first} <= {first - 1}
    assert state(rows) == everything


def test_records_that_went_before_they_were_read_are_told_of(spark, tmp_path):
    """An archive with a gap would be worse than none: it ends, and says from which record on there is anything."""
    data = tmp_path / "data"
    with broker_at(data) as broker:
        fill(broker, 3)
    keep(spark, JournalOptions(data=str(data)), tmp_path / "out")
    with broker_at(data, *SMALL) as broker:
        deadline = time.monotonic() + 30
        while journal(broker)["first_sequence"] <= 5:
            assert time.monotonic() < deadline
            fill(broker, 30)
        first = journal(broker)["first_sequence"]
        with pytest.raises(JournalGap, match="begin a new archive"):
            keep(spark, JournalOptions(url=broker.http), tmp_path / "out")
    with pytest.raises(JournalGap, match=f"record 4 .* begins with record {first}: begin a new archive"):
        keep(spark, JournalOptions(data=str(data)), tmp_path / "out")


def test_a_journal_that_gave_its_numbers_to_other_changes_is_noticed(spark, tmp_path):
    """The directory was put back from a backup: what the archive has is not its past any more."""
    data, backup = tmp_path / "data", tmp_path / "backup"
    with broker_at(data) as broker:
        fill(broker, 2)
    shutil.copytree(data, backup)
    with broker_at(data) as broker:
        fill(broker, 2, first=2)
    keep(spark, JournalOptions(data=str(data)), tmp_path / "out")
    shutil.rmtree(data)
    backup.rename(data)
    with broker_at(data) as broker:
        fill(broker, 5, first=10)
    with pytest.raises(JournalGap, match="lost record 4"):
        keep(spark, JournalOptions(data=str(data)), tmp_path / "out")


def test_while_the_broker_is_at_work(spark, tmp_path):
    """The stream follows, is stopped, and folds what is over; nothing is lost between the generations."""
    data, out = tmp_path / "data", tmp_path / "out"
    with broker_at(data) as broker:
        archive = Archive(spark, str(out))
        stopped = threading.Event()
        running = Archiving(archive, JournalOptions(data=str(data)), ArchiveSettings(every_s=0.2))
        thread = threading.Thread(target=running.run, args=(stopped,))
        thread.start()
        try:
            fill(broker, 30)
            deadline = time.monotonic() + 60
            while archive.manifest() is None or archive.changes().isEmpty():
                assert time.monotonic() < deadline
                time.sleep(0.5)
            fill(broker, 10, first=30)
        finally:
            stopped.set()
            thread.join()
    assert archived(archive.changes()) == told(data)


def test_nothing_is_there(spark, tmp_path):
    """Without a journal there is an error that names the place, and no archive."""
    with pytest.raises(HistoryError, match="nowhere: there is no journal"):
        keep(spark, JournalOptions(data=str(tmp_path / "nowhere")), tmp_path / "out")
    with pytest.raises(HistoryError, match="there is no archive"):
        Archive(spark, str(tmp_path / "out")).changes()


def test_a_broker_that_went_away_is_waited_for(spark, tmp_path):
    """It is killed and comes back at its address; the archive goes on, with all that it had."""
    data, out = tmp_path / "data", tmp_path / "out"
    with broker_at(data) as broker:
        fill(broker, 2)
        archive = Archive(spark, str(out))
        stopped = threading.Event()
        running = Archiving(archive, JournalOptions(url=broker.http), ArchiveSettings(every_s=0.2))
        thread = threading.Thread(target=running.run, args=(stopped,))
        thread.start()
        try:
            until(lambda: archive.manifest() is not None and not archive.changes().isEmpty())
            port = broker.http.rpartition(":")[2]
            broker.kill()
            time.sleep(1)
            with broker_at(data, f"--set=http.port={port}") as again:
                fill(again, 2, first=2)
                until(lambda: len(archived(archive.changes())) == len(told(data)))
                stopped.set()
                thread.join()
        finally:
            stopped.set()
            thread.join()
    assert archived(archive.changes()) == told(data)


def until(condition, within_s=90.0):
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.5)
