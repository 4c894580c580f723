"""Terms as people read them: with the prefixes that a text declares, and the well-known ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode, Triple

from triplewire.broker.tokens import tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triplewire.broker.model import Term

XSD = "http://www.w3.org/2001/XMLSchema#"
KNOWN = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": XSD,
    "foaf": "http://xmlns.com/foaf/0.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "schema": "http://schema.org/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "sosa": "http://www.w3.org/ns/sosa/",
}
_BARE = {XSD + name for name in ("integer", "decimal", "double", "boolean")}
# Narrower than PN_LOCAL: what needs no escape and can't be mistaken at the end of a sentence.
_LOCAL = re.compile(r"[A-Za-z0-9_](?:[\w.\-]*[\w\-])?")
# A terminal obeys them, those of Latin-1 too, which Oxigraph lets be: whoever wrote the data must not steer it.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def escaped(text: str) -> str:
    """The text with its control characters as SPARQL's code point escapes."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found.group()):04X}", text)


class Prefixes:
    """Shortens IRIs; of two namespaces that fit, the longer."""

    def __init__(self, namespaces: Mapping[str, str]) -> None:
        named = {iri: prefix for prefix, iri in {**KNOWN, **namespaces}.items() if iri}
        self._by_length = sorted(named.items(), key=lambda pair: -len(pair[0]))

    @classmethod
    def of(cls, sparql: str) -> Prefixes:
        """The prefixes that a query declares, over the well-known ones."""
        found = list(tokens(sparql))
        declared = {
            name.text[:-1]: iri.text[1:-1]
            for word, name, iri in zip(found, found[1:], found[2:], strict=False)
            if word.is_word("PREFIX") and name.kind == "pname" and iri.kind == "iri"
        }
        return cls(declared)

    def short(self, term: Term) -> str:
        """The term in SPARQL's syntax with our prefixes; control characters are escaped."""
        return escaped(self._short(term))

    def _short(self, term: Term) -> str:
        if isinstance(term, NamedNode):
            return self._iri(term)
        if isinstance(term, Literal):
            return self._literal(term)
        if isinstance(term, Triple):
            parts = (self._short(part) for part in (term.subject, term.predicate, term.object))
            return f"<<( {' '.join(parts)} )>>"
        return str(term)

    def _iri(self, node: NamedNode) -> str:
        for namespace, prefix in self._by_length:
            local = node.value.removeprefix(namespace)
            if len(local) < len(node.value) and _LOCAL.fullmatch(local):
                return f"{prefix}:{local}"
        return str(node)

    def _literal(self, literal: Literal) -> str:
        datatype = literal.datatype
        if literal.language is not None or datatype.value == XSD + "string":
            return str(literal)
        if datatype.value in _BARE:
            return literal.value
        return f"{Literal(literal.value)}^^{self._iri(datatype)}"
