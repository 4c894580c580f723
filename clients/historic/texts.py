"""The texts of expressions as Spark's own: what a constant, a reference, a template or a lookup gives for a row.

A reference with `[*]` has many values: within a lambda it is `bound` to one of them, and no column can be made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it
from pyspark.sql import types as T  # noqa: N812 - likewise

from .cells import Flag, Read, read
from .json_values import all_of, at_each
from .plan import Constant, Encoding, Expression, Lookup, Moment, Number, Reference, Template, TermMap
from .reasons import Reason
from .steps import ENCODED, JOINED, TEXT, Steps
from .terms import encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from .table import Table


Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class Text:
    """An expression's text; `start` is what it surely begins with."""

    text: Column
    broken: tuple[Flag, ...] = ()
    datatype: str | Column | None = None
    start: str = ""


@dataclass(frozen=True)
class Texts:
    """Makes the texts of one source's rows.  What it made it knows: each piece of an expression is a call to Java."""

    table: Table
    steps: Steps = field(default_factory=Steps)
    bound: Mapping[Reference, Column] = field(default_factory=dict)
    known: dict[Hashable, Any] = field(default_factory=dict)

    def of(self, expression: Expression, encoding: Encoding, term: TermMap | None = None) -> Text:
        """The text of an expression; `term` is the map whose own it is, for the reading and the datatype."""
        if isinstance(expression, Constant):
            return Text(F.lit(expression.value), start=expression.value)
        if isinstance(expression, Lookup):
            return self.once(("lookup", expression), lambda: self._looked_up(expression))
        if isinstance(expression, Template):
            return self.once(("template", expression, encoding), lambda: self._filled(expression, encoding))
        reading = (term.reading if term is not None else None) or expression.reading
        datatype = term.datatype if term is not None and isinstance(term.datatype, str) else None
        found = self._read(expression, reading, datatype)
        return Text(found.text, found.broken, found.datatype)

    def once(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """What is known by that key; made where nothing is yet."""
        if key not in self.known:
            self.known[key] = make()
        found: Kept = self.known[key]
        return found

    def cell(self, reference: Reference) -> tuple[Column, T.DataType, tuple[Flag, ...]]:
        """What a reference names; of one that is joined the texts of its parts."""
        if not reference.joined:
            return (*self.table.cell(reference), ())
        pieces: list[Column] = []
        broken: list[Flag] = []
        for part in reference.joined:
            found = Text(F.lit(part)) if isinstance(part, str) else self.of(part, Encoding.NONE)
            pieces.append(found.text)
            broken += found.broken
        return F.concat(*pieces), T.StringType(), tuple(broken)

    def values(self, reference: Reference) -> Column:
        """All values of a reference with `[*]`, without nulls."""
        cell, type_ = self.table.cell(reference)
        if not isinstance(type_, T.VariantType):
            cell = F.to_variant_object(cell)
        values = F.array(cell)
        rest = reference.path[reference.path.index(None) :]
        for step in rest:
            values = all_of(values) if step is None else at_each(values, step)
        return F.filter(values, lambda value: value.isNotNull() & ~F.is_variant_null(value))

    def binding(self, reference: Reference, value: Column) -> Texts:
        """The same where the reference is this one value; what is made of that stands nowhere else."""
        return Texts(self.table, self.steps, {**self.bound, reference: value})

    def _filled(self, template: Template, encoding: Encoding) -> Text:
        pieces: list[Column] = []
        broken: list[Flag] = []
        for part in template.parts:
            if isinstance(part, str):
                pieces.append(F.lit(part))
                continue
            found = self.of(part, Encoding.NONE)
            pieces.append(self._encoded(part, found.text, encoding))
            broken += found.broken
        start = template.parts[0] if template.parts and isinstance(template.parts[0], str) else ""
        return Text(F.concat(*pieces) if pieces else F.lit(""), tuple(broken), start=start)

    def _encoded(self, part: Reference | Lookup, text: Column, encoding: Encoding) -> Column:
        reading = part.reading if isinstance(part, Reference) else None
        if encoding is Encoding.NONE or isinstance(reading, Number):
            return text  # a number's canonical form needs nothing
        if isinstance(reading, Moment):
            return F.replace(text, F.lit(":"), F.lit("%3A"))  # and a moment's no more than this
        if self._is_bound(part):
            return encoded(text, encoding)
        key = ("encoded", part, encoding)
        return self.once(key, lambda: self.steps.put(ENCODED, key, encoded(text, encoding)))

    def _looked_up(self, lookup: Lookup) -> Text:
        found = self.of(lookup.of, Encoding.NONE)
        table = F.create_map(*[F.lit(text) for pair in lookup.table for text in pair])
        text = F.try_element_at(table, found.text)
        flag = (Reason.UNKNOWN_NAME, found.text.isNotNull() & text.isNull())
        return Text(text, (*found.broken, flag))

    def _read(self, reference: Reference, reading: Any, datatype: str | None) -> Read:
        if reference in self.bound:
            return read(self.bound[reference], T.VariantType(), reading, datatype)
        place = (reference.name, reference.path, reference.joined)
        key = (*place, reading, datatype)
        return self.once(("read", *key), lambda: self._columns(reference, reading, datatype))

    def _columns(self, reference: Reference, reading: Any, datatype: str | None) -> Read:
        """A value read, with columns of its own for all that is used often."""
        value, type_, broken = self.cell(reference)
        place = (reference.name, reference.path, reference.joined)
        key = (*place, reading, datatype)
        # What is joined comes out of the last step of its parts.
        later = JOINED if reference.joined else 0
        value = self.steps.put(later, ("cell", *place), value)

        def keep(step: int, name: str, column: Column) -> Column:
            return self.steps.put(step + later, (name, *place), column)

        made = read(value, type_, reading, datatype, keep)
        text = self.steps.put(TEXT + later, ("text", *key), made.text)
        own = made.datatype
        if isinstance(own, Column):
            own = self.steps.put(TEXT + later, ("datatype", *key), own)
        flags = [(reason, self.steps.put(TEXT + later, (reason, *key), flag)) for reason, flag in made.broken]
        return Read(text, own, (*broken, *flags))

    def _is_bound(self, part: Reference | Lookup) -> bool:
        return (part.of if isinstance(part, Lookup) else part) in self.bound
