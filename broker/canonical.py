"""Literals as Oxigraph stores them: "020.50" is kept as "20.5", "+00:00" as "Z", xsd:int as xsd:integer.

A change of the dataset is made of what is stored.  Oxigraph itself is asked what that is: what goes into a store comes
out of it canonical.  Most literals of sensors are so already, and that can be seen.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyoxigraph
from pyoxigraph import Literal, NamedNode, Quad, Triple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .model import Term

_XSD = "http://www.w3.org/2001/XMLSchema#"
_STRING = NamedNode(f"{_XSD}string")
# Not all that stays as it is, but nothing else: no sign, zero or fraction too many, no 24th hour, no 31st of February.
_CANONICAL = {
    NamedNode(f"{_XSD}integer"): re.compile(r"0|-?[1-9][0-9]{0,17}"),
    NamedNode(f"{_XSD}decimal"): re.compile(
        r"0|-?[1-9][0-9]{0,14}|-?(?:0|[1-9][0-9]{0,14})\.[0-9]{0,2}[1-9]"
    ),
    NamedNode(f"{_XSD}dateTime"): re.compile(
        r"[1-9][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
        r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{0,8}[1-9])?Z?"
    ),
}


def canonical(quads: Iterable[Quad]) -> list[Quad]:
    """Each quad as it would be stored, in any order."""
    kept: list[Quad] = []
    odd: list[Quad] = []
    for quad in quads:
        (odd if _may_change(quad.object) else kept).append(quad)
    if odd:
        scratch = pyoxigraph.Store()
        scratch.extend(odd)
        kept += scratch
    return kept


def _may_change(term: Term) -> bool:
    if isinstance(term, Literal):
        datatype = term.datatype
        if datatype == _STRING:
            return False
        known = _CANONICAL.get(datatype)
        if known is not None:
            return known.fullmatch(term.value) is None
        return datatype.value.startswith(_XSD)
    return isinstance(term, Triple)
