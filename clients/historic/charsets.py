"""Encodings of text files: those that both Python, which reads headers, and Spark, which reads all else, can decode."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import IllegalArgumentException

from .errors import SourceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .plan import Source

UTF_8: Final = "UTF-8"
LOST: Final = "\ufffd"
"""What decoders put for bytes that are none of their charset."""

_UTF_8_NAMES: Final = frozenset(("utf-8", "utf8", "us-ascii", "ascii"))
_ASCII: Final = bytes(range(128))
# Spark decodes seven charsets unless it is told that Java's others are wanted; and bytes that are none would end the run,
# where here they break a row.
_SETTINGS: Final = ("spark.sql.legacy.javaCharsets", "spark.sql.legacy.codingErrorAction")


def charset_of(spark: SparkSession, source: Source) -> str:
    """A source's encoding, `UTF_8` whatever name it was given; Spark is told to decode what is another.

    Raises:
        SourceError: it is not known, or lines can't be told in it before it is decoded.
    """
    name = source.encoding
    if name.lower() in _UTF_8_NAMES:
        return UTF_8
    if not _is_known(spark, name):
        raise SourceError(f"{source.name}: the encoding {name!r} is not known")
    if not source.multiline and not is_single_byte(name):
        raise SourceError(
            f"{source.name}: the encoding {name} is not read by lines; UTF-8 is, and those with a byte for each "
            "character, as windows-1252; others are with `multiline`"
        )
    for setting in _SETTINGS:
        spark.conf.set(setting, "true")
    return name


def is_single_byte(name: str) -> bool:
    """Whether each byte is a character, and those of ASCII are its own: then the byte of a line's end is nothing else."""
    try:
        others = bytes(range(128, 256)).decode(name, "replace")
        # Where all are lost it is one that shifts, as ISO 2022.
        return (
            _ASCII.decode(name) == _ASCII.decode("ascii") and len(others) == 128 and others.count(LOST) < 64
        )
    except UnicodeDecodeError:
        return False


def _is_known(spark: SparkSession, name: str) -> bool:
    # No public way leads to Java's charsets.
    java: Any = spark._jvm  # noqa: SLF001
    try:
        codecs.lookup(name)
        java.java.nio.charset.Charset.forName(name)
    except (LookupError, IllegalArgumentException):
        return False
    return True
