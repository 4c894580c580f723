"""How the form for observations names things: IRIs that are constant, or come from a column, a template or a table.

    sensor = "sensor/roof"                                       # below the base
    property = "ex:airTemperature"                               # with a prefix, or whole
    sensor = { column = "station" }                              # base + sensor/ + the value, percent-encoded
    sensor = { template = "station/{town}/{number}" }
    sensor = { iri = "station_iri" }                             # the column has IRIs
    property = { column = "kind", names = { t = "ex:airTemperature", rh = "ex:humidity" } }

Each has a key, which stands for it in the IRIs of observations: the end of a constant's, or the values of the columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

from .json_paths import json_path
from .lexical import IRI
from .mapping_problems import Problem, near
from .plan import Constant, Expression, Lookup, Reference, Template, TermMap, TermType
from .templates import template
from .units import UNIT

if TYPE_CHECKING:
    from .form_table import Table
    from .plan import Source

SOSA = "http://www.w3.org/ns/sosa/"
QUDT = "http://qudt.org/schema/qudt/"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"
TIME = "http://www.w3.org/2006/time#"
GEO = "http://www.w3.org/2003/01/geo/wgs84_pos#"

PREFIXES = {
    "sosa": SOSA,
    "ssn": "http://www.w3.org/ns/ssn/",
    "qudt": QUDT,
    "quantitykind": "http://qudt.org/vocab/quantitykind/",
    "unit": UNIT,
    "time": TIME,
    "geo": GEO,
    "rdf": RDF,
    "rdfs": RDFS,
    "xsd": XSD,
    "prov": "http://www.w3.org/ns/prov#",
    "saref": "https://saref.etsi.org/core/",
}

Key: TypeAlias = tuple[str | Reference | Lookup, ...]


@dataclass(frozen=True, slots=True)
class Name:
    """What names something in each row, and what stands for it in IRIs."""

    expression: Expression
    key: Key

    @property
    def term(self) -> TermMap:
        """As a part of quads."""
        return TermMap(self.expression, TermType.IRI)


NOTHING = Name(Constant("urn:nothing"), ("nothing",))
"""Instead of what could not be read; the problem that says so stops it all."""


@dataclass(frozen=True, slots=True)
class Names:
    """Reads names, by a document's base and prefixes, for rows of one source."""

    base: str
    prefixes: dict[str, str]
    source: Source

    def iri(self, text: str) -> str:
        """An IRI that is whole, has a prefix, or stands below the base.

        Raises:
            Problem: its prefix is not known, or it is no IRI.
        """
        full = self._full(text)
        if not re.fullmatch(IRI, full):
            raise Problem(f"{full!r} is no IRI")
        return full

    def reference(self, name: str) -> Reference:
        """A column, or a path into JSON.

        Raises:
            Problem: it is no path, or one to several values, or it is empty.
        """
        if not name:
            raise Problem("a column's name is empty")
        path = json_path(name) if self.source.format in ("json", "jsonl") else ()
        if None in path:
            raise Problem(f"{name!r} names several values: let the source's iterator give a row for each")
        return Reference(name, path)

    def of(self, table: Table, name: str, known: dict[str, str] | None = None) -> Name:
        """What a key of the form names; `known` are names that need no table, as symbols of units.

        Raises:
            Problem: it is neither a text nor a table, or something in it is wrong.
        """
        value = table.required(name)
        if value is None:
            return NOTHING
        if isinstance(value, str):
            return self._constant(value, known)
        if not isinstance(value, dict):
            raise Problem(f"must be a text or a table, and is {value!r}")
        inner = table.table(name)
        found = self._from_row(inner, name, known)
        inner.end()
        return found

    def _constant(self, text: str, known: dict[str, str] | None) -> Name:
        if known is not None and text not in known and ":" not in text:
            raise Problem(f"{text!r} is not known{near(text, known)}: write its IRI, as unit:DEG_C")
        iri = known[text] if known is not None and text in known else self.iri(text)
        return Name(Constant(iri), (quote(re.split("[/#:]", iri.rstrip("/#:"))[-1], safe="-._~%"),))

    def _from_row(self, inner: Table, name: str, known: dict[str, str] | None) -> Name:
        ways = [way for way in ("column", "template", "iri") if inner.text(way)]
        names = inner.table("names")
        if len(ways) != 1:
            raise Problem("must have one of column, template and iri")
        text = inner.text(ways[0])
        if ways[0] == "template":
            return self._template(text)
        column = self.reference(text)
        if ways[0] == "iri":
            return Name(column, (column,))
        if "names" in inner or known is not None:
            table = dict(known or {})
            table |= {key: names.read(key, partial(self.iri, names.text(key)), "") for key in names.names()}
            return Name(Lookup(column, tuple(table.items())), (column,))
        return Name(Template((f"{self.base}{name}/", column)), (column,))

    def _template(self, text: str) -> Name:
        found = template(text, self.reference)
        if isinstance(found, Constant):
            raise Problem(f"{text!r} has no column in it: write it as a text")
        start = found.parts[0]
        parts = found.parts if isinstance(start, str) else ("", *found.parts)
        parts = (self._full(str(parts[0])), *parts[1:])
        key: list[str | Reference | Lookup] = []
        for part in parts:
            if not isinstance(part, str):
                key += ["/", part] if key else [part]
        return Name(Template(tuple(part for part in parts if part)), tuple(key))

    def _full(self, text: str) -> str:
        prefix, colon, local = text.partition(":")
        if not colon or "/" in prefix or "{" in prefix:
            return self.base + text
        if prefix in self.prefixes:
            return self.prefixes[prefix] + local
        if local.startswith("//") or prefix in ("urn", "tag", "mailto"):
            return text
        raise Problem(f"the prefix {prefix}: is not known{near(prefix, self.prefixes)}")
