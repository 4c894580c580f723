"""Records: what rows become before they are parts, all that one row says of a subject, or a row that was rejected.

There are far fewer of them than of quads, so that there is less to be sorted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LINE: Final = "line"
SUBJECT: Final = "subject"
"""An IRI in its brackets; of a rejected row, which says nothing, the JSON object that tells of it; null where there is nothing."""
QUADS: Final = "quads"
"""The quads, in order, each once, with a line end between two; null where there are none."""
MADE: Final = "made"
"""How many these are."""
TYPED: Final = "typed"
"""Whether one of them says that it is an observation."""
SENSOR: Final = "sensor"
"""By which it was made, without brackets, if one of them says that."""
TIME: Final = "time"
"""When, likewise, in microseconds since 1970."""
ROWS: Final = "rows"
"""How many rows of a source it stands for: of the records of one row one has 1, the others 0."""

SOSA: Final = "http://www.w3.org/ns/sosa/"
TYPE: Final = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
OBSERVATION: Final = f"<{SOSA}Observation>"
MADE_BY: Final = f"<{SOSA}madeBySensor>"
RESULT_TIME: Final = f"<{SOSA}resultTime>"
_ALL: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Record:
    """The columns of one."""

    subject: Column
    quads: Column
    made: Column
    typed: Column
    sensor: Column
    time: Column

    def columns(self, rows: Column) -> list[Column]:
        """By their names and types."""
        return [
            self.subject.cast("string").alias(SUBJECT),
            self.quads.cast("string").alias(QUADS),
            self.made.cast("int").alias(MADE),
            self.typed.cast("boolean").alias(TYPED),
            self.sensor.cast("string").alias(SENSOR),
            self.time.cast("bigint").alias(TIME),
            rows.cast("int").alias(ROWS),
        ]

    def when(self, condition: Column) -> Record:
        """The same where that is so, else nothing but nulls."""
        return Record(*[F.when(condition, column) for column in self._all()])

    def otherwise(self, other: Record) -> Record:
        """What was made by `when`, and another where that was not so."""
        return Record(
            *[mine.otherwise(theirs) for mine, theirs in zip(self._all(), other._all(), strict=True)]
        )

    def _all(self) -> list[Column]:
        return [self.subject, self.quads, self.made, self.typed, self.sensor, self.time]


def rejected_record(told: Column) -> Record:
    """Of a row that makes no quads: `told` is a JSON object."""
    nothing = F.lit(None)
    return Record(told, nothing, F.lit(0), nothing, nothing, nothing)


def no_record() -> Record:
    """Of a row of which nothing is said."""
    return rejected_record(F.lit(None))


def record_of(line: Column) -> Record:
    """Of one line of N-Quads."""
    subject = F.substring_index(line, " ", 1)
    rest = F.substring(line, F.length(subject) + 2, F.lit(_ALL))
    return Record(
        subject,
        line,
        F.lit(1),
        F.when(rest.startswith(f"{TYPE} {OBSERVATION} "), F.lit(True)),
        F.when(rest.startswith(f"{MADE_BY} <"), F.regexp_extract(rest, "^[^ ]+ <([^>]*)>", 1)),
        F.when(rest.startswith(f'{RESULT_TIME} "'), micros(F.regexp_extract(rest, '^[^ ]+ "([^"]*)"', 1))),
    )


def records_of(lines: DataFrame, rows: int = 0) -> DataFrame:
    """Lines of N-Quads (column `line`), and among them JSON objects of rejected rows, as records; each is so many rows."""
    line = F.col(LINE)
    found = record_of(line).when(line.startswith("<")).otherwise(rejected_record(line))
    return lines.select(*found.columns(F.lit(rows)))


def micros(time: Column) -> Column:
    """A text's moment in microseconds since 1970; null where it is none."""
    return F.unix_micros(time.try_cast("timestamp"))
