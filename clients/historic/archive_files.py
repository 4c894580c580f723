"""The folder of an archive, wherever Spark can write: a manifest is there as a whole or not at all, and never replaced."""

from __future__ import annotations

from .hadoop import Folder


class ArchiveFiles(Folder):
    """Below one path of Hadoop's file systems: a local one, hdfs://, s3a://, ..."""

    def at(self, name: str) -> str:
        """Where a file or folder is, for Spark."""
        return f"{self.path}/{name}"

    def names(self, name: str) -> list[str]:
        """What is in a folder; nothing where it is not there."""
        if not self.has(name):
            return []
        with self._told("read"):
            return sorted(status.getPath().getName() for status in self._system.listStatus(self._path(name)))

    def read(self, name: str) -> str:
        """The whole of a file.

        Raises:
            HistoryError: it can't be read.
        """
        with self._told("read"):
            stream = self._system.open(self._path(name))
            try:
                return str(self._java.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
            finally:
                stream.close()

    def write_new(self, name: str, text: str) -> bool:
        """A new file, in one step; False where one of that name is there, which stays.

        Raises:
            HistoryError: it can't be written.
        """
        with self._told("written"):
            path, draft = self._path(name), self._path(f"{name}.draft")
            stream = self._system.create(draft, True)
            try:
                stream.write(bytearray(text.encode()))
                stream.hsync()
            finally:
                stream.close()
            # Hadoop's rename does not replace, but a local folder's does.
            return not self._system.exists(path) and bool(self._system.rename(draft, path))
