"""Quad templates and DATA blocks, read by Oxigraph's own TriG reader and filled in from solutions.

The quads of SPARQL differ from TriG in two small things: variables, which are written as marked IRIs, and the dot that
SPARQL lets go before GRAPH and at the end.  So no grammar of terms is needed here, and a large DATA block is read at
the speed of Oxigraph's reader.

A template may also be read with marks in the places of its constants (`mark`), once for all the texts that differ in
nothing else; `Template.bind` puts theirs in.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyoxigraph
from pyoxigraph import BaseDirection, BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple

from .errors import SparqlSyntaxError
from .tokens import splice, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .model import Term
    from .tokens import Token

Graph: TypeAlias = NamedNode | BlankNode | DefaultGraph

# Random, so that no data can name a variable.
_MARK = f"urn:x-triplewire:{secrets.token_hex(8)}:"
_CONSTANT_MARK = f"urn:x-triplewire:{secrets.token_hex(8)}:"
_NUMBER_MARK = f"{_CONSTANT_MARK}number"
# What is resolved, normalized or refused by Oxigraph's reader only: relative IRIs, dots as steps of a path, escapes.
_ABSOLUTE = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:")
_NUMBERS = (
    (re.compile(r"[+-]?[0-9]+"), NamedNode("http://www.w3.org/2001/XMLSchema#integer")),
    (re.compile(r"[+-]?[0-9]*\.[0-9]+"), NamedNode("http://www.w3.org/2001/XMLSchema#decimal")),
)
_DOUBLE = NamedNode("http://www.w3.org/2001/XMLSchema#double")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_DIRECTIVE = re.compile(r"\b(?:PREFIX|BASE|VERSION)\b|@(?:prefix|base|version)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Variable:
    """A place in a template; blank nodes of an INSERT template are places too, filled anew for each solution."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A place for a constant of the text, by its number; what stands behind a string in the text is here."""

    number: int
    datatype: NamedNode | None = None
    language: str | None = None
    direction: BaseDirection | None = None

    def term(self, text: str) -> NamedNode | Literal:
        """The constant `text` as a term.

        Raises:
            ValueError: Oxigraph's reader alone can tell.
        """
        first = text[0]
        if first == "<":
            if _ABSOLUTE.match(text) is None or "\\" in text or "/." in text or ":." in text:
                raise ValueError(text)
            return NamedNode(text[1:-1])
        if first in "\"'":
            value = _unquoted(text)
            if self.language is not None:
                return Literal(value, language=self.language, direction=self.direction)
            return Literal(value, datatype=self.datatype)
        for number, datatype in _NUMBERS:
            if number.fullmatch(text) is not None:
                return Literal(text, datatype=datatype)
        return Literal(text, datatype=_DOUBLE)


def mark(kind: str, number: int) -> str:
    """What stands in a text in the place of its constant of a kind (see `tokens.Shape`)."""
    match kind:
        case "<":
            return f"<{_CONSTANT_MARK}{number}>"
        case '"':
            return f'"{_CONSTANT_MARK}{number}"'
        case "#":
            return " "
        case "0" | "+" | "-":  # a literal, as nothing may follow it that can't follow a number
            return f'"{_CONSTANT_MARK}{number}"^^<{_NUMBER_MARK}>'
    return kind


_MARKED = re.compile(f'<{_CONSTANT_MARK}([0-9]+)>|"{_CONSTANT_MARK}([0-9]+)"(?:\\^\\^<{_NUMBER_MARK}>)?')


def has_mark(text: str) -> bool:
    """Whether a text has a constant's mark in it."""
    return _CONSTANT_MARK in text


def split_at_marks(text: str) -> list[str | int]:
    """A text with marks as its parts, and the numbers of the constants that go between them."""
    parts: list[str | int] = []
    done = 0
    for found in _MARKED.finditer(text):
        parts += (text[done : found.start()], int(found[1] or found[2]))
        done = found.end()
    parts.append(text[done:])
    return parts


def constant_node(node: NamedNode) -> NamedNode | Constant:
    """A node, or the place that it marks."""
    number = node.value.removeprefix(_CONSTANT_MARK)
    return node if len(number) == len(node.value) else Constant(int(number))


_SUBJECTS = (NamedNode, BlankNode)
_OBJECTS = (NamedNode, BlankNode, Literal, Triple)

Place: TypeAlias = "Term | Variable | Constant | _Composed | DefaultGraph"


@dataclass(frozen=True, slots=True)
class _Composed:
    """A triple term with places in it."""

    subject: Place
    predicate: Place
    object: Place


