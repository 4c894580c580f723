"""The rules of a form's observations: what each value column becomes in SOSA, QUDT and OWL-Time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from .form_names import NOTHING, QUDT, RDF, SOSA, TIME, XSD, Name
from .form_readings import read_moment, read_value
from .mapping_problems import Problem
from .plan import Constant, Lookup, Moment, Reference, Rule, Template, TermMap, TermType
from .templates import template
from .units import SYMBOLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .form_names import Key, Names
    from .form_table import Table

_GAPS = ("skip", "reject")


@dataclass(frozen=True, slots=True)
class _Common:
    """What a form's observations share, where they don't say it themselves."""

    names: Names
    graph: TermMap | None
    time: Reference
    moment: Moment
    has_phenomenon_time: bool


def read_all(document: Table, names: Names) -> list[Rule]:
    """The rules of all `[[observation]]`s; what is wrong is kept by the document."""
    time = document.table("time")
    common = _Common(
        names,
        _name(document, "graph", names).term if "graph" in document else None,
        time.read("column", lambda: _when(time, names), Reference("")),
        read_moment(time),
        time.flag("phenomenon", default=False),
    )
    time.end()
    listed = document.tables("observation")
    if not listed:
        document.problem("observation", "is missing: each value column has one, [[observation]]")
    rules: list[Rule] = []
    seen: dict[Key, str] = {}
    for table in listed:
        made, key = _observation(table, document, common)
        if key in seen:
            table.problem("property", f"gives the IRIs that {seen[key]} gives: set `name` in one of the two")
        seen.setdefault(key, table.path)
        rules += made
        table.end()
    # They may stand in the document for observations that all have their own.
    for name in ("sensor", "feature", "procedure", "gaps"):
        document.value(name)
    return rules


def _when(time: Table, names: Names) -> Reference:
    """The moment's column, or several: `template = "{day} {hour}"`."""
    column, text = time.text("column"), time.text("template")
    if bool(column) == bool(text):
        raise Problem("there must be a column, or a template of several")
    if column:
        return names.reference(column)
    found = template(text, names.reference)
    if isinstance(found, Constant):
        raise Problem(f"the template {text!r} has no column in it")
    return Reference(text, joined=tuple(part for part in found.parts if not isinstance(part, Lookup)))


def _observation(table: Table, document: Table, common: _Common) -> tuple[list[Rule], Key]:
    names = common.names
    sensor = _name(table if "sensor" in table or "sensor" not in document else document, "sensor", names)
    property_ = _name(table, "property", names)
    feature = _optional(table, document, "feature", names)
    procedure = _optional(table, document, "procedure", names)
    text = table.required("value")
    value = table.read("value", lambda: names.reference(str(text)), Reference(""))
    datatype, reading = read_value(table)
    gaps_at = table if "gaps" in table else document
    is_required = gaps_at.choice("gaps", _GAPS, "skip") == "reject"
    key = (*sensor.key, "/", *_own_key(table, property_), *_feature_key(feature, sensor))
    unit = _unit(table, names) if "unit" in table else None
    subject = _below(names.base, "observation/", key, common)
    result = TermMap(value, TermType.LITERAL, datatype=datatype, reading=reading)
    about = {"madeBySensor": sensor, "observedProperty": property_, "hasFeatureOfInterest": feature}
    rule = Rule(names.source.name, subject, _iri(RDF + "type"), _iri(SOSA + "Observation"), common.graph)
    rules = [
        rule,
        *(
            replace(rule, predicate=_iri(SOSA + word), object=found.term, required=word == "madeBySensor")
            for word, found in (about | {"usedProcedure": procedure}).items()
            if found is not None
        ),
        replace(rule, predicate=_iri(SOSA + "resultTime"), object=_moment(common, "dateTime"), required=True),
        replace(rule, predicate=_iri(SOSA + "hasSimpleResult"), object=result, required=is_required),
        *_quantity(rule, result, unit, common, key),
        *(_phenomenon(rule, common) if common.has_phenomenon_time else ()),
    ]
    given = () if is_required else (value,)
    return [replace(found, given=given) for found in rules], key


def _own_key(table: Table, property_: Name) -> Key:
    name = table.text("name")
    return (quote(name, safe="-._~"),) if name else property_.key


def _feature_key(feature: Name | None, sensor: Name) -> Key:
    """One sensor may look at several things at once: those of the row are part of the observation's IRI."""
    is_of_row = feature is not None and not isinstance(feature.expression, Constant)
    return ("/", *feature.key) if feature is not None and is_of_row and feature.key != sensor.key else ()


def _quantity(rule: Rule, result: TermMap, unit: Name | None, common: _Common, key: Key) -> Iterator[Rule]:
    """The value with its unit (QUDT); the simple result is there as well, for queries."""
    if unit is None:
        return
    node = _below(common.names.base, "result/", key, common)
    yield replace(rule, predicate=_iri(SOSA + "hasResult"), object=node)
    rule = replace(rule, subject=node)
    yield replace(rule, object=_iri(QUDT + "QuantityValue"))
    yield replace(rule, predicate=_iri(QUDT + "numericValue"), object=result)
    yield replace(rule, predicate=_iri(QUDT + "unit"), object=unit.term, required=True)


def _phenomenon(rule: Rule, common: _Common) -> Iterator[Rule]:
    """When the result applies, as an instant of OWL-Time; each has one IRI."""
    instant = _below(common.names.base, "time", (), common)
    yield replace(rule, predicate=_iri(SOSA + "phenomenonTime"), object=instant)
    rule = replace(rule, subject=instant)
    yield replace(rule, object=_iri(TIME + "Instant"))
    yield replace(rule, predicate=_iri(TIME + "inXSDDateTimeStamp"), object=_moment(common, "dateTimeStamp"))


def _below(base: str, kind: str, key: Key, common: _Common) -> TermMap:
    """An IRI of the base, a key and the moment, which is written in UTC so that it has one spelling."""
    parts: list[str | Reference | Lookup] = []
    for part in (f"{base}{kind}", *key, "/", replace(common.time, reading=common.moment)):
        if isinstance(part, str) and parts and isinstance(parts[-1], str):
            parts[-1] += part
        else:
            parts.append(part)
    return TermMap(Template(tuple(parts)), TermType.IRI)


def _moment(common: _Common, datatype: str) -> TermMap:
    return TermMap(common.time, TermType.LITERAL, datatype=XSD + datatype, reading=common.moment)


def _unit(table: Table, names: Names) -> Name | None:
    if table.text("datatype", "double") in ("boolean", "string"):
        table.problem("unit", f"a {table.text('datatype')} has no unit")
    return table.read("unit", lambda: names.of(table, "unit", SYMBOLS), NOTHING)


def _optional(table: Table, document: Table, name: str, names: Names) -> Name | None:
    for place in (table, document):
        if name in place:
            return _name(place, name, names)
        place.value(name)
    return None


def _name(table: Table, name: str, names: Names) -> Name:
    return table.read(name, lambda: names.of(table, name), NOTHING)


def _iri(text: str) -> TermMap:
    return TermMap(Constant(text), TermType.IRI)
