"""`triple=`: a pattern that one triple of the item must match, as `* <http://www.w3.org/ns/sosa/hasSimpleResult> ?v`.

Three terms as in N-Triples (or `a` in the middle), `*` for any, `?x` for any as well, the same wherever it stands twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyoxigraph
from pyoxigraph import Literal, NamedNode, RdfFormat

from triplewire.broker.errors import MalformedRequest

if TYPE_CHECKING:
    from pyoxigraph import BlankNode, Triple

    from .looked import Looked

Place: TypeAlias = "NamedNode | Literal | str"  # a text is a variable; "" is any

_PLACES = 3
_PLACE = re.compile(
    r"""\s*(\*|\?\w+|a(?=\s)|<[^<>"{}|^`\x00-\x20]*>|"(?:[^"\\\r\n]|\\.)*"(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*|\^\^<[^<>\s]*>)?)\s*"""
)
_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")


@dataclass(frozen=True, slots=True)
class TriplePattern:
    """Three places."""

    places: tuple[Place, Place, Place]

    def passes(self, looked: Looked) -> bool:
        """Whether a triple of the item matches."""
        return any(self._matches(quad.triple) for quad in looked.quads)

    def _matches(self, triple: Triple) -> bool:
        bound: dict[str, NamedNode | BlankNode | Literal | Triple] = {}
        for place, term in zip(self.places, triple, strict=True):
            if not isinstance(place, str):
                if place != term:
                    return False
            elif place and bound.setdefault(place, term) != term:
                return False
        return True


def triple_of(text: str) -> TriplePattern:
    """A pattern.

    Raises:
        MalformedRequest: it is none.
    """
    found: list[Place] = []
    position = 0
    while position < len(text):
        match = _PLACE.match(text, position)
        if match is None:
            break
        found.append(_place(match[1], text))
        position = match.end()
    if position < len(text) or len(found) != _PLACES:
        raise MalformedRequest(
            f'triple must be three of <IRI>, "literal", ?variable, * with spaces between them: {text:.200}'
        )
    return TriplePattern((found[0], found[1], found[2]))


def _place(text: str, whole: str) -> Place:
    if text == "*":
        return ""
    if text.startswith("?"):
        return text
    if text == "a":
        return _TYPE
    try:
        (quad,) = pyoxigraph.parse(f"<x:s> <x:p> {text} .", format=RdfFormat.N_TRIPLES)
    except (ValueError, SyntaxError) as error:
        raise MalformedRequest(f"triple: {text:.100} is no term, in {whole:.200}") from error
    term = quad.object
    assert isinstance(term, NamedNode | Literal)
    return term