@dataclass(frozen=True, slots=True)
class Template:
    """Quads with places: what one DELETE or INSERT clause names."""

    quads: tuple[tuple[Place, Place, Place, Place], ...]
    variables: tuple[str, ...]
    blanks: tuple[str, ...]

    @classmethod
    def read(cls, body: str, prologue: str, base_iri: str) -> Template:
        """The template between the braces.

        Raises:
            SparqlSyntaxError: Oxigraph's reader refuses it.
        """
        if _may_declare(body) and any(_is_directive(token) for token in tokens(body)):
            raise SparqlSyntaxError("Parsing failed: a template has no declarations")
        text = splice(body, _repairs(body))
        names: dict[str, str] = {}
        variables: dict[str, None] = {}
        found = [
            tuple(
                _place(term, names, variables)
                for term in (quad.subject, quad.predicate, quad.object, quad.graph_name)
            )
            for quad in read_quads(text, prologue, base_iri)
        ]
        return cls(tuple(found), tuple(variables), tuple(names.values()))  # type: ignore[arg-type]

    @classmethod
    def of(cls, quads: Iterable[Quad], graph: Graph) -> Template:
        """Given triples, in one graph."""
        names: dict[str, str] = {}
        found = [
            (*(_place(term, names, {}) for term in (quad.subject, quad.predicate, quad.object)), graph)
            for quad in quads
        ]
        return cls(tuple(found), (), tuple(names.values()))  # type: ignore[arg-type]

    def bind(self, constants: Sequence[str]) -> Template:
        """The template with the constants of a text in their places.

        Raises:
            ValueError: Oxigraph's reader alone can tell what one of them is.
        """
        quads = [
            tuple([_bound(place, constants) if type(place) in _HOLDERS else place for place in quad])
            for quad in self.quads
        ]
        return Template(tuple(quads), self.variables, self.blanks)  # type: ignore[arg-type]

    def fill(self, values: Mapping[str, Term | None], default: Graph) -> Iterator[Quad]:
        """The quads of one solution; one that is ill-formed or has an unbound place is left out (Update, 3.1.3)."""
        for subject, predicate, object_, graph in self.quads:
            s, p, o = _filled(subject, values), _filled(predicate, values), _filled(object_, values)
            g = default if isinstance(graph, DefaultGraph) else _filled(graph, values)
            if isinstance(s, _SUBJECTS) and isinstance(p, NamedNode) and isinstance(o, _OBJECTS):
                if isinstance(g, DefaultGraph):
                    yield Quad(s, p, o)  # half the time of telling it
                elif isinstance(g, _SUBJECTS):
                    yield Quad(s, p, o, g)

    def text(self, blank_as: str) -> str:
        """The template as SPARQL again, its blank nodes as variables that begin with `blank_as`."""
        parts = []
        for subject, predicate, object_, graph in self.quads:
            triple = " ".join(_written(place, blank_as) for place in (subject, predicate, object_))
            parts.append(
                triple + " ."
                if isinstance(graph, DefaultGraph)
                else f"GRAPH {_written(graph, blank_as)} {{ {triple} }}"
            )
        return " ".join(parts)


def read_quads(text: str, prologue: str, base_iri: str) -> list[Quad]:
    """TriG by Oxigraph's reader.

    Raises:
        SparqlSyntaxError: it refuses it.
    """
    try:
        return list(
            pyoxigraph.parse(
                f"{prologue}\n{text}".encode(),
                format=RdfFormat.TRIG,
                base_iri=base_iri,
                rename_blank_nodes=True,
            )
        )
    except SyntaxError as error:
        raise SparqlSyntaxError(f"Parsing failed: {error.msg:.300}") from error


def plain_data(body: str) -> str | None:
    """The body of a DATA block as TriG, where that can be told without looking at its terms; else None.

    Plain is: no directive, and either no brace at all or one GRAPH block around everything.
    """
    if _may_declare(body) and _DIRECTIVE.search(body) is not None:
        return None
    braces = body.count("{"), body.count("}")
    if braces == (0, 0):
        return _with_dot(body)
    if braces == (1, 1) and _ONE_GRAPH.fullmatch(body) is not None:
        return body
    return None


_ONE_GRAPH = re.compile(
    r"\s*GRAPH\s*(?:<[^<>\s]*>|[^\s<>{}\"'#:]*:[^\s<>{}\"'#]*)\s*\{[^{}]*\}\s*", re.IGNORECASE
)


def _may_declare(body: str) -> bool:
    upper = body.upper()  # ten times as fast as an expression that ignores case
    return "PREFIX" in upper or "BASE" in upper or "VERSION" in upper


