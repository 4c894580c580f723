"""A mapping carried out by Spark: all rules over one source in one pass, in Spark's own expressions.

Out come records (`records.py`), of good rows and of rejected ones.  Both go through the same shuffle, so that a row is read
once, whether or not it is broken.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name by which all know it

from .reasons import Reason
from .records import LINE, no_record, record_of, records_of, rejected_record
from .statements import Said, as_line, statements
from .table import BLOCK, FAULT, FILE, HEADER, PLACE, RAW
from .term_maps import Made, TermMaps
from .texts import Texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from .cells import Flag
    from .plan import Join, Mapping, Rule, TermMap
    from .records import Record
    from .table import Table

_OK: Final = "_ok"


@dataclass(frozen=True, slots=True)
class Rows:
    """One source's rows with what was made of them: `_ok` beside the table's columns; `reasons` of a row that is not ok.

    `said` is what a good row says of each subject; `loose` are arrays of whole lines, where a row has many subjects.
    """

    table: Table
    frame: DataFrame
    reasons: Column
    joins: tuple[Rule, ...]
    said: tuple[Record, ...]
    loose: tuple[Column, ...]


def carried_out(table: Table, mapping: Mapping) -> Rows:
    """The rules of one source on its rows.

    Raises:
        SourceError: a rule names a column that is not there.
    """
    maps = TermMaps(Texts(table), mapping.base_iri)
    rules = [rule for rule in mapping.rules if rule.source == table.source.name]
    said: dict[TermMap, list[Said]] = {}
    loose: list[Column] = []
    flags: dict[tuple[object, ...], Flag] = {}
    for rule in rules:
        made, broken = _parts(maps, rule)
        given = _given(maps, rule)
        for key, (reason, flag) in _flags(maps, rule, made, broken):
            if key not in flags:
                flags[key] = (reason, flag if given is None else given & flag)
        if rule.join is not None:
            continue
        one = Said(tuple(made), given)
        if made[0].many:
            loose.append(one.line())
        else:
            said.setdefault(rule.subject, []).append(one)
    ok, reasons = _judged(list(flags.values()))
    steps = maps.texts.steps
    told = tuple(statements(maps.made(subject).term, each, steps, subject) for subject, each in said.items())
    frame = steps.on(table.frame).withColumn(_OK, ok)
    joins = tuple(rule for rule in rules if rule.join is not None)
    return Rows(table, frame, reasons, joins, told, tuple(loose))


def records(rows: Rows) -> DataFrame:
    """Of good and of rejected rows, but for those of joins."""
    frame, ok = rows.frame, F.col(_OK)
    broken = rejected_record(rejected(rows.table.source.name, rows.reasons))
    # A header that is the first line of its file is no row; others are, and told to be broken.
    is_row = F.when(F.col(FAULT) == HEADER, 0).otherwise(1)
    if len(rows.said) == 1 and not rows.loose:
        return frame.select(*rows.said[0].when(ok).otherwise(broken).columns(is_row))
    first, *others = rows.said or [no_record()]
    said = [first.columns(F.lit(1)), *[one.columns(F.lit(0)) for one in others]]
    arrays = [F.array(*[F.struct(*columns) for columns in said])]
    for lines in rows.loose:
        given = F.coalesce(lines, F.array().cast("array<string>"))
        arrays.append(F.transform(given, lambda line: F.struct(*record_of(line).columns(F.lit(0)))))
    found = F.when(ok, F.concat(*arrays)).otherwise(F.array(F.struct(*broken.columns(is_row))))
    return frame.select(F.inline(found))


def rejected(source: str, reasons: Column) -> Column:
    """A row that makes no quads: a JSON object of where it stands, why, and its text."""
    return F.to_json(
        F.struct(F.lit(source).alias("source"), FILE, BLOCK, PLACE, reasons.alias("reasons"), RAW)
    )


def joined(rows: Rows, parents: dict[str, Table], base_iri: str) -> list[DataFrame]:
    """The quads of the rules with a join, each by a join of its own: good rows with the parent's rows."""
    return [
        _joined(rows, rule, rule.join, parents[rule.join.parent], base_iri)
        for rule in rows.joins
        if rule.join
    ]


