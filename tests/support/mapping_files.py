"""Mappings written into files, and what they make of rows in plain Python."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

from triplewire.clients.historic.mappings import read_mapping

if TYPE_CHECKING:
    from pathlib import Path

    from triplewire.clients.historic.plan import Mapping

PREFIXES = """
@prefix rml: <http://w3id.org/rml/> .
@prefix old: <http://semweb.mmlab.be/ns/rml#> .
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix csvw: <http://www.w3.org/ns/csvw#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix ex: <http://example.com/> .
"""

CSV = 'rml:logicalSource [ rml:source "a.csv" ; rml:referenceFormulation rml:CSV ]'
JSON = (
    'rml:logicalSource [ rml:source "a.json" ; rml:referenceFormulation rml:JSONPath ; rml:iterator "$[*]" ]'
)


def rml(directory: Path, text: str) -> Mapping:
    """The plan of an RML document, of which the prefixes are left out."""
    path = directory / "mapping.ttl"
    path.write_text(PREFIXES + dedent(text), encoding="utf-8")
    return read_mapping(path)


def form(directory: Path, text: str) -> Mapping:
    """The plan of a form for observations."""
    path = directory / "form.toml"
    path.write_text(dedent(text), encoding="utf-8")
    return read_mapping(path)
