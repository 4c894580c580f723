"""Whether Spark is at work in this process already: then it is somebody else's to end."""

from __future__ import annotations

from typing import TypeAlias

from pyspark import SparkContext
from pyspark.sql import SparkSession

Session: TypeAlias = SparkSession  # for those who must not name pyspark


def is_running() -> bool:
    """A context is there, and has not been stopped."""
    return SparkContext._active_spark_context is not None  # noqa: SLF001 - no other way to know
