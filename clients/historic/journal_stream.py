"""The journal as a stream: offsets are places in it, so what lies between two of them is the same each time.

An offset is `{"sequence": 17, "epoch": "…"}`.  Where the journal does not keep what follows an offset, or has given its
number to another change, the query ends with a `JournalGap` that says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow

from .change_rows import arrow_batches, rows_of
from .journal_options import JournalOptions
from .journal_place import OriginError, Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from .journal_place import Origin

BATCH_BYTES: Final = 128 * 1024 * 1024
_EVERY: Final = 1 << 62


def first_place(options: Mapping[str, str]) -> Place | None:
    """The options `after` and `epoch`; None where they are not given.

    Raises:
        OriginError: `after` is no number.
    """
    return Place(number(options, "after"), options.get("epoch", "")) if "after" in options else None


def number(options: Mapping[str, str], name: str, default: int | None = None) -> int:
    """An option that is a number.

    Raises:
        OriginError: it is none.
    """
    text = options.get(name)
    if text is None and default is not None:
        return default
    if text is None or not (text.isascii() and text.isdigit()):
        raise OriginError(f"the option `{name}` must be a number, not {text!r}")
    return int(text)


class Piece(InputPartition):
    """The records after one and up to another."""

    def __init__(self, after: Place, upto: int) -> None:
        super().__init__((after, upto))
        self.after = after
        self.upto = upto


def rows_between(options: JournalOptions, piece: InputPartition) -> Iterator[pa.RecordBatch]:
    """The rows of a piece; on an executor."""
    if not isinstance(piece, Piece):
        return iter(())  # Spark's own, where there are none
    records = options.origin().records(piece.after, piece.upto)
    return arrow_batches(row for record in records for row in rows_of(record))


class JournalStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Begins after the record `after` of `epoch`, or where the journal begins; a batch is about `batch_bytes` of the journal."""

    def __init__(self, options: Mapping[str, str]) -> None:
        """Reads the options.

        Raises:
            OriginError: one is missing, or is no number.
        """
        self._options = JournalOptions.of(options)
        self._first = first_place(options)
        self._batch_bytes = number(options, "batch_bytes", BATCH_BYTES)
        self._origin: Origin | None = None
        self._last: int | None = None
        self._now = False

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's names, here and below
        """See pyspark."""
        return (self._first or self._at().beginning().place)._asdict()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """See pyspark."""
        return ReadMaxBytes(self._batch_bytes)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """What is there now is to be read, and no more; its end is looked for when it is known where to begin."""
        self._at().settle()
        self._now = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """See pyspark."""
        after = _place(start)
        if self._now and self._last is None:
            self._last = self._options.origin().end(after, _EVERY).sequence
        most = limit.max_bytes if isinstance(limit, ReadMaxBytes) else _EVERY
        end = self._at().end(after, most)
        if self._last is not None and end.sequence > self._last:
            end = end._replace(sequence=max(self._last, after.sequence))
        return end._asdict() if end.sequence > after.sequence else start

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """See pyspark."""
        pieces = self._at().pieces(_place(start), _place(end).sequence)
        return [Piece(after, upto) for after, upto in pieces]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """See pyspark."""
        return rows_between(self._options, partition)

    def _at(self) -> Origin:
        # Made when it is asked for: this object is sent to executors before.
        if self._origin is None:
            self._origin = self._options.origin()
        return self._origin


def _place(offset: dict[str, Any]) -> Place:
    return Place(int(offset["sequence"]), str(offset["epoch"]))
