"""Term maps as Spark's own expressions: what the plan says of one position of a quad becomes a column of terms in N-Quads.

What several rules need (a subject, a number) is made once: each piece becomes a column of its own in one of a few steps, which
the `Steps` collect.  A reference with `[*]` has many values; its terms are arrays, made within lambdas.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it
from pyspark.sql import types as T  # noqa: N812 - likewise

from .blank_nodes import genid
from .cells import Flag, Read, read
from .constants import absolute, constant_term, is_iri
from .iri_patterns import is_safe_start
from .json_values import all_of, at_each
from .numbers_read import XSD
from .plan import Constant, Encoding, Expression, Lookup, Reference, Template, TermMap, TermType
from .reasons import Reason
from .terms import encoded, escaped, is_bad_iri, is_bad_language, resolved

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from pyspark.sql import DataFrame

    from .table import Table


# Each value takes five steps: the cell, what it is, its spelling, its digits, its text.  One that is joined takes five more behind them.
_JOINED: Final = 5
_ENCODED: Final = 10
_TERM: Final = 11


class Steps:
    """Columns that are made one step after the other; each may use those of the steps before."""

    def __init__(self) -> None:
        self._steps: list[dict[Hashable, tuple[str, Column]]] = [{} for _ in range(_TERM + 1)]

    def put(self, step: int, key: Hashable, column: Column) -> Column:
        """The column of that key, which is this one if there is none yet."""
        known = self._steps[step]
        if key not in known:
            known[key] = (f"_{step}_{len(known)}", column)
        return F.col(known[key][0])

    def on(self, frame: DataFrame) -> DataFrame:
        """The frame with all columns; Spark leaves out those that nothing uses."""
        for step in self._steps:
            if step:
                frame = frame.select("*", *[column.alias(name) for name, column in step.values()])
        return frame


@dataclass(frozen=True, slots=True)
class Made:
    """A term, or with `many` an array of terms; `constant` where it is the same for each row; what breaks the row."""

    term: Column
    broken: tuple[Flag, ...] = ()
    many: bool = False
    constant: str | None = None


@dataclass(frozen=True, slots=True)
class _Text:
    """An expression's text; `start` is what it surely begins with."""

    text: Column
    broken: tuple[Flag, ...] = ()
    datatype: str | Column | None = None
    start: str = ""


