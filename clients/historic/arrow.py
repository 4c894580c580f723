"""Python on Spark's executors, a batch of Arrow's at a time."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame


def in_arrow(
    frame: DataFrame, made: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: str
) -> DataFrame:
    """What a function makes of the batches of a frame; the schema is of what it makes, as in SQL."""
    with warnings.catch_warnings():
        # PySpark warns of pandas 3, which is not asked for anything here.
        warnings.simplefilter("ignore", FutureWarning)
        return frame.mapInArrow(made, schema)
