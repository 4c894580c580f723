"""Files of items, as streams have them on the wire: one row for each item.

Columns: `event_id`, `source_id`, `application_id`, `event_type`, `syntax`, `timestamp`, `aggregator_ids` (with commas between),
`body` (as text), and `json`, which is the body as a JSON value where it is one, so that `$.json.temperature` goes into it.
A file is read by one Python process, a piece at a time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from triplewire.broker.wire.item_reader import ItemReader
from triplewire.broker.wire.items import ItemError

from .arrow import in_arrow
from .files import files_at, paths_of, size_of
from .json_values import unwrapped, wrapped
from .reasons import Reason
from .table import BLOCK, FAULT, FILE, PLACE, RAW, ROW, Table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from triplewire.broker.wire.items import Item

    from .plan import Source

COLUMNS: Final = (
    "event_id",
    "source_id",
    "application_id",
    "event_type",
    "syntax",
    "timestamp",
    "aggregator_ids",
    "body",
)
_SCHEMA: Final = (
    f"file string, place bigint, raw string, fault string, {', '.join(f'{name} string' for name in COLUMNS)}"
)
_PIECE: Final = 1 << 20
_NUMBER: Final = re.compile("item ([0-9]+) ")
_BATCH: Final = 1000


def items_table(spark: SparkSession, source: Source) -> Table:
    """The items of all files; a row's line is the item's number within its file.

    Raises:
        SourceError: there are no files.
    """
    files = files_at(spark, source.path)
    read = spark.read.format("binaryFile").load(paths_of(files))
    contents = read.select(F.col("_metadata.file_path").alias("path"), "content")
    items = in_arrow(contents, _items, _SCHEMA)
    row = F.struct(*COLUMNS, unwrapped(wrapped(F.col("body"))).alias("json"))
    rows = items.select(row.alias(ROW), FILE, F.lit(0).cast("bigint").alias(BLOCK), PLACE, RAW, FAULT)
    return Table(source, rows, rows.select(FILE, BLOCK, PLACE), bytes=size_of(spark, files))


def _items(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa  # noqa: PLC0415 - on the executors

    for batch in batches:
        for path, content in zip(batch["path"].to_pylist(), batch["content"], strict=True):
            rows: list[dict[str, Any]] = []
            for place, row in enumerate(_rows(memoryview(content.as_buffer()))):
                rows.append({"file": path, "place": place, **row})
                if len(rows) == _BATCH:
                    yield pa.RecordBatch.from_pylist(rows, _schema())
                    rows = []
            yield pa.RecordBatch.from_pylist(rows, _schema())


def _rows(content: memoryview) -> Iterator[dict[str, Any]]:
    """The items of a file; one that is none is a row that is broken, and what can't be read on ends it."""
    unfit: list[ItemError] = []
    reader = ItemReader(on_unfit=unfit.append)
    number = 1
    for start in (*range(0, len(content), _PIECE), None):
        items, end = _items_of(reader, None if start is None else bytes(content[start : start + _PIECE]))
        yield from _in_order(items, unfit, number)
        number += len(items) + len(unfit)
        unfit.clear()
        if end is not None:
            yield _broken(end)
            return


def _items_of(reader: ItemReader, piece: bytes | None) -> tuple[list[Item], ItemError | None]:
    """The items that end in a piece, or none and why it can't be read on; None is the end of the file."""
    try:
        return (reader.finish() if piece is None else reader.feed(piece)), None
    except ItemError as error:
        return [], error


def _in_order(items: list[Item], unfit: list[ItemError], number: int) -> Iterator[dict[str, Any]]:
    """Both as they stood in the file, from that number on: an error tells its own."""
    broken = {int(found[1]): error for error in unfit if (found := _NUMBER.match(error.where))}
    rest = iter(items)
    for place in range(number, number + len(items) + len(broken)):
        yield _broken(broken[place]) if place in broken else _row(next(rest))


def _row(item: Item) -> dict[str, Any]:
    row: dict[str, Any] = {
        name: getattr(item, name) for name in COLUMNS if name not in ("aggregator_ids", "body")
    }
    row["aggregator_ids"] = ",".join(item.aggregator_ids) or None
    row["raw"] = f"Event-Id: {item.event_id}"
    try:
        row["body"] = item.body.decode()
    except UnicodeDecodeError:
        row["fault"] = Reason.BAD_ENCODING.value
    return row


def _broken(error: ItemError) -> dict[str, Any]:
    return {"fault": Reason.BAD_LINE.value, "raw": str(error)}


def _schema() -> pa.Schema:
    import pyarrow as pa  # noqa: PLC0415 - on the executors

    texts = [(name, pa.string()) for name in ("raw", "fault", *COLUMNS)]
    return pa.schema([("file", pa.string()), ("place", pa.int64()), *texts])