def _parts(maps: TermMaps, rule: Rule) -> tuple[list[Made], list[Flag]]:
    """What the row itself has of a quad: with a join the object is the other row's."""
    terms = [rule.subject, rule.predicate]
    if rule.join is None:
        terms.append(rule.object)
    if rule.graph is not None:
        terms.append(rule.graph)
    made = [maps.made(term) for term in terms]
    return made, [flag for one in made for flag in one.broken]


def _given(maps: TermMaps, rule: Rule) -> Column | None:
    return maps.texts.once(
        ("given", rule.given), lambda: _all([maps.is_given(reference) for reference in rule.given])
    )


def _flags(
    maps: TermMaps, rule: Rule, made: Sequence[Made], broken: Sequence[Flag]
) -> list[tuple[tuple[object, ...], Flag]]:
    """What breaks a row by this rule, each with a key: rules share their columns, and so their flags."""
    found: list[tuple[tuple[object, ...], Flag]] = [
        ((rule.given, reason, id(flag)), (reason, flag)) for reason, flag in broken
    ]
    if rule.required and (parts := [one for one in made if one.constant is None]):
        key = ("missing", rule.given, *[id(one) for one in parts])
        missing = maps.texts.once(key, lambda: _is_missing(parts, broken))
        found.append((key, (Reason.MISSING_VALUE, missing)))
    return found


def _judged(flags: list[Flag]) -> tuple[Column, Column]:
    """Whether a row is good, and if not, all reasons why."""
    fault = F.col(FAULT)
    if not flags:
        return fault.isNull(), F.array(fault)
    told = F.array_compact(F.array(*[F.when(flag, reason.value) for reason, flag in flags]))
    reasons = F.when(fault.isNotNull(), F.array(fault)).otherwise(F.array_sort(F.array_distinct(told)))
    return fault.isNull() & ~_any([flag for _, flag in flags]), reasons


def _joined(rows: Rows, rule: Rule, join: Join, parent: Table, base_iri: str) -> DataFrame:
    """Keys and terms of the children, keys and objects of the parents, and where they agree a line."""
    own = TermMaps(Texts(rows.table), base_iri)
    terms, _ = _parts(own, rule)
    given = _given(own, rule)
    keys = [own.text(child)[0] for child, _ in join.on]
    wanted = [*[_array(one).alias(f"term{n}") for n, one in enumerate(terms)], *_named("key", keys)]
    # The steps are made once more: their names are those of the rows' own, for other terms.
    good = rows.frame.where(F.col(_OK)).select(*rows.table.frame.columns)
    children = own.texts.steps.on(good).where(F.lit(True) if given is None else given).select(*wanted)
    parents = _objects(TermMaps(Texts(parent), base_iri), rule, join)
    pairs = (
        children.join(parents, [f"key{n}" for n in range(len(keys))]) if keys else children.crossJoin(parents)
    )
    made = [Made(F.col(f"term{n}"), many=True) for n in range(len(terms))]
    made.insert(2, Made(F.col("object"), many=True))
    lines = pairs.select(F.explode(as_line(made)).alias(LINE)).where(F.col(LINE).isNotNull())
    return records_of(lines)


def _objects(others: TermMaps, rule: Rule, join: Join) -> DataFrame:
    """Keys and objects of the parent's rows; a broken subject is passed over."""
    made = others.made(rule.object)
    keys = _named("key", [others.text(key)[0] for _, key in join.on])
    sound = F.col(FAULT).isNull() & ~_any([flag for _, flag in made.broken])
    frame = others.texts.steps.on(others.texts.table.frame).where(sound)
    return frame.select(_array(made).alias("object"), *keys)


def _named(name: str, columns: list[Column]) -> list[Column]:
    return [column.alias(f"{name}{n}") for n, column in enumerate(columns)]


def _array(made: Made) -> Column:
    return made.term if made.many else F.array_compact(F.array(made.term))


def _is_missing(made: Sequence[Made], broken: Sequence[Flag]) -> Column:
    """Whether a part is null that nothing has broken."""
    missing = reduce(or_, [F.size(one.term) == 0 if one.many else one.term.isNull() for one in made])
    return missing & ~_any([flag for _, flag in broken])


def _any(flags: Sequence[Column]) -> Column:
    false = F.lit(False)
    return reduce(or_, [F.coalesce(flag, false) for flag in flags], false)


def _all(conditions: Sequence[Column]) -> Column | None:
    return reduce(and_, conditions) if conditions else None
