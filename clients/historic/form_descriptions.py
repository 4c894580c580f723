"""What a form says of sensors, stations and other things: `[[description]]`, from the same rows or a file of its own.

[[description]]
sensor = { column = "id" }       # named as the observations' sensors are; or feature, property, procedure, thing
type = "sosa:Sensor"
label = "name"                   # a column, or { text = "Roof" }
latitude = "lat"                 # a column, or a number
longitude = "lon"
source = { path = "stations.csv" }
"""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from .form_names import GEO, NOTHING, RDF, RDFS, XSD
from .form_source import read_source
from .lexical import LANGUAGE_TAG
from .plan import Constant, Number, Reference, Rule, TermMap, TermType

if TYPE_CHECKING:
    from pathlib import Path

    from .form_names import Names
    from .form_table import Table
    from .plan import Expression, Source

_DESCRIBED = ("sensor", "feature", "property", "procedure", "thing")
_TEXTS = {"label": RDFS + "label", "comment": RDFS + "comment"}
_NUMBERS = {"latitude": GEO + "lat", "longitude": GEO + "long", "altitude": GEO + "alt"}


def read_descriptions(document: Table, names: Names, directory: Path) -> tuple[list[Source], list[Rule]]:
    """The sources that descriptions have of their own, and their rules; what is wrong is kept by the document."""
    sources: list[Source] = []
    rules: list[Rule] = []
    for table in document.tables("description"):
        of_row = names
        if "source" in table:
            source = read_source(table.table("source"), directory)
            if source.name == names.source.name:
                table.problem("source", f"{source.name} is the form's source: leave it out")
            elif source not in sources:
                sources.append(source)
            of_row = replace(names, source=source)
        rules += _description(table, of_row)
        table.end()
    if len({source.name for source in sources}) < len(sources):
        document.problem("description", "one path is described in two ways")
    return sources, rules


def _description(table: Table, names: Names) -> list[Rule]:
    described = [name for name in _DESCRIBED if name in table]
    if len(described) != 1:
        table.problem("", f"must describe one of {', '.join(_DESCRIBED)}, and {len(described)} stand there")
    for name in _DESCRIBED:
        table.value(name)
    name = described[0] if described else _DESCRIBED[0]
    subject = table.read(name, lambda: names.of(table, name), NOTHING).term
    rule = Rule(names.source.name, subject, _iri(RDF + "type"), subject)
    language = table.text("language")
    if language and not re.fullmatch(LANGUAGE_TAG, language):
        table.problem("language", f"{language!r} is no language tag (BCP 47)")
    types = [table.read("type", partial(names.iri, text), "") for text in table.texts("type")]
    found = [(RDF + "type", _iri(type_)) for type_ in types]
    found += [
        (iri, _text(table, key, names, language))
        for key, iri in _TEXTS.items()
        if table.value(key) is not None
    ]
    found += [
        (iri, _number(table, key, names)) for key, iri in _NUMBERS.items() if table.value(key) is not None
    ]
    more = table.table("properties")
    for key in more.names():
        found.append((more.read(key, partial(names.iri, key), ""), _text(more, key, names, "")))
    if not found:
        table.problem("", f"says nothing: there are type, {', '.join((*_TEXTS, *_NUMBERS))} and properties")
    return [replace(rule, predicate=_iri(iri), object=made) for iri, made in found]


def _text(table: Table, name: str, names: Names, language: str) -> TermMap:
    """A column, or `{ text = ".." }`, which is the same for each row."""
    expression: Expression = Constant("")
    value = table.value(name)
    if isinstance(value, dict):
        inner = table.table(name)
        expression = Constant(inner.text("text"))
        inner.required("text")
        inner.end()
    else:
        expression = table.read(name, partial(names.reference, table.text(name)), Reference(""))
    return TermMap(expression, TermType.LITERAL, language=Constant(language) if language else None)


def _number(table: Table, name: str, names: Names) -> TermMap:
    """A column, or a number, which is the same for each row."""
    value = table.value(name)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return TermMap(Constant(f"{Decimal(str(value)):f}"), TermType.LITERAL, datatype=XSD + "decimal")
    column = table.read(name, partial(names.reference, table.text(name)), Reference(""))
    return TermMap(column, TermType.LITERAL, datatype=XSD + "decimal", reading=Number())


def _iri(text: str) -> TermMap:
    return TermMap(Constant(text), TermType.IRI)
