"""What can go wrong with years of observations, as classes; each message says what and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triplewire.broker.errors import ClientError

if TYPE_CHECKING:
    from .report import Report


class HistoryError(ClientError):
    """Something that whoever runs a load can mend: a file, a setting, a missing part."""


class NoJava(HistoryError):
    """Spark needs a Java that is not there, or the one named is too old."""


class SourceError(HistoryError):
    """A source can't be read: nothing at its path, an unknown format, a column that its mapping names is not there."""


class TooManyRejected(HistoryError):
    """More rows broke than the limit allows: nothing can be loaded; `report` has what is known of the run."""

    def __init__(self, description: str, report: Report) -> None:
        super().__init__(description)
        self.report = report
