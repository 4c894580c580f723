"""Keeping an archive of a journal: once, or for ever."""

from __future__ import annotations

import logging
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812

from .archive import Archive, Manifest, live_folder
from .archive_base import dataset_before
from .archive_folding import fold, holds_closed_day, write_generation
from .errors import HistoryError
from .journal_place import JournalGap, OriginAway, OriginError
from .journal_source import JOURNAL, register
from .journal_stream import BATCH_BYTES

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from pyspark.sql.streaming.query import StreamingQuery

    from .journal_options import JournalOptions

log = logging.getLogger("triplewire.clients.historic")

_TRIES: Final = 3
_LOOK_S: Final = 1
_AWAY_S: Final = (1.0, 30.0)  # the first and the longest wait for a broker that has gone away
_STACK: Final = re.compile(r"\n\n|\n\tat ")
_LONGEST: Final = 1000  # Spark's messages can hold a whole plan
# The last line of a traceback of our own, in whatever Spark makes of it.
_OURS: Final = re.compile(r"^\s*triplewire\.[\w.]+\.(\w+): (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    """`every_s` between looks at the journal, None: until its end of now, once; `compact` folds days that are over."""

    every_s: float | None = None
    compact: bool = False
    batch_bytes: int = BATCH_BYTES


class Archiving:
    """Writes one journal into one archive."""

    def __init__(self, archive: Archive, options: JournalOptions, settings: ArchiveSettings) -> None:
        self._archive = archive
        self._options = options
        self._settings = settings
        register(archive.spark)

    def run(self, stopped: threading.Event) -> None:
        """Archive until the journal's end of now, or until `stopped`; then what there is by then is in the archive.

        A broker that has gone away is waited for, but with `every_s` None.

        Raises:
            HistoryError: the journal or the archive can't be read or written; says what to do.
        """
        if self._settings.every_s is None:
            with told():
                self._begin()
                self._once()
            return
        wait_s = _AWAY_S[0]
        while not stopped.is_set():
            began = time.monotonic()
            try:
                with told():
                    self._begin()
                    self._once()
                    self._until_midnight(stopped, self._settings.every_s)
                    if stopped.is_set():
                        self._once()
            except OriginAway as error:
                wait_s = _AWAY_S[0] if time.monotonic() - began > _AWAY_S[1] else min(2 * wait_s, _AWAY_S[1])
                log.warning("= %s; once more in %.0f s", error, wait_s)
                stopped.wait(wait_s)

    def _once(self) -> None:
        """All that is there now; then what is over is folded."""
        query = self._query(None)
        query.awaitTermination()
        if self._settings.compact:
            manifest = self._manifest()
            if holds_closed_day(self._archive, manifest, datetime.now(UTC).date()):
                fold(self._archive, manifest)

    def _until_midnight(self, stopped: threading.Event, every_s: float) -> None:
        query = self._query(every_s)
        day = datetime.now(UTC).date()
        try:
            while not stopped.is_set():
                if query.awaitTermination(_LOOK_S):
                    return
                if self._settings.compact and datetime.now(UTC).date() != day:
                    return
        finally:
            query.stop()

    def _query(self, every_s: float | None) -> StreamingQuery:
        """The stream into the live generation; what a crash left half done is done first."""
        manifest = self._manifest()
        told = self._options.texts() | {
            "after": str(manifest.place.sequence),
            "epoch": manifest.place.epoch,
            "batch_bytes": str(self._settings.batch_bytes),
        }
        folder = self._archive.files.at(live_folder(manifest.generation))
        rows = self._archive.spark.readStream.format(JOURNAL).options(**told).load()
        writer = rows.withColumn("day", F.to_date("time")).writeStream.format("parquet").partitionBy("day")
        writer = writer.option("checkpointLocation", f"{folder}/checkpoint").queryName(
            None or _name(manifest)
        )
        if every_s is None:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{every_s} seconds")
        return writer.start(f"{folder}/changes")

    def _manifest(self) -> Manifest:
        manifest = self._archive.manifest()
        assert manifest is not None  # _begin made one
        return manifest

    def _begin(self) -> None:
        """A new archive begins with what was there; where the journal goes on without us meanwhile, again."""
        for left in range(_TRIES - 1, -1, -1):
            if self._archive.manifest() is not None:
                return
            try:
                self._write_base()
            except PySparkException as error:
                if not left or not isinstance(reason(error), JournalGap):
                    raise
                log.info("= the snapshot has been replaced meanwhile: once more")
                time.sleep(_LOOK_S)

    def _write_base(self) -> None:
        beginning = self._options.origin().beginning()
        self._archive.begin()
        rows = dataset_before(self._archive.spark, self._options, beginning)
        if rows is not None:
            write_generation(self._archive, 0, rows)
        self._archive.publish(Manifest.first(beginning.place, beginning.time_ms))


def _name(manifest: Manifest) -> str:
    return f"archive {manifest.name} {manifest.generation}"


@contextmanager
def told() -> Iterator[None]:
    """Around what Spark is asked to do: its errors are ours.

    Raises:
        HistoryError: it failed.
    """
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise reason(error) from error


def reason(error: Exception) -> HistoryError:
    """What it was, where it was something of ours that failed in Spark's processes; else what Spark says, in short."""
    found = _OURS.findall(str(error))
    if not found:
        return HistoryError(_STACK.split(str(error))[0][:_LONGEST])
    name, text = found[-1]
    kinds: dict[str, type[HistoryError]] = {
        kind.__name__: kind for kind in (JournalGap, OriginAway, OriginError)
    }
    return kinds.get(name, HistoryError)(text)
