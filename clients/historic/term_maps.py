"""Term maps as Spark's own expressions: what the plan says of one position of a quad becomes a column of terms in N-Quads.

A reference with `[*]` has many values; its terms are arrays, made within lambdas.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it
from pyspark.sql import types as T  # noqa: N812 - likewise

from .blank_nodes import genid
from .constants import absolute, constant_term, is_iri
from .iri_patterns import is_safe_start
from .numbers_read import XSD
from .plan import Constant, Encoding, Expression, Lookup, Reference, Template, TermMap, TermType
from .reasons import Reason
from .steps import TERM
from .terms import encoded, escaped, is_bad_iri, is_bad_language, resolved

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

    from .cells import Flag
    from .texts import Text, Texts


@dataclass(frozen=True, slots=True)
class Made:
    """A term, or with `many` an array of terms; `constant` where it is the same for each row; what breaks the row."""

    term: Column
    broken: tuple[Flag, ...] = ()
    many: bool = False
    constant: str | None = None


@dataclass(frozen=True)
class TermMaps:
    """Makes the terms of one source's rows."""

    texts: Texts
    base_iri: str

    def made(self, term: TermMap) -> Made:
        """What a term map makes of a row; asked again, the same."""
        return self.texts.once(("made", term), lambda: self._made(term))

    def _made(self, term: TermMap) -> Made:
        many = sorted(_many(term), key=str)
        if not many:
            constant = self._constant(term)
            if constant is not None:
                return Made(F.lit(constant), constant=constant)
            term_column, broken = self.one(term)
            term_column = self.texts.steps.put(TERM, ("term", term), term_column)
            return Made(term_column, broken)
        # One lambda for the terms and one for each reason: rare, and never the same work twice for other rows.
        terms = self.product(many, lambda maps: maps.one(term)[0])
        flags: dict[Reason, Column] = {}
        for reason in {reason for reason, _ in self._probe(many).one(term)[1]}:
            found = self.product(many, partial(_broken_by, term, reason))
            flags[reason] = F.exists(found, lambda flag: flag)
        return Made(F.array_compact(terms), tuple(flags.items()), many=True)

    def text(self, expression: Expression) -> tuple[Column, tuple[Flag, ...]]:
        """The text of an expression without percent-encoding: what joins compare."""
        found = self.texts.of(expression, Encoding.NONE)
        return found.text, found.broken

    def is_given(self, reference: Reference) -> Column:
        """Whether the row has a value there."""
        if None in reference.path:
            return F.size(self.texts.values(reference)) > 0
        value, type_, _ = self.texts.cell(reference)
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
            label = self.texts.of(term.expression, Encoding.NONE, term)
            name = encoded(label.text, Encoding.IRI)
            return F.concat(F.lit(f"<{genid(self.base_iri)}"), name, F.lit(">")), label.broken
        return self._iri(term.expression, term.encoding, term)

    def _iri(
        self, expression: Expression, encoding: Encoding, term: TermMap
    ) -> tuple[Column, tuple[Flag, ...]]:
        found = self.texts.of(expression, encoding, term if expression is term.expression else None)
        base = term.base or self.base_iri
        if encoding is not Encoding.NONE and is_safe_start(found.start):
            return F.concat(F.lit("<"), found.text, F.lit(">")), found.broken
        iri = resolved(found.text, base)
        bad = is_bad_iri(iri)
        flag = (Reason.BAD_IRI, F.coalesce(bad, F.lit(False)))
        return F.concat(F.lit("<"), iri, F.lit(">")), (*found.broken, flag)

    def _literal(self, term: TermMap) -> tuple[Column, tuple[Flag, ...]]:
        found = self.texts.of(term.expression, Encoding.NONE, term)
        own_form = isinstance(term.expression, Reference) and found.datatype is not None
        inside = found.text if own_form and isinstance(found.datatype, str) else escaped(found.text)
        quoted = F.concat(F.lit('"'), inside, F.lit('"'))
        there = found.text.isNotNull()
        if term.language is not None:
            tag = self.texts.of(term.language, Encoding.NONE)
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
        self, quoted: Column, term: TermMap, datatype: str, found: Text
    ) -> tuple[Column, tuple[Flag, ...]]:
        iri = absolute(datatype, term.base or self.base_iri)
        if not is_iri(iri):
            return quoted, (*found.broken, (Reason.BAD_IRI, found.text.isNotNull()))
        if iri == f"{XSD}string":
            return quoted, found.broken
        return F.concat(quoted, F.lit(f"^^<{iri}>")), found.broken

    def _with(self, reference: Reference, value: Column) -> TermMaps:
        return TermMaps(self.texts.binding(reference, value), self.base_iri)

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
            F.transform(self.texts.values(first), lambda value: self._with(first, value).product(rest, make))
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
