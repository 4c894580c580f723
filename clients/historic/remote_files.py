"""Files wherever Spark can write them (HDFS, S3, ...), through the file systems of its own Java."""

from __future__ import annotations

from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError

from .part_files import PartsError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from .part_files import Fetch

_MISSING = "java.io.FileNotFoundException"


def fetch_with(spark: SparkSession, directory: str) -> Fetch:
    """Copies files of that directory to this machine; a file that is not there is a FileNotFoundError."""

    def fetch(name: str, to: Path) -> None:
        # No public way leads to Hadoop's file systems
        java = spark._jvm  # noqa: SLF001
        assert java is not None
        there = java.org.apache.hadoop.fs.Path(directory.rstrip("/"), name)
        here = java.org.apache.hadoop.fs.Path(to.resolve().as_uri())
        try:
            system = there.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001
            # The raw local file system: no .crc file beside the copy
            system.copyToLocalFile(False, there, here, True)
        except Py4JJavaError as error:
            cause = error.java_exception
            if cause.getClass().getName() == _MISSING:
                raise FileNotFoundError(f"{directory}/{name}") from error
            raise PartsError(f"{directory}/{name} can't be read: {cause.getMessage()!s:.300}") from error

    return fetch
