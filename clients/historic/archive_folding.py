"""Generations of an archive: the first is what was there before, and each that is full becomes few large files.

Crash-safe by the manifest: what is written before it does not count and is written again, over itself; what it has made
dispensable is taken away after it, a generation late, so that who has just read the older manifest can still read on.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from .archive import DAYS, live_folder
from .errors import HistoryError
from .journal_place import Place

if TYPE_CHECKING:
    import datetime as dt

    from pyspark.sql import DataFrame

    from .archive import Archive, Manifest

# Sorted by the predicate first, a query for a few predicates of a day reads their row groups only.
_ORDER: Final = ("day", "predicate", "object", "subject", "sequence")
_FILE_ROWS: Final = 2_000_000
_GROUP_BYTES: Final = 16 * 1024 * 1024


def write_generation(archive: Archive, generation: int, rows: DataFrame) -> None:
    """Write `rows`, which have a `day`, as that generation; over what a try before this one left."""
    count = rows.count()
    if not count:
        return
    files = math.ceil(count / _FILE_ROWS)
    ordered = rows.withColumn("generation", F.lit(generation))
    ordered = ordered.repartitionByRange(files, *_ORDER) if files > 1 else ordered.coalesce(1)
    writer = ordered.sortWithinPartitions(*_ORDER).write.mode("overwrite")
    writer = writer.option("partitionOverwriteMode", "dynamic").option("parquet.block.size", _GROUP_BYTES)
    writer.partitionBy("day", "generation").parquet(archive.files.at(DAYS))


def holds_closed_day(archive: Archive, manifest: Manifest, today: dt.date) -> bool:
    """Whether the live generation has a day that is over."""
    return not archive.live(manifest).filter(F.col("day") < F.lit(today)).isEmpty()


def fold(archive: Archive, manifest: Manifest) -> Manifest:
    """Fold the live generation, whose stream is not running and has done its last batch; the next one's manifest.

    Raises:
        HistoryError: a batch is half done, or another process writes here.
    """
    place = _place(archive, manifest)
    if place is None:
        return manifest
    write_generation(archive, manifest.generation, archive.live(manifest))
    following = manifest.next(place)
    archive.publish(following)
    for name in archive.files.names("live"):
        if name < live_folder(manifest.generation).rpartition("/")[2]:
            archive.files.remove(f"live/{name}")
    return following


def _place(archive: Archive, manifest: Manifest) -> Place | None:
    """Where the generation's stream is; None where it has written nothing."""
    checkpoint = f"{live_folder(manifest.generation)}/checkpoint"
    begun = _batches(archive, f"{checkpoint}/offsets")
    if not begun:
        return None
    if begun[-1] not in _batches(archive, f"{checkpoint}/commits"):
        raise HistoryError(f"{archive.path}: batch {begun[-1]} of the archive is not done")
    # Spark's log of offsets: a version, the batch's settings, then one line for each source.
    offset = json.loads(archive.files.read(f"{checkpoint}/offsets/{begun[-1]}").split("\n")[2])
    return Place(int(offset["sequence"]), str(offset["epoch"]))


def _batches(archive: Archive, folder: str) -> list[int]:
    return sorted(int(name) for name in archive.files.names(folder) if name.isdigit())
