"""Quads as parts: files of N-Quads, sorted and without duplicates, and a manifest that names them in order.

Spark's own writer makes them, so `out` may be any path that Spark knows, and a task that is done twice leaves one file.  Below `out`:

- `records-.../kind=quads/part-*.txt.gz`, the parts; each line stands once, and lines are in the order of their bytes, from part to part;
- `manifest.json`, written last: as long as it is not there, nothing was made.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from .errors import HistoryError
from .hadoop import Folder
from .records import QUADS
from .shares import PART_BYTES, Sample, shares_of
from .subjects import put_together

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

MANIFEST: Final = "manifest.json"
COMPRESSIONS: Final = ("gzip", "none")
_RECORDS: Final = "records-"
_NUMBER: Final = re.compile(r"part-([0-9]+)-[^/]*$")


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
    """What was written where; `has_large` is whether there are subjects too large to be put together."""

    folder: Folder
    name: str
    has_large: bool = False

    def of(self, kind: str) -> str:
        """The directory of a kind: quads, rejected rows (a JSON object a line), or what is told of subjects."""
        return f"{self.folder.path}/{self.name}/kind={kind}"

    def has(self, kind: str) -> bool:
        """Whether there is any of that kind."""
        return self.folder.has(f"{self.name}/kind={kind}")

    def drop(self, kind: str) -> None:
        """Remove all of a kind."""
        self.folder.remove(f"{self.name}/kind={kind}")

    def parts(self, counted: Mapping[int, tuple[int, int]]) -> tuple[Part, ...]:
        """The parts by their names; `counted` are lines and bytes by the number that each has in its name."""
        names = Folder(self.folder.spark, self.of(QUADS)).names("part-")
        numbered = sorted((number_of(name), name) for name in names)
        return tuple(Part(f"{self.name}/kind={QUADS}/{name}", *counted[number]) for number, name in numbered)


def number_of(name: str) -> int:
    """Spark's files have the numbers of their partitions at the start of their names.

    Raises:
        ValueError: it is no file of a partition.
    """
    found = _NUMBER.search(name)
    if found is None:
        raise ValueError(f"{name} is no part")
    return int(found[1])


def write_records(records: DataFrame, out: str, settings: PartSettings, sample: Sample | None) -> Written:
    """Quads and rejected rows, sorted, each once; without a sample as one part.

    Beside the quads of each subject goes a row that tells of them (`quality.py`).
    """
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
    with _settings(spark):
        shares = shares_of(sample, settings.part_bytes, spark.sparkContext.defaultParallelism)
        lines = put_together(records, shares)
        writer = lines.write.partitionBy("kind").option("compression", settings.compression)
        # Four times as fast as zlib's default, for a tenth more bytes.
        writer.option("zlib.compress.level", "BEST_SPEED").text(f"{folder.path}/{name}")
    return Written(folder, name, has_large=bool(shares.large))


@contextmanager
def _settings(spark: SparkSession) -> Iterator[None]:
    """Records are put together in the order in which they are sorted, and a task has a file of each kind open: one sort is enough."""
    wanted = {
        "spark.sql.execution.useObjectHashAggregateExec": "false",
        "spark.sql.maxConcurrentOutputFileWriters": "8",
    }
    before = {key: str(spark.conf.get(key)) for key in wanted}
    for key, value in wanted.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)


def finish(written: Written, manifest: Manifest) -> None:
    """The manifest, at last."""
    written.folder.write(MANIFEST, manifest.document())


def mapping_hash(mapping: Any) -> str:
    """Tells one plan from another: dataclasses write themselves in full."""
    return hashlib.sha256(repr(mapping).encode()).hexdigest()
