"""From an archive to roll-ups as parts: which periods are over, and where the parts go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from .line_parts import write_parts
from .parts import PartSettings
from .rollups import Rollup, results, rollup_lines
from .slices import downsampled, values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from .archive import Archive
    from .parts import Manifest
    from .slices import Slice

GRACE: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class RolledUp:
    """Samples of whole periods, and what observations they become."""

    samples: DataFrame
    rollup: Rollup

    def write(self, out: str) -> Manifest:
        """As parts in a directory, in place of those that are there.

        Raises:
            HistoryError: it can't be written.
            ValueError: the base is no IRI.
        """
        told = f"{self.rollup.every} {' '.join(self.rollup.statistics)}"
        lines = rollup_lines(self.samples, self.rollup)
        return write_parts(
            lines, out, PartSettings(overwrite=True), mapping=told, sources=(self.rollup.archive,)
        )

    def close(self) -> None:
        """Let go of the samples, which Spark keeps."""
        self.samples.unpersist()

    def results(self) -> Iterator[tuple[str, float]]:
        """Each observation and its number, as they come."""
        for row in results(self.samples, self.rollup).toLocalIterator():
            yield row.observation, row.number


def rolled_up(archive: Archive, wanted: Slice, rollup: Rollup, grace: timedelta) -> RolledUp:
    """The periods that lie in the slice as a whole, and had ended `grace` before the archive's last change.

    Raises:
        HistoryError: there is no archive.
        ValueError: an IRI is none.
    """
    one = timedelta(hours=1) if rollup.every == "hour" else timedelta(days=1)
    end = min(wanted.end, last_change(archive) - grace)
    whole = replace(
        wanted, start=_cut(wanted.start + one - timedelta(microseconds=1), one), end=_cut(end, one)
    )
    found = values(archive.changes(), whole, archive.since().date())
    # Read twice where it is loaded: for what is not true any more, and for the parts.
    return RolledUp(downsampled(found, rollup.every).cache(), replace(rollup, archive=archive.whole().name))


def last_change(archive: Archive) -> datetime:
    """When the last change was made that is in the archive; when it began where there is none.

    Raises:
        HistoryError: there is no archive.
    """
    changes = archive.changes()
    (day,) = changes.agg(F.max("day")).first() or (None,)
    if day is None:
        return archive.since()
    (micros,) = changes.filter(F.col("day") == F.lit(day)).agg(F.max(F.unix_micros("time"))).first() or (0,)
    return _EPOCH + timedelta(microseconds=int(micros))


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _cut(moment: datetime, period: timedelta) -> datetime:
    """The beginning of the hour or day (UTC) that a moment is in."""
    return moment - (moment - _EPOCH) % period
