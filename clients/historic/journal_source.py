"""The broker's journal as a Spark source: `spark.read` for what is there, `spark.readStream` for what comes.

Two sources are registered (`register`): `triplewire-journal`, whose rows are the changes between two records
(`after` and its `epoch`, `upto`; all that is kept where they are not given), and `triplewire-snapshot`, whose rows are the quads of one snapshot (`snapshot`).  Where the journal is, is said
by the options of `journal_options.py`.  The
 package must be installed on all executors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from .change_rows import SCHEMA, ChangeRow, arrow_batches, quads_of
from .journal_options import JournalOptions
from .journal_stream import JournalStream, Piece, first_place, number, rows_between

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

JOURNAL: Final = "triplewire-journal"
SNAPSHOT: Final = "triplewire-snapshot"
_EVERY: Final = 1 << 62


class JournalSource(DataSource):
    """Changes: see `SCHEMA`."""

    @classmethod
    def name(cls) -> str:
        """What `format` is told."""
        return JOURNAL

    def schema(self) -> str:
        """Its columns."""
        return SCHEMA

    def reader(self, schema: Any) -> JournalReading:  # noqa: ARG002 - Spark's signature
        """What is there."""
        return JournalReading(dict(self.options))

    def streamReader(self, schema: Any) -> JournalStream:  # noqa: ARG002, N802 - Spark's signature
        """What comes."""
        return JournalStream(dict(self.options))


class SnapshotSource(DataSource):
    """Quads of a snapshot as rows that came with it, at time 0."""

    @classmethod
    def name(cls) -> str:
        """What `format` is told."""
        return SNAPSHOT

    def schema(self) -> str:
        """Its columns, those of the journal."""
        return SCHEMA

    def reader(self, schema: Any) -> SnapshotReading:  # noqa: ARG002 - Spark's signature
        """What is there."""
        return SnapshotReading(dict(self.options))


class JournalReading(DataSourceReader):
    """The rows of the records after one and up to another; each piece of the journal is a partition."""

    def __init__(self, options: Mapping[str, str]) -> None:
        """Reads the options.

        Raises:
            OriginError: one is missing, or is no number.
        """
        self._options = JournalOptions.of(options)
        self._after = first_place(options)
        self._upto = number(options, "upto", _EVERY)

    def partitions(self) -> Sequence[InputPartition]:
        """See pyspark."""
        origin = self._options.origin()
        after = self._after or origin.beginning().place
        upto = min(self._upto, origin.end(after, _EVERY).sequence)
        return [Piece(start, end) for start, end in origin.pieces(after, upto)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """See pyspark."""
        return rows_between(self._options, partition)


class SnapshotReading(DataSourceReader):
    """The rows of one snapshot; each of its parts is a partition."""

    def __init__(self, options: Mapping[str, str]) -> None:
        """Reads the options.

        Raises:
            OriginError: one is missing, or is no number.
        """
        self._options = JournalOptions.of(options)
        self._snapshot = number(options, "snapshot")

    def partitions(self) -> Sequence[InputPartition]:
        """See pyspark."""
        return [InputPartition(part) for part in self._options.origin().snapshot_parts(self._snapshot)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """See pyspark."""
        texts = self._options.origin().snapshot_texts(self._snapshot, partition.value)
        rows = (ChangeRow(self._snapshot, 0, "", True, quad) for text in texts for quad in quads_of(text))
        return arrow_batches(rows)


def register(spark: SparkSession) -> None:
    """Let this Spark session know both sources."""
    spark.dataSource.register(JournalSource)
    spark.dataSource.register(SnapshotSource)