def _is_directive(token: Token) -> bool:
    return token.is_word("PREFIX", "BASE", "VERSION") or token.text.lower() in {
        "@prefix",
        "@base",
        "@version",
    }


def _with_dot(body: str) -> str:
    # After a comment, a dot needs a line of its own.
    return body if body.rstrip().endswith(".") or not body.strip() else f"{body}\n."


def _repairs(body: str) -> list[tuple[int, int, str]]:
    """Marks for variables, and the dots that TriG wants and SPARQL does not."""
    changes: list[tuple[int, int, str]] = []
    depth = 0
    before_last, last, last_end = "", "", 0
    for token in tokens(body):
        if token.kind == "variable":
            changes.append((token.start, token.end, f"<{_MARK}{token.text[1:]}>"))
        elif depth == 0 and token.is_word("GRAPH") and last not in {"", ".", "}"}:
            changes.append((token.start, token.start, " . "))
        elif depth == 0 and token.text == "." and last == "}":
            changes.append((token.start, token.end, " "))
            continue
        elif token.text in {"{", "}"}:
            depth += 1 if token.text == "{" else -1
        if token.kind == "variable" and last == "^^":
            raise SparqlSyntaxError("Parsing failed: a variable can't be a datatype")
        if token.text == "{" and before_last.upper() != "GRAPH":  # TriG lets GRAPH go
            raise SparqlSyntaxError("Parsing failed: a group in a template needs GRAPH and its name")
        before_last = last
        last, last_end = token.text, token.end
    if last not in {"", ".", "}"}:
        changes.append((last_end, last_end, " . "))
    return changes


def _place(term: Term | DefaultGraph, names: dict[str, str], variables: dict[str, None]) -> Place:
    if isinstance(term, NamedNode) and term.value.startswith(_MARK):
        name = term.value.removeprefix(_MARK)
        variables[name] = None
        return Variable(name)
    if isinstance(term, NamedNode):
        return constant_node(term)
    if isinstance(term, Literal):
        return _literal(term)
    if isinstance(term, BlankNode):
        return Variable(names.setdefault(term.value, f"\0{len(names)}"))
    if isinstance(term, Triple):
        parts = [_place(part, names, variables) for part in (term.subject, term.predicate, term.object)]
        if any(isinstance(part, Variable | Constant | _Composed) for part in parts):
            return _Composed(*parts)
    return term


def _literal(term: Literal) -> Place:
    number = term.value.removeprefix(_CONSTANT_MARK)
    if len(number) == len(term.value):
        return term
    datatype = term.datatype
    if term.language is not None:
        return Constant(int(number), None, term.language, term.direction)
    return Constant(int(number), None if datatype in _IMPLIED else datatype)


_IMPLIED = {NamedNode("http://www.w3.org/2001/XMLSchema#string"), NamedNode(_NUMBER_MARK)}


def _unquoted(text: str) -> str:
    marks = 3 if text.startswith(('"""', "'''")) else 1
    value = text[marks:-marks]
    if "\\" not in value:
        return value
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1]) or _refuse(value), value)


def _refuse(value: str) -> str:
    raise ValueError(value)


_HOLDERS = frozenset({Constant, _Composed})


def _bound(place: Place, constants: Sequence[str]) -> Place:
    if isinstance(place, Constant):
        return place.term(constants[place.number])
    if isinstance(place, _Composed):
        parts = [_bound(part, constants) for part in (place.subject, place.predicate, place.object)]
        if any(isinstance(part, Variable | _Composed) for part in parts):
            return _Composed(*parts)
        return Triple(*parts)  # type: ignore[arg-type]  # read as one, and each constant is of its kind
    return place


def _filled(place: Place, values: Mapping[str, Term | None]) -> Term | DefaultGraph | None:
    if isinstance(place, Variable):
        return values.get(place.name)
    if isinstance(place, _Composed):
        parts = [_filled(part, values) for part in (place.subject, place.predicate, place.object)]
        try:
            return Triple(*parts)  # type: ignore[arg-type]  # its constructor checks
        except TypeError:
            return None
    return place  # type: ignore[return-value]  # a template is bound before it is filled


def _written(place: Place, blank_as: str) -> str:
    if isinstance(place, Variable):
        return f"?{blank_as}{place.name[1:]}" if place.name.startswith("\0") else f"?{place.name}"
    if isinstance(place, _Composed):
        inner = " ".join(_written(part, blank_as) for part in (place.subject, place.predicate, place.object))
        return f"<<( {inner} )>>"
    return str(place)
