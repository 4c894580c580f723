"""Term maps of RML and R2RML as the plan's: what is said, and what is left to the defaults (R2RML 6 and 7)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyoxigraph import BlankNode, NamedNode

from .json_paths import json_path
from .lexical import IRI, LANGUAGE_TAG
from .mapping_problems import Problem, near
from .plan import (
    Constant,
    Encoding,
    Expression,
    Moment,
    Number,
    Reading,
    Reference,
    Template,
    TermMap,
    TermType,
)
from .rml_sources import unquoted
from .rml_vocabulary import word
from .templates import template

if TYPE_CHECKING:
    from .plan import Source
    from .rml_document import Node, Term

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

_EXPRESSIONS = ("reference", "column", "template", "constant")
_TYPES: dict[str, tuple[TermType, Encoding]] = {
    "IRI": (TermType.IRI, Encoding.IRI),
    "URI": (TermType.IRI, Encoding.URI),
    "UnsafeIRI": (TermType.IRI, Encoding.NONE),
    "UnsafeURI": (TermType.IRI, Encoding.NONE),
    "BlankNode": (TermType.BLANK, Encoding.IRI),
    "Literal": (TermType.LITERAL, Encoding.IRI),
}
# What each part may make (RDF 1.1 Concepts 3.1, 4).
_MAY_BE: dict[str, tuple[TermType, ...]] = {
    "subject map": (TermType.IRI, TermType.BLANK),
    "predicate map": (TermType.IRI,),
    "object map": (TermType.IRI, TermType.BLANK, TermType.LITERAL),
    "graph map": (TermType.IRI, TermType.BLANK),
    "language map": (TermType.LITERAL,),
    "datatype map": (TermType.IRI,),
}
_NUMBERS = {
    XSD + name
    for name in (
        *("integer", "decimal", "double", "float", "long", "int", "short", "byte", "nonNegativeInteger"),
        *("positiveInteger", "nonPositiveInteger", "negativeInteger"),
        *("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"),
    )
}
_MOMENTS = {XSD + "dateTime", XSD + "dateTimeStamp"}


@dataclass(frozen=True, slots=True)
class Terms:
    """Reads the term maps of one triples map, whose rows come from `source`; R2RML quotes columns as SQL does."""

    source: Source
    base: str | None = None
    quoted: bool = False

    def of(self, node: Node) -> TermMap:
        """The term map of a node: its expression, its term type, and what it is typed by.

        Raises:
            Problem: two expressions or none, a term type that can't be there, a bad IRI, tag, path or template.
        """
        name = self._expression_name(node)
        if name == "constant":
            term = node.term_of("constant")
            assert term is not None, "it is the name of what is there"
            return self._constant_map(node, term)
        type_, encoding = self._type(node, name)
        made = TermMap(self._expression(node, name), type_, base=self.base, encoding=encoding)
        return self._typed(node, made) if node.part == "object map" else made

    def constant(self, term: Term, part: str) -> TermMap:
        """A constant, or a shortcut for one, in the part that it stands in.

        Raises:
            Problem: it is a blank node, or what can't stand there.
        """
        if isinstance(term, BlankNode):
            raise Problem(f"{part}: a constant can't be a blank node")
        type_ = TermType.IRI if isinstance(term, NamedNode) else TermType.LITERAL
        if type_ not in _MAY_BE[part]:
            raise Problem(f"{part}: {term} is {_named(type_)}, and can't stand there")
        if isinstance(term, NamedNode):
            return TermMap(Constant(term.value), type_)
        language = Constant(term.language) if term.language else None
        datatype = None if language or term.datatype.value == XSD + "string" else term.datatype.value
        return TermMap(Constant(term.value), type_, datatype=datatype, language=language)

    def join_side(self, node: Node, short: str, long: str) -> Expression:
        """One side of a join condition: `child` or `childMap`, a reference by default.

        Raises:
            Problem: it is missing, or stands twice.
        """
        maps = node.nodes(long, "join map")
        text = node.text(short)
        if len(maps) + (text is not None) != 1:
            raise Problem(f"join condition: there must be one {short}")
        return (
            self.reference(text)
            if text is not None
            else self._expression(maps[0], self._expression_name(maps[0]))
        )

    def reference(self, text: str) -> Reference:
        """A column, or a path into a row of JSON.

        Raises:
            Problem: it is no path.
        """
        if self.source.format in ("json", "jsonl"):
            return Reference(text, json_path(text))
        return Reference(unquoted(text) if self.quoted else text)

    def _expression_name(self, node: Node) -> str:
        names = [name for name in _EXPRESSIONS for _ in node.terms(name)]
        if len(names) > 1:
            raise Problem(f"{node.part}: {' and '.join(names)} exclude each other")
        if not names:
            raise Problem(
                f"{node.part}: there must be a reference, a template or a constant"
                + (
                    ", of a blank node too, so that loading twice changes nothing"
                    if node.terms("termType")
                    else ""
                )
            )
        return names[0]

    def _expression(self, node: Node, name: str) -> Expression:
        text = node.text(name) or ""
        if name == "constant":
            return Constant(text)
        if name == "template":
            return template(text, self.reference)
        return self.reference(text)

    def _type(self, node: Node, name: str) -> tuple[TermType, Encoding]:
        """R2RML 7.4: what is said, or an IRI, but a literal for objects that are columns or have a datatype."""
        said = node.term_of("termType")
        if said is None:
            is_typed = bool(node.terms("datatype", "datatypeMap", "language", "languageMap"))
            is_literal = node.part == "object map" and (name != "template" or is_typed)
            is_literal = is_literal or node.part == "language map"
            return (TermType.LITERAL if is_literal else TermType.IRI), Encoding.IRI
        found = _TYPES.get(word(said.value) or "")
        if found is None:
            raise Problem(f"{node.part}: {said.value} is no term type{near(said.value, _TYPES)}")
        if found[0] not in _MAY_BE[node.part]:
            raise Problem(f"{node.part}: it can't be {_named(found[0])}")
        return found

    def _constant_map(self, node: Node, term: Term) -> TermMap:
        made = self.constant(term, node.part)
        said = node.term_of("termType")
        if said is not None and _TYPES.get(word(said.value) or "", (None,))[0] is not made.type:
            raise Problem(
                f"{node.part}: the constant {term} is {_named(made.type)}, and the term type is another"
            )
        return self._typed(node, made) if node.part == "object map" else made

    def _typed(self, node: Node, made: TermMap) -> TermMap:
        languages: list[Expression] = [
            *(Constant(term.value) for term in node.terms("language")),
            *(self.of(found).expression for found in node.nodes("languageMap", "language map")),
        ]
        datatypes = [
            *(self._datatype(self.constant(term, "datatype map")) for term in node.terms("datatype")),
            *(self._datatype(self.of(found)) for found in node.nodes("datatypeMap", "datatype map")),
        ]
        if not languages and not datatypes:
            return made
        if len(languages) + len(datatypes) > 1:
            raise Problem(
                "object map: there may be one datatype or one language, and not both (R2RML 7.5, 7.6)"
            )
        if made.type is not TermType.LITERAL:
            raise Problem(f"object map: it makes {_named(made.type)}, which has no datatype and no language")
        if languages:
            _check_language(languages[0])
            return replace(made, language=languages[0])
        return replace(made, datatype=datatypes[0], reading=_reading(made.expression, datatypes[0]))

    def _datatype(self, made: TermMap) -> str | Reference | Template | None:
        if not isinstance(made.expression, Constant):
            assert isinstance(made.expression, Reference | Template), "RML has no tables"
            return made.expression
        if not re.fullmatch(IRI, made.expression.value) and self.base is None:
            raise Problem(f"object map: the datatype {made.expression.value!r} is no IRI")
        if made.expression.value == RDF + "langString":
            raise Problem("object map: rdf:langString needs a language, not a datatype")
        return made.expression.value


def _check_language(language: Expression) -> None:
    if isinstance(language, Constant) and not re.fullmatch(LANGUAGE_TAG, language.value):
        raise Problem(f"object map: {language.value!r} is no language tag (BCP 47)")


def _reading(expression: Expression, datatype: str | Reference | Template | None) -> Reading | None:
    """Texts that are no number or moment break the row (R2RML 10.3, ill-typed); times without a zone keep none."""
    if not isinstance(expression, Reference) or not isinstance(datatype, str):
        return None
    if datatype in _NUMBERS:
        return Number()
    return Moment(zone="") if datatype in _MOMENTS else None


def _named(type_: TermType) -> str:
    return {TermType.IRI: "an IRI", TermType.BLANK: "a blank node", TermType.LITERAL: "a literal"}[type_]


def terms_of(node: Node, source: Source) -> Terms:
    """What reads the term maps of a triples map.

    Raises:
        Problem: its base is no IRI.
    """
    base = node.text("baseIRI")
    if base is not None and not re.fullmatch(IRI, base):
        raise Problem(f"the baseIRI {base!r} is no IRI")
    return Terms(source, base, bool(node.terms("logicalTable")))
