"""Small things that only Hadoop's file systems can do: write a file at once, tell whether there is one, remove."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from py4j.protocol import Py4JJavaError

from .errors import HistoryError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


class Folder:
    """A directory wherever Spark can write; a path without a scheme is of Spark's default file system."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        # No public way leads to Hadoop's file systems.
        self._java = cast("Any", spark._jvm)  # noqa: SLF001
        self.spark = spark
        self.path = path.rstrip("/") or "/"
        with self._told("opened"):
            self._folder: Any = self._java.org.apache.hadoop.fs.Path(self.path)
            self._system = self._folder.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001

    @property
    def uri(self) -> str:
        """Its whole name: what Spark tells of the files in it begins with that."""
        return str(
            self._folder.makeQualified(self._system.getUri(), self._system.getWorkingDirectory()).toUri()
        )

    def has(self, name: str) -> bool:
        """Whether there is a file or directory of that name in it."""
        with self._told("read"):
            return bool(self._system.exists(self._path(name)))

    def names(self, start: str) -> list[str]:
        """The files and directories in it whose names begin like this, in order."""
        with self._told("read"):
            if not self._system.exists(self._folder):
                return []
            found = [str(status.getPath().getName()) for status in self._system.listStatus(self._folder)]
        return sorted(name for name in found if name.startswith(start))

    def remove(self, name: str) -> None:
        """A file, or a directory with all in it; nothing where there is none."""
        with self._told("removed"):
            self._system.delete(self._path(name), True)

    def write(self, name: str, data: bytes) -> None:
        """A file that is there whole or not at all, as far as the file system can promise it."""
        with self._told("written"):
            half = self._path(f".{name}.unfinished")
            stream = self._system.create(half, True)
            try:
                stream.write(data)
            finally:
                stream.close()
            self._system.delete(self._path(name), False)
            if not self._system.rename(half, self._path(name)):
                raise HistoryError(f"{self.path}/{name} can't be written: the file system refused the name")

    def _path(self, name: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(self._folder, name)

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except Py4JJavaError as error:
            raise HistoryError(
                f"{self.path} can't be {what}: {error.java_exception.getMessage()!s:.300}"
            ) from error
