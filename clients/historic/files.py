"""Files wherever Spark reads them, by Hadoop's own ways: which there are, and the first line of each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException

from .errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

LONGEST_LINE: Final = 1 << 20
_COMPRESSION: Final = 6
_WILD: Final = re.compile(r"[\[{*?]")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_GLOB: Final = re.compile(r"[\[\]{}*?\\]")


def files_at(spark: SparkSession, path: str) -> list[str]:
    """The URIs of the files at a path, a directory (with what is below it) or a glob, in order.

    Raises:
        SourceError: there is none.
    """
    path = _absolute(spark, path)
    try:
        found = spark.read.option("recursiveFileLookup", "true").text(path).inputFiles()
    except AnalysisException as error:
        raise SourceError(f"{path}: there is nothing to read: {error.getMessage()!s:.200}") from error
    found = [uri for uri in found if not _is_hidden(uri, path)]
    if not found:
        raise SourceError(f"{path}: there are no files in it")
    return sorted(found)


def _absolute(spark: SparkSession, path: str) -> str:
    """A relative path of this machine from where this process is: Spark's own may have been started elsewhere."""
    if path.startswith(("/", "{")) or _SCHEME.match(path):
        return path
    is_here = spark._jsc.hadoopConfiguration().get("fs.defaultFS").startswith("file:")  # noqa: SLF001
    return str(Path.cwd() / path) if is_here else path


def _is_hidden(uri: str, path: str) -> bool:
    """Whether a glob met what Spark leaves out elsewhere: names with `_` or a point before them, as a job's that was cut off."""
    fixed = _WILD.split(path)[0].rpartition("/")[0]
    if not fixed or _WILD.search(path) is None:
        return False
    met = unquote(uri).partition(f"{fixed}/")[2]
    return any(name.startswith((".", "_")) and "=" not in name for name in met.split("/"))


def base_of(spark: SparkSession, path: str) -> str:
    """What a source's path surely names, without its scheme: what stands behind it in a file's path is the file's own."""
    fixed = _WILD.split(_absolute(spark, path))[0]
    base = unquote(urlsplit(fixed).path) if _SCHEME.match(fixed) else fixed
    return base.rpartition("/")[0] if _WILD.search(path) else base.rstrip("/")


def below(base: str, uri: str) -> str:
    """A file's path from there; its name where it is that itself, or elsewhere."""
    path = unquote(urlsplit(uri).path)
    return path.removeprefix(f"{base}/") if path.startswith(f"{base}/") else path.rpartition("/")[2]


def paths_of(uris: list[str]) -> list[str]:
    """The same files as Spark's readers take them: names as they are, with what would be a glob in them escaped."""
    return [_GLOB.sub(r"\\\g<0>", unquote(uri)) for uri in uris]


def first_line(spark: SparkSession, uri: str) -> bytes:
    """A file's first line, without its end, decompressed where its name says so.

    Raises:
        SourceError: it can't be read, or has no line end in its first MiB.
    """
    # No public way leads to Hadoop's file systems.
    java: Any = spark._jvm  # noqa: SLF001
    settings = spark._jsc.hadoopConfiguration()  # noqa: SLF001
    path = java.org.apache.hadoop.fs.Path(java.java.net.URI(uri))
    try:
        stream = path.getFileSystem(settings).open(path)
        try:
            codec = java.org.apache.hadoop.io.compress.CompressionCodecFactory(settings).getCodec(path)
            reader = java.org.apache.hadoop.util.LineReader(
                codec.createInputStream(stream) if codec else stream
            )
            text = java.org.apache.hadoop.io.Text()
            read = reader.readLine(text, LONGEST_LINE, LONGEST_LINE)
        finally:
            stream.close()
    except Py4JJavaError as error:
        raise SourceError(
            f"{shown(uri)} can't be read: {error.java_exception.getMessage()!s:.200}"
        ) from error
    if read >= LONGEST_LINE:
        raise SourceError(f"{shown(uri)}: the first line does not end within {LONGEST_LINE} bytes")
    return bytes(text.copyBytes())


def size_of(spark: SparkSession, uris: Sequence[str]) -> int:
    """About how many bytes the files have; those compressed count for what they mostly become."""
    return sum(length_of(spark, uri) * (_COMPRESSION if is_compressed(uri) else 1) for uri in uris)


def length_of(spark: SparkSession, uri: str) -> int:
    """How many bytes a file has, as it lies there."""
    java: Any = spark._jvm  # noqa: SLF001
    path = java.org.apache.hadoop.fs.Path(java.java.net.URI(uri))
    system = path.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001
    return int(system.getFileStatus(path).getLen())


def is_compressed(uri: str) -> bool:
    """Whether its name says so."""
    return uri.endswith((".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate"))


def shown(uri: str) -> str:
    """A file as people write it: a path of this machine without `file:`, everything else as the URI it is."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri
