"""Only what is over is rolled up."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

from pyoxigraph import Literal, NamedNode, Quad

from triplewire.broker.config import JournalConfig
from triplewire.broker.journal.journal import Journal
from triplewire.broker.model import QuadDelta
from triplewire.clients.historic.archive import Archive
from triplewire.clients.historic.archiving import ArchiveSettings, Archiving
from triplewire.clients.historic.journal_options import JournalOptions
from triplewire.clients.historic.rolling_up import last_change, rolled_up
from triplewire.clients.historic.rollups import Rollup
from triplewire.clients.historic.slices import SOSA, Slice

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
DATE_TIME = NamedNode("http://www.w3.org/2001/XMLSchema#dateTime")


def observation(number, time):
    subject = NamedNode(f"http://example.org/o{number}")
    parts = {
        "madeBySensor": NamedNode("http://example.org/s"),
        "resultTime": Literal(time.isoformat(), datatype=DATE_TIME),
        "hasSimpleResult": Literal(number),
    }
    return frozenset(Quad(subject, NamedNode(SOSA + name), object_) for name, object_ in parts.items())


def test_periods_that_are_over(spark, tmp_path):
    """Whole hours of the slice that ended an hour before the last change; loaded again, the samples are the same."""
    data = tmp_path / "data"
    journal = Journal.open(data, JournalConfig())
    for number in range(12):  # one each half hour, told at once
        time = NOON + timedelta(minutes=30 * number)
        journal.append(QuadDelta(observation(number, time), frozenset()), "", time.timestamp())
        journal.settle()
    journal.close()
    archive = Archive(spark, str(tmp_path / "out"))
    Archiving(archive, JournalOptions(data=str(data)), ArchiveSettings()).run(threading.Event())
    assert last_change(archive) == NOON + timedelta(hours=5, minutes=30)
    wanted = Slice(start=NOON + timedelta(minutes=10), end=NOON + timedelta(days=9))
    done = rolled_up(archive, wanted, Rollup("hour", "", "http://example.org/"), timedelta(hours=1))
    found = {(row.start.astimezone(UTC).hour, row["count"]) for row in done.samples.collect()}
    assert found == {(13, 2), (14, 2), (15, 2)}
    assert done.rollup.archive == archive.whole().name
    manifest = done.write(str(tmp_path / "parts"))
    assert done.write(str(tmp_path / "parts")).lines == manifest.lines > 0
    assert len(list(done.results())) == 15
    done.close()
