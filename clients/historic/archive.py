"""The journal as Parquet files, partitioned by the day (UTC) of the change.

::

    ARCHIVE/ARCHIVE                                     says that the folder is one
    ARCHIVE/manifest/00000003.json                      what counts: the newest (`Manifest`)
    ARCHIVE/days/day=2026-05-04/generation=1/*.parquet  few large files, sorted by predicate, object, subject
    ARCHIVE/live/00000002/changes/day=2026-05-05/*      many small ones, as Spark's file sink wrote them
    ARCHIVE/live/00000002/checkpoint/                   how far it is

Structured Streaming writes generation after generation into `live`.  Its sink counts a file by its log
(`changes/_spark_metadata`), which is what makes each change be there exactly once: files that are not in it are left
over from a crash.  The log and the number of files grow with each batch, so from time to time a generation is folded
into `days` and the next one is begun (archive_folding.py).  Generation 0 is the dataset that was there before the first
record that the journal still had: rows that came, with that place's sequence number.

Who reads the files by other means than `Archive.changes`: of `days` the generations that the newest manifest names as
`folded`, and of `live` its `generation`, by the path of `changes` as a whole, so that Spark goes by its sink's log.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from .archive_files import ArchiveFiles
from .change_rows import SCHEMA
from .errors import HistoryError
from .journal_place import Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT: Final = 1
LIVE_SCHEMA: Final = f"{SCHEMA}, day date"
FOLDED_SCHEMA: Final = f"{LIVE_SCHEMA}, generation int"
DAYS: Final = "days"
_MANIFESTS: Final = "manifest"
_MANIFESTS_KEPT: Final = 5
_BEGUN: Final = "ARCHIVE"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What of the files counts: `folded` generations, and the one that is live, which begins after `place`.

    `name` is the archive's, a URN for ever.  `since_ms` is when its history begins: what it was before can't be told.
    """

    name: str
    generation: int
    place: Place
    since_ms: int
    folded: tuple[int, ...]

    @classmethod
    def first(cls, place: Place, since_ms: int) -> Manifest:
        """Of a new archive, whose generation 0 has been written."""
        return cls(uuid.uuid4().urn, 1, place, since_ms, (0,))

    def next(self, place: Place) -> Manifest:
        """The live generation is folded, and another one begins after `place`."""
        folded = (*self.folded, self.generation)
        return replace(self, generation=self.generation + 1, place=place, folded=folded)

    def encode(self) -> str:
        """As it is written."""
        return json.dumps({"format": FORMAT, **asdict(self), "place": self.place._asdict()}, indent=1) + "\n"

    @classmethod
    def decode(cls, text: str) -> Manifest:
        """The manifest of a text.

        Raises:
            ValueError: it is none.
        """
        try:
            content = json.loads(text)
            if content.pop("format") != FORMAT:
                raise ValueError(f"its format is not {FORMAT}")
            place, folded = Place(**content.pop("place")), tuple(content.pop("folded"))
            return cls(place=place, folded=folded, **content)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"it is no manifest: {error!r}") from error


class Archive:
    """An archive at a path that Spark can read and write; one process at a time writes into it."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.spark = spark
        self.files = ArchiveFiles(spark, path)
        self.path = path

    def manifest(self) -> Manifest | None:
        """The newest one; None where there is no archive yet.

        Raises:
            HistoryError: it can't be read.
        """
        numbers = self._manifests()
        if not numbers:
            return None
        name = f"{_MANIFESTS}/{numbers[-1]:08}.json"
        try:
            return Manifest.decode(self.files.read(name))
        except ValueError as error:
            raise HistoryError(f"{self.files.at(name)}: {error}") from error

    def begin(self) -> None:
        """Make the folder ready for a first generation: empty, but for a mark that it is ours.

        Raises:
            HistoryError: there is something in it that is no archive.
        """
        if self.files.has(_BEGUN):
            # A beginning that was cut short: what it wrote may be of another day than what comes now.
            self.files.remove(DAYS)
        elif self.files.names("."):
            raise HistoryError(f"{self.path}: it has files, and is no archive: name another place")
        else:
            self.files.write_new(_BEGUN, f"An archive of a journal by Triplewire, format {FORMAT}.\n")

    def _manifests(self) -> list[int]:
        names = [
            name.removesuffix(".json") for name in self.files.names(_MANIFESTS) if name.endswith(".json")
        ]
        return sorted(int(name) for name in names if name.isdigit())

    def publish(self, manifest: Manifest) -> None:
        """Make a manifest the newest one; older ones go in time.

        Raises:
            HistoryError: another process has written one meanwhile.
        """
        numbers = self._manifests()
        name = f"{_MANIFESTS}/{manifest.generation:08}.json"
        if not self.files.write_new(name, manifest.encode()):
            raise HistoryError(f"{self.path}: another process writes into this archive")
        for number in numbers[: -_MANIFESTS_KEPT + 1]:
            self.files.remove(f"{_MANIFESTS}/{number:08}.json")

    def whole(self) -> Manifest:
        """The newest manifest.

        Raises:
            HistoryError: there is no archive.
        """
        manifest = self.manifest()
        if manifest is None:
            raise HistoryError(f"{self.path}: there is no archive; `triplewire history archive` makes one")
        return manifest

    def since(self) -> datetime:
        """When its history begins.

        Raises:
            HistoryError: there is no archive.
        """
        return datetime.fromtimestamp(self.whole().since_ms / 1000, UTC)

    def changes(self) -> DataFrame:
        """All changes, each once: the columns of the journal's source, and `day`.

        Raises:
            HistoryError: there is no archive.
        """
        manifest = self.whole()
        return self.folded(manifest).unionByName(self.live(manifest))

    def folded(self, manifest: Manifest) -> DataFrame:
        """The rows of the generations that were folded."""
        if not self.files.has(DAYS):  # nothing was there before the journal's first record
            return self._none()
        rows = self.spark.read.schema(FOLDED_SCHEMA).parquet(self.files.at(DAYS))
        return rows.filter(F.col("generation").isin(list(manifest.folded))).drop("generation")

    def live(self, manifest: Manifest) -> DataFrame:
        """The rows of the generation that is being written, as far as its sink's log goes."""
        changes = live_folder(manifest.generation) + "/changes"
        if not self.files.names(f"{changes}/_spark_metadata"):
            return self._none()
        return self.spark.read.schema(LIVE_SCHEMA).parquet(self.files.at(changes))

    def _none(self) -> DataFrame:
        return self.spark.createDataFrame([], LIVE_SCHEMA)


def live_folder(generation: int) -> str:
    """Where the files of a generation are until it is folded."""
    return f"live/{generation:08}"
