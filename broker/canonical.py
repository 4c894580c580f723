"""Literals as Oxigraph stores them: "020.50" is kept as "20.5", "+00:00" as "Z", language tags in lower case.

A change of the dataset is made of what is stored.  Oxigraph itself is asked what that is: what goes into a store comes
out of it canonical.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyoxigraph
from pyoxigraph import Literal, NamedNode, Quad, Triple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .model import Term

_XSD = "http://www.w3.org/2001/XMLSchema#"
_STRING = NamedNode(f"{_XSD}string")


def canonical(quads: Iterable[Quad]) -> Iterator[Quad]:
    """Each quad as it would be stored, in any order, doubles dropped."""
    odd: list[Quad] = []
    for quad in quads:
        if _may_change(quad.object):
            odd.append(quad)
        else:
            yield quad
    if odd:
        scratch = pyoxigraph.Store()
        scratch.extend(odd)
        yield from scratch


def _may_change(term: Term) -> bool:
    if isinstance(term, Literal):
        return term.datatype != _STRING
    return isinstance(term, Triple)
