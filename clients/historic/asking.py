"""One question to an archive, and the rows that answer it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .archiving import told
from .errors import HistoryError
from .slices import downsampled, values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .archive import Archive
    from .slices import Every, Slice


class Answer(NamedTuple):
    """Names, and rows in order as they come: what is held of them is a partition of Spark's."""

    columns: list[str]
    rows: Iterator[Sequence[Any]]


def ask(archive: Archive, wanted: Slice, every: Every | None = None) -> Answer:
    """Values by time, or samples of each minute, hour or day.

    Raises:
        HistoryError: there is no archive, it can't be read, or does not reach back to `as_of`; also from the rows.
        ValueError: an IRI is none.
    """
    since = archive.since()
    if wanted.as_of is not None and wanted.as_of < since:
        raise HistoryError(f"the archive begins at {since.isoformat()}: what was there before is not known")
    with told():
        found = values(archive.changes(), wanted, since.date())
        if every is None:
            found = found.orderBy("time", "sequence", "observation", "value")
        else:
            found = downsampled(found, every).orderBy("start", "sensor", "property")
        return Answer(found.columns, _rows(found.toLocalIterator()))


def _rows(rows: Iterator[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    with told():
        yield from rows
