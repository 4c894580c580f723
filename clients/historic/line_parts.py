"""Lines of N-Quads, however they were made, as parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .parts import Manifest, PartSettings, finish, write_records
from .quality import summary
from .records import records_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def write_parts(
    quads: DataFrame,
    out: str,
    settings: PartSettings | None = None,
    *,
    mapping: str = "",
    sources: tuple[str, ...] = (),
) -> Manifest:
    """Lines of N-Quads (column `line`, without line ends, no blank nodes) as parts with their manifest.

    Raises:
        HistoryError: there are parts already, and they shall not be overwritten, or it can't be written there.
    """
    written = write_records(records_of(quads), out, settings or PartSettings(), None)
    manifest = Manifest(summary(quads.sparkSession, written).parts, mapping, sources)
    finish(written, manifest)
    return manifest
