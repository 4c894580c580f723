"""A place in a journal, and whose journal it is: what sources of it share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from .errors import HistoryError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triplewire.broker.journal.record import Record


class JournalGap(HistoryError):
    """Records are asked for that the journal does not keep any more, or whose numbers it gave to other changes."""


class OriginError(HistoryError):
    """The journal can't be read: no broker answers, nothing is there, it is damaged, or an option is missing."""


class OriginAway(OriginError):
    """The broker can't be reached, or is too busy, or ended the connection: it may be there again soon."""


class Place(NamedTuple):
    """After a record, 0: before all; `epoch` names the opening of the journal in which it is known ("": not known)."""

    sequence: int
    epoch: str


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where the history begins that a journal can still tell, and what tells the dataset of then.

    That is the dataset after record `place.sequence`, at `time_ms` at the latest.  `snapshot` is the number of a whole
    snapshot that may hold changes up to `until`; None where there is none.
    """

    place: Place
    time_ms: int
    snapshot: int | None
    until: int


class Origin(Protocol):
    """A journal somewhere.  What is read of it between two places is always the same, or an error."""

    def beginning(self) -> Beginning:
        """The first place that can be told, and a snapshot; the snapshot is there for some time."""
        ...

    def end(self, after: Place, most_bytes: int) -> Place:
        """The place to read to next: what is settled, and about `most_bytes` of records at most; `after` for nothing.

        Raises:
            JournalGap: what follows `after` is not kept.
        """
        ...

    def settle(self) -> None:
        """Wait until all that is there now can be told by `end`."""
        ...

    def pieces(self, after: Place, upto: int) -> list[tuple[Place, int]]:
        """What can be read apart from one another, in order."""
        ...

    def records(self, after: Place, upto: int) -> Iterator[Record]:
        """All records between two places.

        Raises:
            JournalGap: some are not kept any more.
            OriginError: they can't be read.
        """
        ...

    def snapshot_parts(self, snapshot: int) -> list[str]:
        """What of a snapshot can be read apart from one another."""
        ...

    def snapshot_texts(self, snapshot: int, part: str) -> Iterator[bytes]:
        """N-Quads of a part of a snapshot.

        Raises:
            JournalGap: the snapshot has been replaced by a newer one.
            OriginError: it can't be read.
        """
        ...
