"""A mapping carried out in plain Python, row by row: what Spark must agree with.

    lines, broken = plain_mapping(rows, mapping)             # one source: broken are (row number from 0, reason)
    lines, broken = plain_mapping_of({name: rows}, mapping)  # several: broken are (source's name, row number, reason)

Rows are dicts of str, int, float, bool, None, and for JSON of dicts and lists.  It is made to be read and not to be fast, and shares
with the engine only the plan and the words for reasons: IRIs are judged by Oxigraph, times by Python.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyoxigraph import NamedNode

from triplewire.clients.historic.blank_nodes import genid
from triplewire.clients.historic.errors import SourceError
from triplewire.clients.historic.plan import Constant, Encoding, Lookup, Number, Reference, Template, TermType
from triplewire.clients.historic.reasons import Reason

from .plain_moments import moment
from .plain_terms import XSD, Broken, encoded, escaped, natural, number

if TYPE_CHECKING:
    from triplewire.clients.historic import plan

Row = Mapping[str, Any]
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*|[xXiI](-[A-Za-z0-9]{1,8})+")


def plain_mapping(rows: Sequence[Row], mapping: plan.Mapping) -> tuple[set[str], list[tuple[int, Reason]]]:
    """The lines of N-Quads (without line ends) and the broken rows of a mapping with one source."""
    (source,) = mapping.sources
    lines, broken = plain_mapping_of({source.name: rows}, mapping)
    return lines, [(row, reason) for _, row, reason in broken]


def plain_mapping_of(
    rows: Mapping[str, Sequence[Row]], mapping: plan.Mapping
) -> tuple[set[str], list[tuple[str, int, Reason]]]:
    """The same for any number of sources; a broken row stands there once for each of its reasons."""
    lines: set[str] = set()
    broken: list[tuple[str, int, Reason]] = []
    for source in mapping.sources:
        rules = [rule for rule in mapping.rules if rule.source == source.name]
        for position, row in enumerate(rows[source.name]):
            evaluation = _Row(row, rows, mapping, set())
            made = {line for rule in rules for line in evaluation.lines(rule)}
            if evaluation.reasons:
                broken += [(source.name, position, reason) for reason in sorted(evaluation.reasons)]
            else:
                lines |= made
    return lines, broken


@dataclass
class _Row:
    row: Row
    rows: Mapping[str, Sequence[Row]]
    mapping: plan.Mapping
    reasons: set[Reason]

    def lines(self, rule: plan.Rule) -> list[str]:
        """The quads that a rule makes of this row."""
        if any(not self.values(given) for given in rule.given):
            return []
        before, self.reasons = (
            self.reasons,
            set(),
        )  # what is missing is told unless this rule itself is broken
        parts = [self.terms(rule.subject), self.terms(rule.predicate), self.objects(rule)]
        if rule.graph is not None:
            parts.append(self.terms(rule.graph))
        if rule.required and not all(parts) and not self.reasons:
            self.reasons.add(Reason.MISSING_VALUE)
        self.reasons |= before
        return [f"{' '.join(quad)} ." for quad in itertools.product(*parts)]

    def objects(self, rule: plan.Rule) -> list[str]:
        if rule.join is None:
            return self.terms(rule.object)
        found: list[str] = []
        sides = [(self.texts(child), parent) for child, parent in rule.join.on]
        for row in self.rows[rule.join.parent]:
            other = _Row(row, self.rows, self.mapping, set())
            if all(set(texts) & set(other.texts(parent)) for texts, parent in sides):
                made = other.terms(rule.object)
                found += made if not other.reasons else []
        return found

    def terms(self, term: plan.TermMap) -> list[str]:
        """The terms in N-Quads that a term map makes; none where something is null or broken."""
        found = []
        for text, datatype in self.typed(term):
            try:
                found += self.written(term, text, datatype)
            except Broken as broken:
                self.reasons.add(broken.args[0])
        return found

    def written(self, term: plan.TermMap, text: str, datatype: str | None) -> Iterator[str]:
        if term.type is TermType.IRI:
            yield f"<{self.iri(text, term.base)}>"
        elif term.type is TermType.BLANK:
            yield f"<{genid(self.mapping.base_iri)}{encoded(text, Encoding.IRI)}>"
        elif term.language is not None:
            for tag in self.texts(term.language):
                if not _TAG.fullmatch(tag):
                    raise Broken(Reason.BAD_LANGUAGE_TAG)
                yield f'"{escaped(text)}"@{tag}'
        else:
            datatypes = [datatype]
            if term.datatype is not None:
                expression = Constant(term.datatype) if isinstance(term.datatype, str) else term.datatype
                datatypes = [self.iri(found, term.base) for found in self.texts(expression, Encoding.IRI)]
            for iri in datatypes:
                yield f'"{escaped(text)}"' + ("" if iri in (None, f"{XSD}string") else f"^^<{iri}>")

    def iri(self, text: str, base: str | None) -> str:
        full = text if _SCHEME.match(text) else (base or self.mapping.base_iri) + text
        try:
            return NamedNode(full).value
        except ValueError:
            raise Broken(Reason.BAD_IRI) from None

    def typed(self, term: plan.TermMap) -> list[tuple[str, str | None]]:
        """The texts of a term map's expression, with the datatypes that the source or a reading gives them."""
        if not isinstance(term.expression, Reference):
            encoding = term.encoding if term.type is TermType.IRI else Encoding.NONE
            return [(text, None) for text in self.texts(term.expression, encoding)]
        datatype = term.datatype if isinstance(term.datatype, str) else None
        return self.read(term.expression, term.reading or term.expression.reading, datatype)

    def texts(self, expression: plan.Expression, encoding: Encoding = Encoding.NONE) -> list[str]:
        """The texts of an expression: one for each combination of the values in it."""
        if isinstance(expression, Constant):
            return [expression.value]
        if isinstance(expression, Reference):
            return [text for text, _ in self.read(expression, expression.reading, None)]
        if isinstance(expression, Lookup):
            table = dict(expression.table)
            names = self.texts(expression.of)
            if any(name not in table for name in names):
                self.reasons.add(Reason.UNKNOWN_NAME)
            return [table[name] for name in names if name in table]
        parts = [
            [part] if isinstance(part, str) else [encoded(text, encoding) for text in self.texts(part)]
            for part in expression.parts
        ]
        return ["".join(chosen) for chosen in itertools.product(*parts)]

    def read(
        self, reference: Reference, reading: plan.Reading | None, datatype: str | None
    ) -> list[tuple[str, str | None]]:
        found: list[tuple[str, str | None]] = []
        for value in self.values(reference):
            try:
                if reading is None:
                    found.append(natural(value))
                elif isinstance(reading, Number):
                    found.append(number(value, reading, datatype))
                else:
                    found.append((moment(value, reading), datatype or f"{XSD}dateTime"))
            except Broken as broken:
                self.reasons.add(broken.args[0])
        return found

    def values(self, reference: Reference) -> list[Any]:
        """What a reference names, without nulls."""
        if reference.joined:
            parts = [[part] if isinstance(part, str) else self.texts(part) for part in reference.joined]
            return ["".join(chosen) for chosen in itertools.product(*parts)]
        if not reference.path:
            if reference.name not in self.row:
                raise SourceError(f"there is no column {reference.name!r}")
            value = self.row[reference.name]
            return [] if value is None else [value]
        values: list[Any] = [self.row]
        for step in reference.path:
            values = [found for value in values for found in _step(value, step)]
        return [value for value in values if value is not None]


def _step(value: Any, step: str | int | None) -> list[Any]:
    if step is None:
        return value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
    if isinstance(step, int):
        return value[step : step + 1] if isinstance(value, list) else []
    return [value[step]] if isinstance(value, dict) and step in value else []


__all__ = ["Template", "plain_mapping", "plain_mapping_of"]
