"""What one row says of one subject: its quads, in the order of their bytes, each once.

Mostly the mapping tells that order beforehand, as each rule has a predicate of its own; else each row's are sorted.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from .records import MADE_BY, OBSERVATION, RESULT_TIME, TYPE, Record, micros, record_of
from .steps import LINES
from .term_maps import Made

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from pyspark.sql import Column

    from .steps import Steps

_END: Final = "\n"


@dataclass(frozen=True, slots=True)
class Said:
    """Subject, predicate, object and graph of one rule; a row without all of `given` does not say it."""

    terms: tuple[Made, ...]
    given: Column | None = None

    def line(self) -> Column:
        """The quad, or an array of them; null where it is not said."""
        line = as_line(self.terms)
        return line if self.given is None else F.when(self.given, line)

    @property
    def start(self) -> str:
        """What comes behind the subject, whatever the row."""
        first = _pieces(self.terms[1:])[0]
        return first if isinstance(first, str) else ""

    @property
    def is_certain(self) -> bool:
        """Whether each row says it, if it has the subject."""
        return self.given is None and all(term.constant is not None for term in self.terms[1:])


def statements(subject: Column, said: Sequence[Said], steps: Steps, key: Hashable) -> Record:
    """All that a row says of this subject."""
    if any(is_many(one.terms) for one in said):
        return _sorted(subject, said, steps, key)
    ordered = sorted(said, key=lambda one: one.start.encode())
    if any(later.start.startswith(one.start) for one, later in pairwise(ordered)):
        return _sorted(subject, said, steps, key)
    return _ordered(subject, ordered, steps, key)


def as_line(made: Sequence[Made]) -> Column:
    """A line of these terms, or an array of lines for each combination; null where one of them is."""
    if not is_many(made):
        return F.concat(*[F.lit(piece) if isinstance(piece, str) else piece for piece in _pieces(made)])
    return _combined(list(made), [])


def is_many(made: Sequence[Made]) -> bool:
    """Whether one of them is an array."""
    return any(one.many for one in made)


def _ordered(subject: Column, said: Sequence[Said], steps: Steps, key: Hashable) -> Record:
    lines = [steps.put(LINES, (key, number), one.line()) for number, one in enumerate(said)]
    quads = F.concat_ws(_END, *lines) if len(lines) > 1 else lines[0]
    made = F.lit(sum(one.is_certain for one in said))
    for line, one in zip(lines, said, strict=True):
        if not one.is_certain:
            made = made + line.isNotNull().cast("int")
    if not any(one.is_certain for one in said):
        subject = F.when(F.coalesce(*lines).isNotNull(), subject)
    typed = _found(said, TYPE, lambda term: F.when(term == OBSERVATION, F.lit(True)))
    sensor = _found(said, MADE_BY, _iri)
    return Record(subject, quads, made, typed, sensor, _found(said, RESULT_TIME, _moment))


def _sorted(subject: Column, said: Sequence[Said], steps: Steps, key: Hashable) -> Record:
    none = F.array().cast("array<string>")
    single = [one.line() for one in said if not is_many(one.terms)]
    arrays = [F.array(*single)] if single else []
    arrays += [F.coalesce(one.line(), none) for one in said if is_many(one.terms)]
    found = F.sort_array(F.array_distinct(F.array_compact(F.concat(*arrays))))
    lines = steps.put(LINES, key, found)
    told = F.transform(lines, lambda line: F.struct(*record_of(line).columns(F.lit(0))))
    return Record(
        F.when(F.size(lines) > 0, subject),
        F.array_join(lines, _END),
        F.size(lines),
        F.array_max(told.getField("typed")),
        F.array_max(told.getField("sensor")),
        F.array_max(told.getField("time")),
    )


def _found(said: Sequence[Said], predicate: str, value: Callable[[Column], Column]) -> Column:
    """What the objects of that predicate mean; null where there is none."""
    found = []
    for one in said:
        verb, term = one.terms[1:3]
        if verb.constant not in {None, predicate}:
            continue
        column = value(term.term)
        if verb.constant is None:
            column = F.when(verb.term == predicate, column)
        found.append(column if one.given is None else F.when(one.given, column))
    if not found:
        return F.lit(None)
    return F.greatest(*found) if len(found) > 1 else found[0]


def _iri(term: Column) -> Column:
    return F.when(term.startswith("<"), F.substring(term, F.lit(2), F.length(term) - 2))


def _moment(term: Column) -> Column:
    return F.when(term.startswith('"'), micros(F.substring_index(F.substring_index(term, '"', 2), '"', -1)))


def _pieces(made: Sequence[Made]) -> list[str | Column]:
    """The columns of a line; constants that stand side by side are one text."""
    pieces: list[str | Column] = [""]
    for one in made:
        piece = one.constant if one.constant is not None else one.term
        if isinstance(piece, str) and isinstance(pieces[-1], str):
            pieces[-1] += f"{piece} "
        elif isinstance(piece, str):
            pieces.append(f"{piece} ")
        else:
            pieces += [piece, " "]
    pieces = [*pieces[:-1], f"{pieces[-1]}."]
    return [piece for piece in pieces if not isinstance(piece, str) or piece]


def _combined(rest: list[Made], chosen: list[Made]) -> Column:
    if not rest:
        return F.array(as_line(chosen))
    first, *others = rest
    if not first.many:
        return _combined(others, [*chosen, first])
    return F.flatten(F.transform(first.term, lambda term: _combined(others, [*chosen, Made(term)])))
