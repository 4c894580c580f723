"""Some lines of text files, from all over them, without reading the rest: for a sample of what becomes of all."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame

from .files import is_compressed, length_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

_PLACES: Final = 32
# A line that begins in what was chosen may end behind it.
_LONGEST: Final = 4 << 10


def sampled_lines(
    spark: SparkSession, uris: Sequence[str], fraction: float, charset: str
) -> DataFrame | None:
    """About that part of all lines, as a frame with the column `value` that needs no task; None where it can't be had.

    They are those that begin in one of a few stretches, at equal distances over all files.
    """
    if any(is_compressed(uri) for uri in uris):
        return None
    ends = list(accumulate(length_of(spark, uri) for uri in uris))
    distance = ends[-1] / _PLACES
    stretches = []
    for number in range(_PLACES):
        start = int(distance * (number + (1 - fraction) / 2))
        file = bisect_right(ends, start)
        if file < len(ends):
            stretches.append((uris[file], start - (ends[file - 1] if file else 0)))
    length = int(distance * fraction)
    try:
        pieces = _pieces(spark, stretches, length)
    except Py4JJavaError:
        return None
    lines = [
        line.decode(charset, "replace")
        for (_, start), piece in zip(stretches, pieces, strict=True)
        for line in _lines(piece, length, is_first=start == 0)
    ]
    if not lines:
        return None
    java: Any = spark._jvm  # noqa: SLF001 - a frame that is not of Python's making needs no task
    # Cut into lines over there: each call to Java takes longer than many lines.
    told = java.java.util.regex.Pattern.compile("\n").splitAsStream("\n".join(lines)).toList()
    frame = spark._jsparkSession.createDataset(told, java.org.apache.spark.sql.Encoders.STRING())  # noqa: SLF001
    return DataFrame(frame.toDF(), spark)


def _pieces(spark: SparkSession, stretches: Sequence[tuple[str, int]], length: int) -> list[bytes]:
    """What stands at some places, from the byte before each on; in one answer of Java's, as large ones are slow to come."""
    java: Any = spark._jvm  # noqa: SLF001 - no public way leads to Hadoop's file systems
    settings = spark._jsc.hadoopConfiguration()  # noqa: SLF001
    copy = java.org.apache.commons.io.IOUtils.copyLarge
    out = java.java.io.ByteArrayOutputStream()
    ends = [0]
    for uri, start in stretches:
        path = java.org.apache.hadoop.fs.Path(java.java.net.URI(uri))
        stream = path.getFileSystem(settings).open(path)
        try:
            stream.seek(max(0, start - 1))
            copy(stream, out, 0, length + 1 + _LONGEST)
        finally:
            stream.close()
        ends.append(out.size())
    data = bytes(out.toByteArray())
    return [data[start:end] for start, end in pairwise(ends)]


def _lines(piece: bytes, length: int, *, is_first: bool) -> list[bytes]:
    """The lines that begin in a stretch, which is a byte behind the piece's start; one that does not end in the piece is left out."""
    # What stands before the first line end began before the stretch.
    first = 0 if is_first else piece.find(b"\n") + 1
    if not is_first and not first:
        return []
    found = []
    behind = length if is_first else length + 1
    while first < behind:
        end = piece.find(b"\n", first)
        if end < 0:
            break
        found.append(piece[first:end].removesuffix(b"\r"))
        first = end + 1
    return found
