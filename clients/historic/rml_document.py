"""An RML document as nodes: what each says, by the words of RML, and where it stands when something is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, parse

from .mapping_problems import MappingError, Problem, near
from .rml_vocabulary import IGNORED, PROPERTIES, UNSUPPORTED, word

if TYPE_CHECKING:
    from pathlib import Path

_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

Term: TypeAlias = NamedNode | BlankNode | Literal


class Document:
    """The triples of a mapping, by subject and word."""

    def __init__(self, path: Path, base_iri: str) -> None:
        """Read the Turtle file at `path`; relative IRIs in it are below `base_iri`, wherever the file lies.

        Raises:
            MappingError: it can't be read, or is no Turtle.
        """
        self.base_iri = base_iri
        self._said: dict[Term, dict[str, list[Term]]] = {}
        self._typed: set[Term] = set()
        for subject, predicate, value in _triples(path, base_iri):
            name = word(predicate.value)
            if (
                predicate.value == _TYPE
                and isinstance(value, NamedNode)
                and word(value.value) == "TriplesMap"
            ):
                self._said.setdefault(subject, {})
                self._typed.add(subject)
            if name is not None:
                self._said.setdefault(subject, {}).setdefault(name, []).append(value)

    def triples_maps(self) -> list[Node]:
        """Whatever is one by its type or by what only they say, in the order of the document."""
        known = {"logicalSource", "logicalTable", "subjectMap", "subject", "predicateObjectMap"}
        return [
            Node(self, term, "triples map")
            for term, said in self._said.items()
            if known & said.keys() or term in self._typed
        ]

    def said_of(self, term: Term) -> dict[str, list[Term]]:
        """Its words and what they say."""
        return self._said.get(term, {})


class Node:
    """One resource of the document, in its part: `triples map`, `object map`, ..."""

    def __init__(self, document: Document, term: Term, part: str) -> None:
        self.term = term
        self.part = part
        self._document = document
        self._said = document.said_of(term)

    def __str__(self) -> str:
        if not isinstance(self.term, NamedNode):
            name = str(self.term)
        else:
            name = f"<{self.term.value.removeprefix(self._document.base_iri)}>"
        return name if self.part == "triples map" else f"{self.part} {name}"

    def check(self) -> None:
        """Refuse what this part can't say.

        Raises:
            Problem: a word that is none, or that can't be carried out.
        """
        known = PROPERTIES[self.part]
        for name in self._said:
            if name in UNSUPPORTED:
                raise Problem(f"{self.part}: {name} is not supported: {UNSUPPORTED[name]}")
            if name not in known | IGNORED:
                raise Problem(f"{self.part}: {name} means nothing here{near(name, known)}")

    def terms(self, *names: str) -> list[Term]:
        """What it says by these words, in the order of the document."""
        return [term for name in names for term in self._said.get(name, ())]

    def term_of(self, name: str) -> Term | None:
        """What it says once at most.

        Raises:
            Problem: it says it twice.
        """
        found = self._said.get(name, [])
        if len(found) > 1:
            raise Problem(f"{self.part}: {name} stands {len(found)} times, and may stand once")
        return found[0] if found else None

    def text(self, name: str) -> str | None:
        """The text of a literal, or of an IRI where one stands instead.

        Raises:
            Problem: it is a blank node, or stands twice.
        """
        found = self.term_of(name)
        if isinstance(found, BlankNode):
            raise Problem(f"{self.part}: {name} must be a text")
        return None if found is None else found.value

    def nodes(self, name: str, part: str) -> list[Node]:
        """The resources that it names by a word, as that part.

        Raises:
            Problem: a literal stands there, or what a resource says can't be said by that part.
        """
        return [self.at(term, name, part) for term in self.terms(name)]

    def node(self, name: str, part: str) -> Node | None:
        """The one resource, or None.

        Raises:
            Problem: as `nodes`, or there are several.
        """
        found = self.term_of(name)
        return None if found is None else self.at(found, name, part)

    def at(self, term: Term, name: str, part: str) -> Node:
        """The resource that it names by a word, as that part.

        Raises:
            Problem: as `nodes`.
        """
        if isinstance(term, Literal):
            raise Problem(f"{self.part}: {name} is a text, and must be a resource")
        node = Node(self._document, term, part)
        node.check()
        return node


def _triples(path: Path, base_iri: str) -> list[tuple[Term, NamedNode, Term]]:
    try:
        quads = list(parse(input=path.read_bytes(), format=RdfFormat.TURTLE, base_iri=base_iri))
    except OSError as error:
        raise MappingError(f"{path}: can't be read: {error.strerror}") from error
    except (SyntaxError, ValueError) as error:
        raise MappingError(f"{path}: no Turtle: {str(error)[:300]}") from error
    found: list[tuple[Term, NamedNode, Term]] = []
    for quad in quads:
        if not isinstance(quad.subject, NamedNode | BlankNode) or not isinstance(
            quad.object, NamedNode | BlankNode | Literal
        ):
            raise MappingError(f"{path}: triple terms mean nothing in a mapping")
        found.append((quad.subject, quad.predicate, quad.object))
    return found