@dataclass(frozen=True)
class TermMaps:
    """Makes the terms of one source's rows."""

    table: Table
    base_iri: str
    steps: Steps = field(default_factory=Steps)
    bound: Mapping[Reference, Column] = field(default_factory=dict)

    def made(self, term: TermMap) -> Made:
        """What a term map makes of a row."""
        many = sorted(_many(term), key=str)
        if not many:
            term_column, broken = self.one(term)
            constant = self._constant(term)
            if constant is None:
                term_column = self.steps.put(_TERM, ("term", term), term_column)
            return Made(term_column, broken, constant=constant)
        # One lambda for the terms and one for each reason: rare, and never the same work twice for other rows.
        terms = self.product(many, lambda maps: maps.one(term)[0])
        flags: dict[Reason, Column] = {}
        for reason in {reason for reason, _ in self._probe(many).one(term)[1]}:
            found = self.product(many, partial(_broken_by, term, reason))
            flags[reason] = F.exists(found, lambda flag: flag)
        return Made(F.array_compact(terms), tuple(flags.items()), many=True)

    def text(self, expression: Expression) -> tuple[Column, tuple[Flag, ...]]:
        """The text of an expression without percent-encoding: what joins compare."""
        found = self._text(expression, Encoding.NONE)
        return found.text, found.broken

    def is_given(self, reference: Reference) -> Column:
        """Whether the row has a value there."""
        if None in reference.path:
            return F.size(self._values(reference)) > 0
        value, type_, _ = self._cell(reference)
        there = value.isNotNull()
        return there & ~F.is_variant_null(value) if isinstance(type_, T.VariantType) else there

    def _constant(self, term: TermMap) -> str | None:
        """The term of a constant, by the same rules; None where it is none, or is broken."""
        if not isinstance(term.expression, Constant) or not isinstance(term.datatype, str | None):
            return None
        if term.language is not None and not isinstance(term.language, Constant):
            return None
        return constant_term(term, self.base_iri)

    def one(self, term: TermMap) -> tuple[Column, tuple[Flag, ...]]:
        """The term for one value of each reference, and what breaks it."""
        if term.type is TermType.LITERAL:
            return self._literal(term)
        if term.type is TermType.BLANK:
            label = self._text(term.expression, Encoding.NONE, term)
            name = encoded(label.text, Encoding.IRI)
            return F.concat(F.lit(f"<{genid(self.base_iri)}"), name, F.lit(">")), label.broken
        return self._iri(term.expression, term.encoding, term)

    def _iri(
        self, expression: Expression, encoding: Encoding, term: TermMap
    ) -> tuple[Column, tuple[Flag, ...]]:
        found = self._text(expression, encoding, term if expression is term.expression else None)
        base = term.base or self.base_iri
        if encoding is not Encoding.NONE and is_safe_start(found.start):
            return F.concat(F.lit("<"), found.text, F.lit(">")), found.broken
        iri = resolved(found.text, base)
        bad = is_bad_iri(iri)
        flag = (Reason.BAD_IRI, F.coalesce(bad, F.lit(False)))
        return F.concat(F.lit("<"), iri, F.lit(">")), (*found.broken, flag)

    def _literal(self, term: TermMap) -> tuple[Column, tuple[Flag, ...]]:
        found = self._text(term.expression, Encoding.NONE, term)
        own_form = isinstance(term.expression, Reference) and found.datatype is not None
        inside = found.text if own_form and isinstance(found.datatype, str) else escaped(found.text)
        quoted = F.concat(F.lit('"'), inside, F.lit('"'))
        there = found.text.isNotNull()
        if term.language is not None:
            tag = self._text(term.language, Encoding.NONE)
            flags = [(reason, there & flag) for reason, flag in tag.broken]
            bad = F.coalesce(there & is_bad_language(tag.text), F.lit(False))
            return F.concat(quoted, F.lit("@"), tag.text), (
                *found.broken,
                *flags,
                (Reason.BAD_LANGUAGE_TAG, bad),
            )
        if isinstance(term.datatype, str):
            return self._typed(quoted, term, term.datatype, found)
        if term.datatype is not None:
            datatype, broken = self._iri(term.datatype, Encoding.IRI, term)
            flags = [(reason, there & flag) for reason, flag in broken]
            plain = datatype == f"<{XSD}string>"
            return (
                F.when(plain, quoted).otherwise(F.concat(quoted, F.lit("^^"), datatype)),
                (*found.broken, *flags),
            )
        if found.datatype is None:
            return quoted, found.broken
        if isinstance(found.datatype, str):
            return F.concat(quoted, F.lit(f"^^<{found.datatype}>")), found.broken
        suffix = F.coalesce(F.concat(F.lit("^^<"), found.datatype, F.lit(">")), F.lit(""))
        return F.concat(quoted, suffix), found.broken

    def _typed(
        self, quoted: Column, term: TermMap, datatype: str, found: _Text
    ) -> tuple[Column, tuple[Flag, ...]]:
        iri = absolute(datatype, term.base or self.base_iri)
        if not is_iri(iri):
            return quoted, (*found.broken, (Reason.BAD_IRI, found.text.isNotNull()))
        if iri == f"{XSD}string":
            return quoted, found.broken
        return F.concat(quoted, F.lit(f"^^<{iri}>")), found.broken

    def _text(self, expression: Expression, encoding: Encoding, term: TermMap | None = None) -> _Text:
        if isinstance(expression, Constant):
            return _Text(F.lit(expression.value), start=expression.value)
        if isinstance(expression, Lookup):
            return self._looked_up(expression)
        if isinstance(expression, Template):
            return self._filled(expression, encoding)
        reading = (term.reading if term is not None else None) or expression.reading
        datatype = term.datatype if term is not None and isinstance(term.datatype, str) else None
        found = self._read(expression, reading, datatype)
        return _Text(found.text, found.broken, found.datatype)

    def _filled(self, template: Template, encoding: Encoding) -> _Text:
        pieces: list[Column] = []
        broken: list[Flag] = []
        for part in template.parts:
            if isinstance(part, str):
                pieces.append(F.lit(part))
                continue
            found = self._text(part, Encoding.NONE)
            pieces.append(self._encoded(part, found.text, encoding))
            broken += found.broken
        start = template.parts[0] if template.parts and isinstance(template.parts[0], str) else ""
        return _Text(F.concat(*pieces) if pieces else F.lit(""), tuple(broken), start=start)

    def _encoded(self, part: Reference | Lookup, text: Column, encoding: Encoding) -> Column:
        if encoding is Encoding.NONE:
            return text
        if self._is_bound(part):
            return encoded(text, encoding)
        return self.steps.put(_ENCODED, ("encoded", part, encoding), encoded(text, encoding))

    def _looked_up(self, lookup: Lookup) -> _Text:
        found = self._text(lookup.of, Encoding.NONE)
        table = F.create_map(*[F.lit(text) for pair in lookup.table for text in pair])
        text = F.try_element_at(table, found.text)
        flag = (Reason.UNKNOWN_NAME, found.text.isNotNull() & text.isNull())
        return _Text(text, (*found.broken, flag))

    def _read(self, reference: Reference, reading: Any, datatype: str | None) -> Read:
        if reference in self.bound:
            return read(self.bound[reference], T.VariantType(), reading, datatype)
        value, type_, broken = self._cell(reference)
        place = (reference.name, reference.path, reference.joined)
        # What is joined comes out of the last step of its parts.
        later = _JOINED if reference.joined else 0
        value = self.steps.put(later, ("cell", *place), value)

        def keep(step: int, name: str, column: Column) -> Column:
            return self.steps.put(step + later, (name, *place), column)

        made = read(value, type_, reading, datatype, keep)
        key = (*place, reading, datatype)
        text = self.steps.put(4 + later, ("text", *key), made.text)
        own = made.datatype
        if isinstance(own, Column):
            own = self.steps.put(4 + later, ("datatype", *key), own)
        flags = [(reason, self.steps.put(4 + later, (reason, *key), flag)) for reason, flag in made.broken]
        return Read(text, own, (*broken, *flags))

    def _cell(self, reference: Reference) -> tuple[Column, T.DataType, tuple[Flag, ...]]:
        """What a reference names; of one that is joined the texts of its parts."""
        if not reference.joined:
            return (*self.table.cell(reference), ())
        pieces: list[Column] = []
        broken: list[Flag] = []
        for part in reference.joined:
            found = _Text(F.lit(part)) if isinstance(part, str) else self._text(part, Encoding.NONE)
            pieces.append(found.text)
            broken += found.broken
        return F.concat(*pieces), T.StringType(), tuple(broken)

    def _is_bound(self, part: Reference | Lookup) -> bool:
        return (part.of if isinstance(part, Lookup) else part) in self.bound

    def _values(self, reference: Reference) -> Column:
        """All values of a reference with `[*]`, without nulls."""
        cell, type_ = self.table.cell(reference)
        if not isinstance(type_, T.VariantType):
            cell = F.to_variant_object(cell)
        values = F.array(cell)
        rest = reference.path[reference.path.index(None) :]
        for step in rest:
            values = all_of(values) if step is None else at_each(values, step)
        return F.filter(values, lambda value: value.isNotNull() & ~F.is_variant_null(value))

    def _with(self, reference: Reference, value: Column) -> TermMaps:
        return TermMaps(self.table, self.base_iri, self.steps, {**self.bound, reference: value})

    def _probe(self, many: list[Reference]) -> TermMaps:
        """Something to ask for reasons: the values are never looked at."""
        maps = self
        for reference in many:
            maps = maps._with(reference, F.lit(None))
        return maps

    def product(self, many: list[Reference], make: Callable[[TermMaps], Column]) -> Column:
        """What is made for each combination of the values of such references, as an array."""
        if not many:
            return F.array(make(self))
        first, *rest = many
        return F.flatten(
            F.transform(self._values(first), lambda value: self._with(first, value).product(rest, make))
        )


def _broken_by(term: TermMap, reason: Reason, maps: TermMaps) -> Column:
    return _any(maps.one(term)[1], reason)


def _any(flags: tuple[Flag, ...], reason: Reason) -> Column:
    found = F.lit(False)
    for name, flag in flags:
        if name is reason:
            found = found | F.coalesce(flag, F.lit(False))
    return found


def _many(term: TermMap) -> set[Reference]:
    """The references with `[*]` in a term map."""
    found: set[Reference] = set()
    for expression in (term.expression, term.language, term.datatype):
        if isinstance(expression, Template):
            parts = [part for part in expression.parts if not isinstance(part, str)]
        elif isinstance(expression, Reference | Lookup):
            parts = [expression]
        else:
            parts = []
        references = [part.of if isinstance(part, Lookup) else part for part in parts]
        found |= {reference for reference in references if None in reference.path}
    return found
