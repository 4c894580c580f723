"""Quads as parts: files of N-Quads, sorted and without duplicates, and a manifest that names them in order.

Spark's own writer makes them, so `out` may be any path that Spark knows, and a task that is done twice leaves one file.  Below `out`:

- `records-.../kind=quads/part-*.txt.gz`, the parts; each line stands once, and lines are in the order of their bytes, from part to part;
- `manifest.json`, written last: as long as it is not there, nothing was made.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote
from uuid import uuid4

from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from .errors import HistoryError
from .hadoop import Folder
from .shares import PART_BYTES, Sample, boundaries, bucket

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MANIFEST: Final = "manifest.json"
COMPRESSIONS: Final = ("gzip", "none")
_LINE: Final = "line"
_RECORDS: Final = "records-"


@dataclass(frozen=True, slots=True)
class Part:
    """A file, by its path below the directory, and its lines and bytes (before compression)."""

    name: str
    lines: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """The parts in order; `mapping` is the hash of what they were made by, `sources` what they were made of."""

    parts: tuple[Part, ...]
    mapping: str = ""
    sources: tuple[str, ...] = ()
    format: str = "nquads"
    version: int = 1

    @property
    def lines(self) -> int:
        """Of all parts."""
        return sum(part.lines for part in self.parts)

    def document(self) -> bytes:
        """As JSON."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1).encode()


@dataclass(frozen=True, slots=True)
class PartSettings:
    """How parts are written; `part_bytes` is about how large each is, before compression."""

    compression: str = "gzip"
    part_bytes: int = PART_BYTES
    overwrite: bool = False

    def __post_init__(self) -> None:
        if self.compression not in COMPRESSIONS:
            raise HistoryError(f"the compression {self.compression!r} is none of {', '.join(COMPRESSIONS)}")


@dataclass(frozen=True, slots=True)
class Written:
    """What was written where: `quads` and `rejected` are paths that Spark reads; nothing is there where nothing was."""

    folder: Folder
    name: str
    duplicates: int = field(default=0)

    @property
    def quads(self) -> str:
        """The directory of the parts."""
        return f"{self.folder.path}/{self.name}/kind=quads"

    @property
    def rejected(self) -> str:
        """The directory of rejected rows, one JSON object a line."""
        return f"{self.folder.path}/{self.name}/kind=rejected"

    @property
    def has_quads(self) -> bool:
        """Whether there is a part."""
        return self.folder.has(f"{self.name}/kind=quads")

    @property
    def has_rejected(self) -> bool:
        """Whether there is a rejected row."""
        return self.folder.has(f"{self.name}/kind=rejected")


def write_parts(
    quads: DataFrame,
    out: str,
    settings: PartSettings | None = None,
    *,
    mapping: str = "",
    sources: tuple[str, ...] = (),
) -> Manifest:
    """Lines of N-Quads (column `line`, without line ends, no blank nodes) as parts with their manifest.

    Raises:
        HistoryError: there are parts already, and they shall not be overwritten, or it can't be written there.
    """
    spark = quads.sparkSession
    written = write_records(quads, out, settings or PartSettings(), None)
    manifest = Manifest(parts_of(spark, written), mapping, sources)
    finish(written, manifest)
    return manifest


def write_records(records: DataFrame, out: str, settings: PartSettings, sample: Sample | None) -> Written:
    """Quads and rejected rows (which begin with `{`), sorted, each once; without a sample as one part."""
    spark = records.sparkSession
    folder = Folder(spark, out)
    if folder.has(MANIFEST):
        if not settings.overwrite:
            raise HistoryError(
                f"{out} has parts already: name another directory, or say that they shall be overwritten"
            )
        folder.remove(MANIFEST)
    # What a run left that was cut off, or is overwritten now.
    for left in folder.names(_RECORDS):
        folder.remove(left)
    # A name of its own: tasks of a run that was cut off may still be at work.
    name = f"{_RECORDS}{uuid4().hex[:12]}"
    starts = boundaries(sample, settings.part_bytes, spark.sparkContext.defaultParallelism) if sample else []
    counts = Observation("parts")
    is_quad = ~F.col(_LINE).startswith("{")
    placed = records.select(
        _LINE, F.when(is_quad, bucket(F.col(_LINE), starts)).otherwise(len(starts) + 1).alias("bucket")
    )
    # All that is equal is in one bucket, so that it is counted without another shuffle.
    once = (
        placed.repartitionById(len(starts) + 2, F.col("bucket"))
        .groupBy("bucket", _LINE)
        .agg(F.count("*").alias("times"))
    )
    kind = F.when(is_quad, "quads").otherwise("rejected").alias("kind")
    told = once.select(_LINE, kind, "times").observe(counts, F.sum(F.col("times") - 1).alias("duplicates"))
    lines = told.select(_LINE, "kind").sortWithinPartitions("kind", _LINE)
    writer = lines.write.partitionBy("kind").option("compression", settings.compression)
    # Four times as fast as zlib's default, for a tenth more bytes.
    writer.option("zlib.compress.level", "BEST_SPEED").text(f"{folder.path}/{name}")
    return Written(folder, name, counts.get["duplicates"] or 0)


def parts_of(spark: SparkSession, written: Written) -> tuple[Part, ...]:
    """The parts that were written, counted."""
    if not written.has_quads:
        return ()
    lines = spark.read.text(written.quads)
    counted = lines.groupBy(F.col("_metadata.file_path").alias("file")).agg(
        F.count("*").alias("lines"), F.sum(F.octet_length("value") + 1).alias("bytes")
    )
    return in_order(written, [(row["file"], row["lines"], row["bytes"]) for row in counted.toLocalIterator()])


def in_order(written: Written, found: list[tuple[str, int, int]]) -> tuple[Part, ...]:
    """Parts of (URI, lines, bytes); Spark's names have their numbers at the start."""
    start = f"{written.name}/kind=quads/"
    named = [(start + unquote(uri.rpartition("/")[2]), lines, size) for uri, lines, size in found]
    return tuple(Part(name, lines, size) for name, lines, size in sorted(named))


def finish(written: Written, manifest: Manifest) -> None:
    """The manifest, at last."""
    written.folder.write(MANIFEST, manifest.document())


def mapping_hash(mapping: Any) -> str:
    """Tells one plan from another: dataclasses write themselves in full."""
    return hashlib.sha256(repr(mapping).encode()).hexdigest()
